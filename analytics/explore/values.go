package explore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
)

// valueCount holds the counts of one value.
type valueCount struct {
	counts
	scroll, scrolls int64
	who, in         int64 // numbers of the last visitor and visit that were counted
}

// valueCounter counts visits by the values of a dimension, of which it keeps at most most.
type valueCounter struct {
	facet  facet
	most   int
	full   bool
	values map[string]*valueCount
}

func (t *valueCounter) of(value string) *valueCount {
	if value == "" {
		value = analytics.None
	}
	c := t.values[value]
	if c == nil {
		if len(t.values) >= t.most {
			t.full, value = true, analytics.Other
			if c = t.values[value]; c != nil {
				return c
			}
		}
		c = &valueCount{who: -1, in: -1}
		t.values[value] = c
	}
	return c
}

// valuesOfDay counts the visits of one day. It looks up the count of each value once.
type valuesOfDay struct {
	*valueCounter
	*tally
	column facetColumn
	found  []*valueCount // by index in the column's values
}

// count counts the selected visits of a day.
func (t *valueCounter) count(day *tally) {
	of := valuesOfDay{valueCounter: t, tally: day, column: day.columns.facet(t.facet)}
	of.found = make([]*valueCount, max(1, len(of.column.values)))
	for i, v := range day.chosen {
		switch {
		case t.facet.goals:
			of.countGoals(v)
		case t.facet.events:
			of.countEvents(v)
		default:
			c := of.at(of.column.one.at(v))
			of.begin(c, v)
			c.add(&day.sums[i])
		}
	}
	if t.facet.by == analytics.ByPage {
		of.countScrolls()
	}
}

// at returns the count of a value, by index in the column's values.
func (t *valuesOfDay) at(place int) *valueCount {
	if t.found[place] == nil {
		value := ""
		if place > 0 {
			value = t.column.values[place]
		}
		t.found[place] = t.of(value)
	}
	return t.found[place]
}

// countEvents counts events under their values, and their visit once under each. Events without a
// value are omitted. Measurements of a page count with the page.
func (t *valuesOfDay) countEvents(v int) {
	d := t.columns
	for e, end := d.events(v); e < end; e++ {
		place, silent := 0, d.isSilent(e)
		switch {
		case !silent:
			place = t.column.of(e)
		case t.facet.by == analytics.ByPage:
			place = d.path.at(e)
		}
		if place == 0 {
			continue
		}
		c := t.at(place)
		if !silent {
			t.begin(c, v)
		}
		c.addEvent(d, e)
	}
}

// countGoals counts conversions as events.
func (t *valuesOfDay) countGoals(v int) {
	goals := &t.columns.goals
	for i, end := goals.of(v); i < end; i++ {
		c := t.at(goals.goal.at(i))
		t.begin(c, v)
		c.Events += goals.count[i]
		c.addRevenue(goals.revenue.text(i))
	}
}

// countScrolls counts the scroll depths of the day whose visit was selected.
func (t *valuesOfDay) countScrolls() {
	for _, s := range t.columns.scrolls {
		if _, chosen := slices.BinarySearch(t.chosen, int(s.visit)); chosen {
			c := t.at(int(s.page))
			c.scroll += s.percent
			c.scrolls++
		}
	}
}

// begin counts a visit and its visitor under a value, unless they were counted already. It relies
// on the visits of a visitor being adjacent.
func (t *valuesOfDay) begin(c *valueCount, v int) {
	if who := t.before + int64(t.columns.visitor[v]); c.who != who {
		c.who = who
		c.Visitors++
	}
	if in := t.before + int64(v); c.in != in {
		c.in = in
		c.addVisit(t.columns, v)
	}
}

func (t *valueCounter) notes() []string {
	if !t.full {
		return nil
	}
	return []string{fmt.Sprintf("There are more than %d values; the others are counted together.", t.most)}
}

// rows returns the counts in the order of reports.
func (t *valueCounter) rows(by analytics.Dimension) []report.Row {
	rows := make([]report.Row, 0, len(t.values))
	for value, c := range t.values {
		row := report.Row{
			Value: value, Visitors: c.Visitors, Visits: c.Visits, PageViews: c.PageViews,
			EngagedSeconds: float64(c.engagedMS) / 1000, ScrollDepth: ratio(c.scroll, c.scrolls), Revenue: c.Revenue,
		}
		if !t.facet.ofVisit() {
			row.Events = c.Events
		} else if c.Bounces != 0 || c.Seconds != 0 {
			row.BounceRate, row.Duration = ratio(c.Bounces, c.Visits), ratio(c.Seconds, c.Visits)
		}
		rows = append(rows, row)
	}
	measure, visits := t.facet.measure(by), func(r *report.Row) int64 { return r.Visits }
	if by == analytics.ByEventName {
		visits = func(*report.Row) int64 { return 0 } // package report, whose order this is, has no visits by event name
	}
	slices.SortFunc(rows, func(a, b report.Row) int {
		return cmp.Or(cmp.Compare(measure(&b), measure(&a)), cmp.Compare(b.PageViews, a.PageViews), cmp.Compare(visits(&b), visits(&a)), cmp.Compare(a.Value, b.Value))
	})
	return rows
}

// measure returns the figure by which rows are ordered: page views; visits for entry and exit
// pages; events if the values belong to events or goals.
func (f *facet) measure(by analytics.Dimension) func(*report.Row) int64 {
	switch {
	case by == analytics.ByPage:
	case by == analytics.ByEntryPage, by == analytics.ByExitPage:
		return func(r *report.Row) int64 { return r.Visits }
	case !f.ofVisit():
		return func(r *report.Row) int64 { return r.Events }
	}
	return func(r *report.Row) int64 { return r.PageViews }
}
