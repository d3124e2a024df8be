package query

import "github.com/onefold/onefold/analytics/report"

// rows are the rows of an answer before they are sorted.
type rows struct {
	list        []Row
	none, other *Row
}

func (q *plan) rows(c *counted) rows {
	switch {
	case q.by != "":
		return q.valueRows(c)
	case q.period != "":
		return rows{list: q.bucketRows(c)}
	}
	var before *Figures
	if c.before != nil {
		f := FiguresOf(c.before.out.Totals.Figures)
		before = &f
	}
	now := FiguresOf(c.now.out.Totals.Figures)
	return rows{list: []Row{q.rangeRow(nil, nil, &now, before)}}
}

// rangeRow returns the row of a range or bucket.
func (q *plan) rangeRow(start, startBefore []string, now, before *Figures) Row {
	row := Row{Dimensions: append([]string{}, start...), Metrics: make([]any, len(q.metrics))}
	for i, m := range q.metrics {
		row.Metrics[i] = m.total(now)
	}
	if before != nil {
		row.Comparison = &RowBefore{Dimensions: append([]string{}, startBefore...), Metrics: make([]any, len(q.metrics))}
		for i, m := range q.metrics {
			row.Comparison.Metrics[i] = m.total(before)
		}
		row.change()
	}
	return row
}

// change computes the changes of a row that has metrics of both ranges.
func (r *Row) change() {
	r.Comparison.Change = make([]*float64, len(r.Metrics))
	for i := range r.Metrics {
		r.Comparison.Change[i] = change(r.Metrics[i], r.Comparison.Metrics[i])
	}
}

// bucketRows compares buckets by their place in the range.
func (q *plan) bucketRows(c *counted) []Row {
	list := make([]Row, len(c.now.out.Buckets))
	for i := range c.now.out.Buckets {
		b := &c.now.out.Buckets[i]
		now := FiguresOf(b.Figures)
		var before *Figures
		var startBefore []string
		if c.before != nil && i < len(c.before.out.Buckets) {
			at := &c.before.out.Buckets[i]
			f := FiguresOf(at.Figures)
			before, startBefore = &f, []string{at.Start}
		}
		list[i] = q.rangeRow([]string{b.Start}, startBefore, &now, before)
	}
	return list
}

// valueRows returns the rows of a dimension. With a comparison, they include values that only the other
// range has.
func (q *plan) valueRows(c *counted) rows {
	now := q.valuesOf(c.now)
	if c.before == nil {
		out := rows{list: make([]Row, len(now.List))}
		for i := range now.List {
			out.list[i] = q.valueRow(c, &now.List[i], nil)
		}
		out.none, out.other = q.optionalRow(c, now.None, nil), q.optionalRow(c, now.Other, nil)
		return out
	}
	before := q.valuesOf(c.before)
	earlier := make(map[string]*Value, len(before.List))
	for i := range before.List {
		earlier[before.List[i].Row.Value] = &before.List[i]
	}
	var out rows
	for i := range now.List {
		v := &now.List[i]
		out.list = append(out.list, q.valueRow(c, v, earlier[v.Row.Value]))
		delete(earlier, v.Row.Value)
	}
	for i := range before.List {
		if v := &before.List[i]; earlier[v.Row.Value] != nil {
			out.list = append(out.list, q.valueRow(c, nil, v))
		}
	}
	out.none, out.other = q.optionalRow(c, now.None, before.None), q.optionalRow(c, now.Other, before.Other)
	return out
}

func (q *plan) valuesOf(s *side) Values {
	return ValuesOf(q.by, s.out.Top, &s.out.Totals.Figures, q.Search)
}

func (q *plan) optionalRow(c *counted, now, before *Value) *Row {
	if now == nil && before == nil {
		return nil
	}
	row := q.valueRow(c, now, before)
	return &row
}

// valueRow returns the row of a value that at least one of the ranges has.
func (q *plan) valueRow(c *counted, now, before *Value) Row {
	if now == nil {
		now = &Value{Row: report.Row{Value: before.Row.Value}}
	}
	row := Row{Dimensions: []string{now.Row.Value}, Metrics: q.metricsOf(c.now, now)}
	if c.before == nil {
		return row
	}
	if before == nil {
		before = &Value{Row: report.Row{Value: now.Row.Value}}
	}
	row.Comparison = &RowBefore{Dimensions: []string{before.Row.Value}, Metrics: q.metricsOf(c.before, before)}
	row.change()
	return row
}

func (q *plan) metricsOf(s *side, v *Value) []any {
	metrics := make([]any, len(q.metrics))
	for i, m := range q.metrics {
		metrics[i] = m.value(&cell{Value: v, by: q.by, raw: s.raw})
	}
	return metrics
}
