package exports

import (
	"slices"

	"github.com/onefold/onefold/analytics/internal/dimension"
)

// Reports compute visits without a value of a dimension as the total of a day minus the visits with
// a value. This is correct only for days on which the dimension was measured, even if no visit had
// a value. It is wrong for days that no table covers.
//
// A row measures the dimensions of its table on its day. That suffices for tables in which visits
// without a value have rows: "(not set)" in Google's, an empty text in Plausible's. Plausible's
// table of locations omits visits from unknown countries (lib/plausible/exports.ex), so it measures
// all days of its export.

// dimensions is a set of dimensions, one bit for each of dimension.Names.
type dimensions uint64

// with adds a dimension, unless reports have no row for its missing values.
func (s dimensions) with(d Dimension) dimensions {
	if d != dimension.Page && !dimension.OfVisit(d) {
		return s
	}
	return s | 1<<slices.Index(dimension.Names, d)
}

func (s dimensions) has(d Dimension) bool { return s != 0 && s == s.with(d) }

func (s dimensions) list() (all []Dimension) {
	for i, d := range dimension.Names {
		if s&(1<<i) != 0 {
			all = append(all, d)
		}
	}
	return all
}

// Measured returns the dimensions that were measured on a day, even if no fact has a value of them.
func (c *Contents) Measured(day string) []Dimension { return c.measured[day].list() }

// measure adds the days measured by tables that omit visits without a value.
func (c *Contents) measure() {
	for i := range c.Tables {
		t := &c.Tables[i]
		if t.From == "" || !t.layout.omitsNone {
			continue
		}
		from, to := c.extent(t)
		for day := range c.facts {
			if from <= day && day <= to {
				c.measured[day] |= t.layout.measures
			}
		}
	}
}

// extent returns the first and last day of a table's export. If several exports are read together,
// a table belongs to the tables whose days overlap.
func (c *Contents) extent(of *Table) (from, to string) {
	from, to = of.From, of.To
	for i := range c.Tables {
		if t := &c.Tables[i]; t.Format == of.Format && t.From != "" && t.From <= of.To && t.To >= of.From {
			from, to = min(from, t.From), max(to, t.To)
		}
	}
	return from, to
}
