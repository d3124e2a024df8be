// Package facets computes what a visitor's day, or a change of it, adds to and subtracts from hourly
// breakdowns by dimension.
package facets

import (
	"cmp"
	"slices"

	"github.com/onefold/onefold/analytics/internal/dimension"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/decimal"
)

// Day holds the parts of a visitor's day that breakdowns count.
type Day struct {
	Visits  visits.List
	Scrolls visits.Depths
}

// Add adds a count to a value in an hour, in epoch seconds. Counts may be negative.
type Add func(d dimension.Name, hour int64, value string, c tally.Count)

// Change subtracts a visitor's previous day and adds the current one, without touching equal parts.
// Visits are matched by their first event, by which both lists are sorted.
func Change(before, after Day, add Add) {
	olds, news := before.Visits, after.Visits
	for len(olds) > 0 || len(news) > 0 {
		switch c := compareFirst(olds, news); {
		case c < 0:
			count(&olds[0], -1, add)
			olds = olds[1:]
		case c > 0:
			count(&news[0], +1, add)
			news = news[1:]
		default:
			change(&olds[0], &news[0], add)
			olds, news = olds[1:], news[1:]
		}
	}
	changeScrolls(before, after, add)
}

// Touch calls add with a zero count for every value and hour in which a visitor's day is counted.
func Touch(day Day, add Add) {
	for i := range day.Visits {
		count(&day.Visits[i], 0, add)
	}
	countScrolls(day, 0, add)
}

// compareFirst reports which list has the earlier first visit: negative a, positive b, 0 if both
// start with the same event.
func compareFirst(a, b visits.List) int {
	switch {
	case len(b) == 0:
		return -1
	case len(a) == 0:
		return 1
	}
	return cmp.Compare(a[0].FirstID, b[0].FirstID)
}

// whole returns the counts of a visit in the hour in which it started, except page views.
func whole(v *visits.Visit, sign int64) tally.Count {
	c := tally.Count{Visits: sign, Seconds: sign * v.Seconds(), Revenue: decimal.Times(v.Revenue, sign)}
	if v.Bounced() {
		c.Bounces = sign
	}
	return c
}

// count counts all of a visit with a sign; 0 only names the values.
func count(v *visits.Visit, sign int64, add Add) {
	all := whole(v, sign)
	for _, d := range visits.Dimensions {
		countValue(v, d.Name, *d.Of(v), all, sign, add)
	}
	for _, page := range v.Pages {
		add(dimension.Page, v.StartHour(), page, tally.Count{Visits: sign})
	}
	countGoals(v, sign, add)
}

// countValue counts a visit under one value: page views in their own hours, everything else in the
// hour in which the visit started.
func countValue(v *visits.Visit, d dimension.Name, value string, all tally.Count, sign int64, add Add) {
	if value == "" {
		return
	}
	for i, h := range v.Hours {
		c := tally.Count{}
		if i == 0 {
			c = all
		}
		c.PageViews = sign * h.Views
		if h.Views != 0 || i == 0 {
			add(d, h.Hour, value, c)
		}
	}
}

func countGoals(v *visits.Visit, sign int64, add Add) {
	for i := range v.Goals {
		n, revenue := v.Goals[i].Worth()
		c := tally.Count{Events: sign * n, Visits: sign * min(n, 1), Revenue: decimal.Times(revenue, sign)}
		if sign == 0 || c != (tally.Count{}) {
			add(dimension.Goal, v.StartHour(), v.Goals[i].Goal, c)
		}
	}
}

// change counts the difference between two states of a visit. Both start with the same event, and
// so in the same hour.
func change(o, n *visits.Visit, add Add) {
	var room [4]gained
	gains := gainedIn(room[:0], o, n)
	for _, d := range visits.Dimensions {
		was, is := *d.Of(o), *d.Of(n)
		if is != was {
			countValue(o, d.Name, was, whole(o, -1), -1, add)
			countValue(n, d.Name, is, whole(n, +1), +1, add)
			continue
		}
		if is == "" {
			continue
		}
		for _, g := range gains {
			add(d.Name, g.hour, is, g.count)
		}
	}
	changePages(n.StartHour(), o.Pages, n.Pages, add)
	if !slices.Equal(o.Goals, n.Goals) {
		countGoals(o, -1, add)
		countGoals(n, +1, add)
	}
}

