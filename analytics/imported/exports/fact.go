package exports

import (
	"github.com/onefold/onefold/analytics/internal/dimension"
	"github.com/onefold/onefold/analytics/internal/tally"
)

// Dimension is what a fact counts by: a dimension of statistics, or one of the totals below.
type Dimension = dimension.Name

// The totals of a day. They are separate because exports have them in separate tables.
const (
	Totals      Dimension = "total"       // visitors, visits, page views and related counts
	EventTotals Dimension = "total_event" // custom events
	PageTotals  Dimension = "total_page"  // engaged time of all pages, for which Plausible has no other total
)

// ofDay reports whether a dimension has totals instead of values.
func ofDay(d Dimension) bool { return d == Totals || d == EventTotals || d == PageTotals }

// Fact is one count of an export: the total of a day, or one value of a dimension on a day.
type Fact struct {
	Day       string // YYYY-MM-DD
	Dimension Dimension
	Value     string // "" for totals
	Rest      bool   // sum of values that the export does not name
	Visitors  int64  // only for Totals
	Count     tally.Count
}

// cell is a value in a row, with its dimension.
type cell struct {
	dimension Dimension
	value     string
}

// keep returns the counts of a row that its dimension stores.
func keep(d Dimension, n *numbers) (visitors int64, c tally.Count) {
	switch d {
	case Totals:
		c = n.ofVisits()
		c.EngagedMS = n.engagedMS
		return n.visitors, c
	case PageTotals:
		return 0, tally.Count{EngagedMS: n.engagedMS}
	case dimension.Page:
		return 0, tally.Count{PageViews: n.pageViews, Visits: n.visits, EngagedMS: n.engagedMS, Scrolls: n.scrolls, Scroll: n.scroll}
	case EventTotals, dimension.EventName, dimension.Outbound, dimension.Download, dimension.NotFound:
		return 0, tally.Count{Events: n.events}
	}
	return 0, n.ofVisits()
}

func (n *numbers) ofVisits() tally.Count {
	return tally.Count{PageViews: n.pageViews, Visits: n.visits, Bounces: n.bounces, Seconds: n.seconds, Revenue: n.revenue}
}
