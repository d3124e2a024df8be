package exports

import (
	"slices"

	"github.com/onefold/onefold/analytics/internal/facets"
)

// Reports derive the visits without a value of a dimension: the total of a day less the visits with a value. They may do so for a
// day on which the dimension was measured, even if no visit had a value, and must not do so for a day of which no table says
// anything.
//
// A row measures the dimensions of its table on its day. This is sufficient for tables in which visits without a value have rows:
// "(not set)" in Google's, an empty text in Plausible's. Plausible's table of places leaves out visits whose country is not known
// (lib/plausible/exports.ex). It measures all days of its export.

// dimensions is a set of dimensions: one bit for each of facets.All.
type dimensions uint64

// with adds a dimension, unless reports have no row for missing values of it.
func (s dimensions) with(d Dimension) dimensions {
	if d != facets.Page && !slices.Contains(facets.OfVisits[:], d) {
		return s
	}
	return s | 1<<slices.Index(facets.All, d)
}

func (s dimensions) has(d Dimension) bool { return s != 0 && s == s.with(d) }

func (s dimensions) list() (all []Dimension) {
	for i, d := range facets.All {
		if s&(1<<i) != 0 {
			all = append(all, d)
		}
	}
	return all
}

// Measured are the dimensions that were measured on a day, even if no fact of the day has a value.
func (c *Contents) Measured(day string) []Dimension { return c.measured[day].list() }

// measure notes the days that tables measured which leave out visits without a value.
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

// extent is the first and the last day of the export that a table belongs to. Several exports may be read at once: those tables
// belong to one whose days overlap.
func (c *Contents) extent(of *Table) (from, to string) {
	from, to = of.From, of.To
	for i := range c.Tables {
		if t := &c.Tables[i]; t.Format == of.Format && t.From != "" && t.From <= of.To && t.To >= of.From {
			from, to = min(from, t.From), max(to, t.To)
		}
	}
	return from, to
}