// gained is the difference between two states of a visit in one hour.
type gained struct {
	hour  int64
	count tally.Count
}

// gainedIn lists the hours in which two states of a visit differ. Their first hours are equal.
func gainedIn(out []gained, o, n *visits.Visit) []gained {
	first := tally.Count{Seconds: n.Seconds() - o.Seconds()}
	if o.Revenue != n.Revenue {
		first.Revenue = decimal.Add(n.Revenue, decimal.Times(o.Revenue, -1))
	}
	if n.Bounced() {
		first.Bounces++
	}
	if o.Bounced() {
		first.Bounces--
	}
	was, is := o.Hours, n.Hours
	for len(was) > 0 || len(is) > 0 {
		g := gained{count: first}
		first = tally.Count{}
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].Hour < is[0].Hour:
			g.hour, g.count.PageViews, was = was[0].Hour, -was[0].Views, was[1:]
		case len(was) == 0 || is[0].Hour < was[0].Hour:
			g.hour, g.count.PageViews, is = is[0].Hour, is[0].Views, is[1:]
		default:
			g.hour, g.count.PageViews = is[0].Hour, is[0].Views-was[0].Views
			was, is = was[1:], is[1:]
		}
		if g.count != (tally.Count{}) {
			out = append(out, g)
		}
	}
	return out
}

// changePages counts the visit under added pages and subtracts it from removed pages. Both lists
// are sorted.
func changePages(hour int64, was, is []string, add Add) {
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0] < is[0]:
			add(dimension.Page, hour, was[0], tally.Count{Visits: -1})
			was = was[1:]
		case len(was) == 0 || is[0] < was[0]:
			add(dimension.Page, hour, is[0], tally.Count{Visits: +1})
			is = is[1:]
		default:
			was, is = was[1:], is[1:]
		}
	}
}

// countScrolls counts the scroll depth of each page of the day, with a sign, in the hour in which
// the first visit to list the page started. If no visit lists it, the first visit's hour is used.
func countScrolls(day Day, sign int64, add Add) {
	for i := range day.Scrolls {
		s := &day.Scrolls[i]
		if hour, ok := hourOfPage(day.Visits, s.Page); ok {
			add(dimension.Page, hour, s.Page, tally.Count{Scrolls: sign, Scroll: sign * s.Percent})
		}
	}
}

func changeScrolls(before, after Day, add Add) {
	if len(before.Scrolls) == 0 && len(after.Scrolls) == 0 {
		return
	}
	for _, was := range before.Scrolls {
		h, ok := hourOfPage(before.Visits, was.Page)
		if !ok || after.scrolled(was, h) {
			continue
		}
		add(dimension.Page, h, was.Page, tally.Count{Scrolls: -1, Scroll: -was.Percent})
	}
	for _, is := range after.Scrolls {
		h, ok := hourOfPage(after.Visits, is.Page)
		if !ok || before.scrolled(is, h) {
			continue
		}
		add(dimension.Page, h, is.Page, tally.Count{Scrolls: +1, Scroll: is.Percent})
	}
}

// scrolled reports whether a page has the same depth in the same hour.
func (d *Day) scrolled(s visits.Depth, hour int64) bool {
	i, found := d.Scrolls.Find(s.Page)
	if !found || d.Scrolls[i].Percent != s.Percent {
		return false
	}
	h, ok := hourOfPage(d.Visits, s.Page)
	return ok && h == hour
}

func hourOfPage(vs visits.List, page string) (hour int64, ok bool) {
	for i := range vs {
		if _, found := slices.BinarySearch(vs[i].Pages, page); found {
			return vs[i].StartHour(), true
		}
	}
	if len(vs) == 0 {
		return 0, false
	}
	return vs[0].StartHour(), true
}
