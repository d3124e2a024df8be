package analytics

import (
	"cmp"

	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
)

func foldBreakdowns(c Config, names *calendar.HourNames) *fold.Fold {
	return fold.New("analytics.breakdowns", Breakdowns, (*Breakdown).merge,
		fold.On(Events, func(ch fold.Typed[Event], at func(BreakdownKey) *Breakdown) error {
			if ch.Old != nil || ch.New == nil {
				return nil
			}
			return addEventToBreakdowns(ch.New, names, at)
		}),
		fold.On(Visitors, func(ch fold.Typed[Visitor], at func(BreakdownKey) *Breakdown) error {
			if !ch.Expired {
				addVisitorToBreakdowns(ch.Old, ch.New, names, at)
			}
			return nil
		}),
	).With(
		fold.CacheSize(1024), // they are large, and most changes are to those of the last hours
		fold.Removable((*Breakdown).empty),
		fold.Finish(func(b *Breakdown) {
			b.ExpiresAt = hourExpiry(b.Start, b.Kept, c.retention(b.SiteID))
		}),
	)
}

// merge adds the counts of other facts of the same bucket. See tally.Bounded.Merge for what happens when it is full.
func (b *Breakdown) merge(o *Breakdown) {
	b.Full = b.Full || o.Full
	b.Other = b.Other.Plus(o.Other)
	tally.Bounded{Values: &b.Values, Other: &b.Other, Full: &b.Full}.Merge(o.Values)
	b.Day = max(b.Day, o.Day)
	b.Kept.merge(o.Kept)
}

// empty reports whether there is nothing left that was ever counted here.
func (b *Breakdown) empty() bool { return len(b.Values) == 0 && b.Other == tally.Count{} && !b.Full }

// addEventToBreakdowns counts the page or the custom event in its own hour.
func addEventToBreakdowns(e *Event, names *calendar.HourNames, at func(BreakdownKey) *Breakdown) error {
	dimension, value, one := ByPage, e.Path, tally.Count{PageViews: 1}
	if e.Name != "" {
		dimension, value, one = ByEventName, e.Name, tally.Count{Events: 1}
	}
	if value == "" {
		return nil
	}
	ms, err := eventMS(e.EventID)
	if err != nil {
		return err
	}
	b := at(BreakdownKey{e.SiteID, Hour, dimension, names.Of(calendar.HourOf(ms, e.ZoneMinutes))})
	if b.Day == "" {
		b.Day = calendar.DayOf(ms, e.ZoneMinutes)
	}
	b.Values.Add(value, one)
	if e.Arrived != 0 {
		b.Kept.note(e.Arrived)
	}
	return nil
}

// visitDimensions are the dimensions that are counted from visits, in the order of valuesOf.
var visitDimensions = [...]Dimension{
	ByEntryPage, ByExitPage, ByReferrer, BySource, ByChannel,
	ByUTMSource, ByUTMMedium, ByUTMCampaign, ByUTMTerm, ByUTMContent,
	ByCountry, ByRegion, ByCity, ByBrowser, ByOS, ByDevice, ByScreen, ByLanguage,
}

// valuesOf are a visit's values of visitDimensions.
func valuesOf(v *visits.Visit) [len(visitDimensions)]string {
	return [...]string{
		v.Entry.Path, v.Exit.Path, v.Referrer, v.Source.Name, v.Channel,
		v.UTM.Source, v.Medium, v.Campaign, v.Term, v.Content,
		v.Country, v.Region, v.City, v.Browser, v.OS, v.Device, v.Screen, v.Language,
	}
}

// visitorBreakdowns counts changes of one visitor's day.
type visitorBreakdowns struct {
	site, day string
	late      int64 // arrival of the last late fact, 0 for none
	names     *calendar.HourNames
	at        func(BreakdownKey) *Breakdown
}

func (b *visitorBreakdowns) add(d Dimension, hour int64, value string, c tally.Count) {
	item := b.at(BreakdownKey{b.site, Hour, d, b.names.Of(hour)})
	item.Day = b.day
	if c != (tally.Count{}) {
		item.Values.Add(value, c)
	}
	if b.late != 0 {
		item.Kept.note(b.late)
	}
}

