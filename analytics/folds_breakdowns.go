package analytics

import (
	"cmp"

	"github.com/onefold/onefold/analytics/internal/facets"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/analytics/internal/vitals"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
)

func foldBreakdowns(c Config, names *calendar.HourNames, events *fold.Facts[EventChange]) *fold.Fold {
	return fold.New("analytics.breakdowns", Breakdowns, (*Breakdown).merge,
		fold.OnEach(events, func(ch *EventChange, at func(BreakdownKey) *Breakdown) error {
			e, sign := counted(ch)
			if sign == 0 {
				return nil
			}
			return addEventToBreakdowns(e, sign, names, at)
		}),
		fold.OnEach(VisitLog.Changes(), func(ch *fold.Typed[Visitor], at func(BreakdownKey) *Breakdown) error {
			if !ch.Expired {
				addVisitorToBreakdowns(ch.Old, ch.New, names, at)
			}
			return nil
		}),
	).With(
		fold.Hold(c.Wait),
		fold.CacheSize(1024), // breakdowns are large, and most changes affect the last hours
		fold.Removable((*Breakdown).Empty),
		fold.Finish(func(b *Breakdown) {
			b.ExpiresAt = HourExpiry(b.Start, b.Arrivals, c.retention(b.SiteID))
		}),
	)
}

// merge adds the counts of other facts of the same bucket. For a full item see tally.Bounded.Merge.
func (b *Breakdown) merge(o *Breakdown) {
	b.Full = b.Full || o.Full
	b.Other = b.Other.Plus(o.Other)
	b.Take(o.Values)
	b.Day = max(b.Day, o.Day)
	b.Arrivals.Merge(o.Arrivals)
}

// Take adds counts of values. Values that do not fit are counted in Other.
func (b *Breakdown) Take(values tally.Values) {
	most := tally.MaxValues
	if ofVitals(b.Dimension) {
		most = maxVitalsValues
	}
	tally.Bounded{Values: &b.Values, Other: &b.Other, Full: &b.Full, Most: most}.Merge(values)
}

// Empty reports whether no counts are left, in an item that was never full.
func (b *Breakdown) Empty() bool { return len(b.Values) == 0 && b.Other == tally.Count{} && !b.Full }

// addEventToBreakdowns counts an event with a sign in its own hour: its page or event name, engaged
// time, vitals, and properties that are dimensions.
func addEventToBreakdowns(e *Event, sign int64, names *calendar.HourNames, at func(BreakdownKey) *Breakdown) error {
	ms, err := eventMS(e.EventID)
	if err != nil {
		return err
	}
	start, day := "", ""
	add := func(d Dimension, value string, c tally.Count) {
		if value == "" || c == (tally.Count{}) {
			return
		}
		if start == "" {
			start, day = names.Of(calendar.HourOf(ms, e.ZoneMinutes)), calendar.DayOf(ms, e.ZoneMinutes)
		}
		b := at(BreakdownKey{e.SiteID, Hour, d, start, e.Shard})
		b.Day = day
		b.Values.Add(value, c)
		if e.Arrived != 0 {
			b.Arrivals.note(e.Arrived)
		}
	}
	switch {
	case e.silent():
		add(ByPage, e.Path, tally.Count{EngagedMS: sign * e.EngagedMS})
		addVitals(e, sign, add)
		return nil
	case e.Name == "":
		add(ByPage, e.Path, tally.Count{PageViews: sign, Revenue: decimal.Times(e.Revenue, sign)})
	default:
		addEventName(e, sign, add)
	}
	for _, name := range e.Counted {
		c := tally.Count{Revenue: decimal.Times(e.Revenue, sign)}
		if e.Name == "" {
			c.PageViews = sign
		} else {
			c.Events = sign
		}
		add(ByProperty(name), e.Properties[name], c)
	}
	return nil
}

// addVitals counts the measurements of a page load by page and by device type.
func addVitals(e *Event, sign int64, add func(Dimension, string, tally.Count)) {
	h := e.Vitals.histograms()
	if h == "" {
		return
	}
	c := tally.Count{}.Plus(tally.Count{Events: sign, Vitals: vitals.Histograms("").Plus(h, sign)})
	add(VitalsByPage, e.Path, c)
	add(VitalsByDevice, cmp.Or(e.Device, None), c)
}

// addEventName counts a custom event by name, and by URL or path if its name has its own dimension.
func addEventName(e *Event, sign int64, add func(Dimension, string, tally.Count)) {
	c := tally.Count{Events: sign, Revenue: decimal.Times(e.Revenue, sign)}
	add(ByEventName, e.Name, c)
	switch e.Name {
	case OutboundEvent:
		add(ByOutbound, e.Properties[urlProperty], c)
	case DownloadEvent:
		add(ByDownload, e.Properties[urlProperty], c)
	case NotFoundEvent:
		add(ByNotFound, e.Path, c)
	}
}

// addVisitorToBreakdowns subtracts a visitor's previous visits and adds the current ones. Equal
// parts are not touched. A nil visitor has no visits.
func addVisitorToBreakdowns(before, after *Visitor, names *calendar.HourNames, at func(BreakdownKey) *Breakdown) {
	var was, is facets.Day
	part := 0
	var site, day string
	var late, lateBefore int64 // arrival of the last late fact, 0 for none
	if before != nil {
		was, site, day, part = facets.Day{Visits: before.Visits, Scrolls: before.Scrolls}, before.SiteID, before.Day, before.Shard
		lateBefore = before.lateUntil()
	}
	if after != nil {
		is, site, day, part = facets.Day{Visits: after.Visits, Scrolls: after.Scrolls}, after.SiteID, after.Day, after.Shard
		late = after.lateUntil()
	}
	add := func(d Dimension, hour int64, value string, c tally.Count) {
		item := at(BreakdownKey{site, Hour, d, names.Of(hour), part})
		item.Day = day
		if c != (tally.Count{}) {
			item.Values.Add(value, c)
		}
		if late != 0 {
			item.Arrivals.note(late)
		}
	}
	if late != lateBefore && before != nil { // a new visitor is counted everywhere anyway
		facets.Touch(is, add) // extend the lifetime of every item that counts the visitor
	}
	facets.Change(was, is, add)
}
