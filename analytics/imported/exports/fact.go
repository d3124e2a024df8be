package exports

import (
	"github.com/onefold/onefold/analytics/internal/facets"
	"github.com/onefold/onefold/analytics/internal/tally"
)

// Dimension is what a fact counts by: a dimension of statistics, or one of the two here.
type Dimension = facets.Dimension

// The totals of a day. They are separate because exports have them in several tables.
const (
	Totals      Dimension = "total"       // visitors, visits, page views and what goes with them
	EventTotals Dimension = "total_event" // custom events
	PageTotals  Dimension = "total_page"  // attention of all pages: Plausible has no other total of it
)

// ofDay reports whether a dimension has totals rather than values.
func ofDay(d Dimension) bool { return d == Totals || d == EventTotals || d == PageTotals }

// Fact is one count of an export: of a day, or of one value of a dimension in a day.
type Fact struct {
	Day       string // YYYY-MM-DD
	Dimension Dimension
	Value     string // empty for totals
	Rest      bool   // it counts values that the export did not name
	Visitors  int64  // of Totals
	Count     tally.Count
}

// cell is the place of one value in a row, and what it is counted by.
type cell struct {
	dimension Dimension
	value     string
}

// keep is which counts of a row belong to a dimension.
func keep(d Dimension, n *numbers) (visitors int64, c tally.Count) {
	switch d {
	case Totals:
		c = n.ofVisits()
		c.EngagedMS = n.engagedMS
		return n.visitors, c
	case PageTotals:
		return 0, tally.Count{EngagedMS: n.engagedMS}
	case facets.Page:
		return 0, tally.Count{PageViews: n.pageViews, Visits: n.visits, EngagedMS: n.engagedMS, Scrolls: n.scrolls, Scroll: n.scroll}
	case EventTotals, facets.EventName, facets.Outbound, facets.Download, facets.NotFound:
		return 0, tally.Count{Events: n.events}
	}
	return 0, n.ofVisits()
}

func (n *numbers) ofVisits() tally.Count {
	return tally.Count{PageViews: n.pageViews, Visits: n.visits, Bounces: n.bounces, Seconds: n.seconds, Revenue: n.revenue}
}