// addVisitorToBreakdowns takes what a visitor's visits were before a change off again and counts what they are now,
// without touching what is the same. A nil visitor has no visits.
func addVisitorToBreakdowns(before, after *Visitor, names *calendar.HourNames, at func(BreakdownKey) *Breakdown) {
	var olds, news visits.List
	b := visitorBreakdowns{names: names, at: at}
	lateBefore := int64(0)
	if before != nil {
		olds, b.site, b.day = before.Visits, before.SiteID, before.Day
		lateBefore = before.lateUntil()
	}
	if after != nil {
		news, b.site, b.day, b.late = after.Visits, after.SiteID, after.Day, after.lateUntil()
	}
	for i := range news {
		if b.late != lateBefore {
			b.count(&news[i], 0) // everything that the visitor is counted in lives longer now
		}
	}
	for len(olds) > 0 || len(news) > 0 {
		switch c := compareFirst(olds, news); {
		case c < 0:
			b.count(&olds[0], -1)
			olds = olds[1:]
		case c > 0:
			b.count(&news[0], +1)
			news = news[1:]
		default:
			b.change(&olds[0], &news[0])
			olds, news = olds[1:], news[1:]
		}
	}
}

// compareFirst says which of two lists of visits has the one that comes first: 0 if both begin with the same.
func compareFirst(a, b visits.List) int {
	switch {
	case len(b) == 0:
		return -1
	case len(a) == 0:
		return 1
	}
	return cmp.Or(cmp.Compare(a[0].FirstID, b[0].FirstID))
}

// count counts all of a visit with a sign; 0 only touches what it is counted in.
func (b *visitorBreakdowns) count(v *visits.Visit, sign int64) {
	for i, value := range valuesOf(v) {
		b.countValue(v, visitDimensions[i], value, sign)
	}
	for _, page := range v.Pages {
		b.add(ByPage, v.StartHour(), page, tally.Count{Visits: sign})
	}
}

// countValue counts a visit under one value: page views in the hours in which they happened, the visit in the one in
// which it started.
func (b *visitorBreakdowns) countValue(v *visits.Visit, d Dimension, value string, sign int64) {
	if value == "" {
		return
	}
	for i, h := range v.Hours {
		c := tally.Count{PageViews: sign * h.Views}
		if i == 0 {
			c.Visits = sign
		}
		if h.Views != 0 || i == 0 {
			b.add(d, h.Hour, value, c)
		}
	}
}

// change counts what differs between two states of a visit. Both begin with the same event, so in the same hour.
func (b *visitorBreakdowns) change(o, n *visits.Visit) {
	var room [4]visits.Hour
	views := viewsGained(room[:0], o.Hours, n.Hours)
	was := valuesOf(o)
	for i, is := range valuesOf(n) {
		d := visitDimensions[i]
		if is != was[i] {
			b.countValue(o, d, was[i], -1)
			b.countValue(n, d, is, +1)
			continue
		}
		if is == "" {
			continue
		}
		for _, h := range views {
			b.add(d, h.Hour, is, tally.Count{PageViews: h.Views})
		}
	}
	b.changePages(n.StartHour(), o.Pages, n.Pages)
}

// viewsGained lists the hours whose page views differ, and by how much.
func viewsGained(out, was, is []visits.Hour) []visits.Hour {
	for len(was) > 0 || len(is) > 0 {
		var h visits.Hour
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].Hour < is[0].Hour:
			h, was = visits.Hour{Hour: was[0].Hour, Views: -was[0].Views}, was[1:]
		case len(was) == 0 || is[0].Hour < was[0].Hour:
			h, is = is[0], is[1:]
		default:
			h = visits.Hour{Hour: is[0].Hour, Views: is[0].Views - was[0].Views}
			was, is = was[1:], is[1:]
		}
		if h.Views != 0 {
			out = append(out, h)
		}
	}
	return out
}

// changePages counts the visit under pages that it gained, and takes it off those that it lost. Both lists are sorted.
func (b *visitorBreakdowns) changePages(hour int64, was, is []string) {
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0] < is[0]:
			b.add(ByPage, hour, was[0], tally.Count{Visits: -1})
			was = was[1:]
		case len(was) == 0 || is[0] < was[0]:
			b.add(ByPage, hour, is[0], tally.Count{Visits: +1})
			is = is[1:]
		default:
			was, is = was[1:], is[1:]
		}
	}
}
