package explore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/decimal"
)

// valueCount is what is counted of one value.
type valueCount struct {
	counts
	scroll, scrolls int64
	who             *analytics.Visitor // the last visitor that was counted
	in              *visit             // the last visit that was counted
}

// valueCounter counts visits by the values of a dimension, of which it keeps a bounded number.
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
		c = new(valueCount)
		t.values[value] = c
	}
	return c
}

// count counts the visits of one visitor's day.
func (t *valueCounter) count(mine []*visit) {
	for _, v := range mine {
		switch {
		case t.facet.goals:
			t.countGoals(v)
		case t.facet.of != nil:
			t.countEvents(v)
		default:
			c := t.of(t.facet.one(v))
			c.begin(v)
			c.add(&v.sum)
		}
	}
	if t.facet.scrolls {
		t.countScrolls(mine)
	}
}

// countEvents counts events under their own values, and their visit once under each. Events without a value are left
// out.
func (t *valueCounter) countEvents(v *visit) {
	for i := range v.facts {
		f := &v.facts[i]
		if f.silent && !t.facet.scrolls {
			continue
		}
		value := t.facet.of(f)
		if f.silent {
			value = f.path
		}
		if value == "" {
			continue
		}
		c := t.of(value)
		if !f.silent {
			c.begin(v)
		}
		c.addFact(f)
	}
}

// countGoals counts conversions as events.
func (t *valueCounter) countGoals(v *visit) {
	for i := range v.Goals {
		n, revenue := v.Goals[i].Worth()
		if n == 0 {
			continue
		}
		c := t.of(v.Goals[i].Goal)
		c.begin(v)
		c.Events += n
		c.Revenue = decimal.Add(c.Revenue, revenue)
	}
}

// countScrolls counts how deep pages were seen that day, if the visit that is said to have seen them is among those that
// are counted: the first that lists the page, else the first.
func (t *valueCounter) countScrolls(mine []*visit) {
	who := mine[0].who
	for _, s := range who.Scrolls {
		place := slices.IndexFunc(who.Visits, func(v visits.Visit) bool {
			_, found := slices.BinarySearch(v.Pages, s.Page)
			return found
		})
		if slices.ContainsFunc(mine, func(v *visit) bool { return v.place == max(place, 0) }) {
			c := t.of(s.Page)
			c.scroll += s.Percent
			c.scrolls++
		}
	}
}

// begin counts a visit and its visitor, unless they were before. The visits of one visitor follow each other.
func (c *valueCount) begin(v *visit) {
	if c.who != v.who {
		c.who = v.who
		c.Visitors++
	}
	if c.in != v {
		c.in = v
		c.addVisit(v)
	}
}

// forget lets go of the visits of a day that is over.
func (t *valueCounter) forget() {
	for _, c := range t.values {
		c.who, c.in = nil, nil
	}
}

func (t *valueCounter) notes() []string {
	if !t.full {
		return nil
	}
	return []string{fmt.Sprintf("There are more than %d values; the others are counted together.", t.most)}
}

// rows are what was counted, in the order of reports.
func (t *valueCounter) rows(by analytics.Dimension) []analytics.Row {
	rows := make([]analytics.Row, 0, len(t.values))
	for value, c := range t.values {
		row := analytics.Row{
			Value: value, Visitors: c.Visitors, Visits: c.Visits, PageViews: c.PageViews,
			EngagedSeconds: float64(c.engagedMS) / 1000, ScrollDepth: ratio(c.scroll, c.scrolls), Revenue: c.Revenue,
		}
		if t.facet.of != nil || t.facet.goals {
			row.Events = c.Events
		} else if c.Bounces != 0 || c.Seconds != 0 {
			row.BounceRate, row.Duration = ratio(c.Bounces, c.Visits), ratio(c.Seconds, c.Visits)
		}
		rows = append(rows, row)
	}
	measure, visits := t.facet.measure(by), func(r *analytics.Row) int64 { return r.Visits }
	if by == analytics.ByEventName {
		visits = func(*analytics.Row) int64 { return 0 } // reports, whose order this is, do not know them
	}
	slices.SortFunc(rows, func(a, b analytics.Row) int {
		return cmp.Or(cmp.Compare(measure(&b), measure(&a)), cmp.Compare(b.PageViews, a.PageViews), cmp.Compare(visits(&b), visits(&a)), cmp.Compare(a.Value, b.Value))
	})
	return rows
}

// measure is what rows are ordered by: page views; visits for the pages on which they begin and end; events, where these
// have the values.
func (f *facet) measure(by analytics.Dimension) func(*analytics.Row) int64 {
	switch {
	case by == analytics.ByPage:
	case by == analytics.ByEntryPage, by == analytics.ByExitPage:
		return func(r *analytics.Row) int64 { return r.Visits }
	case f.of != nil, f.goals:
		return func(r *analytics.Row) int64 { return r.Events }
	}
	return func(r *analytics.Row) int64 { return r.PageViews }
}
