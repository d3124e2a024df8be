package analytics

import (
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
	"github.com/onefold/onefold/table"
)

func foldStats(c Config, names *calendar.HourNames, events *fold.Facts[EventChange]) *fold.Fold {
	return fold.New("analytics.stats", StatsItems, (*Stats).Merge,
		fold.OnEach(events, func(ch *EventChange, at func(StatsKey) *Stats) error {
			e, sign := counted(ch)
			if sign == 0 {
				return nil
			}
			return addEventToStats(e, sign, names, at)
		}),
		fold.OnEach(VisitLog.Changes(), func(ch *fold.Typed[Visitor], at func(StatsKey) *Stats) error {
			if !ch.Expired {
				addVisitorToStats(ch.Old, ch.New, names, at)
			}
			return nil
		}),
	).With(fold.Finish(func(s *Stats) {
		s.ExpiresAt = HourExpiry(s.Start, s.Arrivals, c.retention(s.SiteID))
	}))
}

// Merge adds the counts of other facts of the same bucket.
func (s *Stats) Merge(o *Stats) {
	s.PageViews += o.PageViews
	s.Events += o.Events
	s.NewVisitors += o.NewVisitors
	s.ActiveVisitors += o.ActiveVisitors
	s.Active.Merge(o.Active)
	s.Visits += o.Visits
	s.Bounces += o.Bounces
	s.Seconds += o.Seconds
	s.Revenue = decimal.Add(s.Revenue, o.Revenue)
	s.Conversions += o.Conversions
	s.EngagedMS += o.EngagedMS
	s.Day = max(s.Day, o.Day)
	s.Arrivals.Merge(o.Arrivals)
}

// counted returns the event to count: +1 if new, -1 if just marked as erased, 0 otherwise.
func counted(ch *EventChange) (e *Event, sign int64) {
	switch {
	case ch.Old == nil && !ch.New.Erased:
		return ch.New, +1
	case ch.Old != nil && !ch.Old.Erased && ch.New.Erased:
		return ch.New, -1
	}
	return nil, 0
}

// addEventToStats counts an event with a sign in its own hour.
func addEventToStats(e *Event, sign int64, names *calendar.HourNames, at func(StatsKey) *Stats) error {
	ms, err := eventMS(e.EventID)
	if err != nil {
		return err
	}
	revenue, err := decimal.Parse(e.Revenue)
	if err != nil {
		return err
	}
	s := at(StatsKey{e.SiteID, Hour, names.Of(calendar.HourOf(ms, e.ZoneMinutes)), e.Shard})
	if s.Day == "" {
		s.Day = calendar.DayOf(ms, e.ZoneMinutes)
	}
	switch {
	case e.silent():
		s.EngagedMS += sign * e.EngagedMS
	case e.Name == "":
		s.PageViews += sign
	default:
		s.Events += sign
	}
	s.Revenue = decimal.Add(s.Revenue, decimal.Times(revenue, sign))
	s.Arrivals.note(arrivalOf(e, ms))
	return nil
}

// hourCounts are the differences that a change of a visitor's day makes to one hour.
type hourCounts struct {
	hour                               int64
	visitors, visits, bounces, seconds int64
	conversions                        int64
	was, is                            bool // active before and after the change
}

// hoursOfDay holds the counts of a few hours, found by linear search.
type hoursOfDay []hourCounts

func (h *hoursOfDay) of(hour int64) *hourCounts {
	for i := range *h {
		if (*h)[i].hour == hour {
			return &(*h)[i]
		}
	}
	*h = append(*h, hourCounts{hour: hour})
	return &(*h)[len(*h)-1]
}

// count adds a visitor's day with a sign: +1 for its new state, -1 for its old.
func (h *hoursOfDay) count(v *Visitor, sign int64) {
	if v == nil || len(v.Visits) == 0 {
		return
	}
	h.of(v.Visits[0].StartHour()).visitors += sign
	for i := range v.Visits {
		visit := &v.Visits[i]
		c := h.of(visit.StartHour())
		c.visits += sign
		c.seconds += sign * visit.Seconds()
		c.conversions += sign * conversionsOf(visit)
		if visit.Bounced() {
			c.bounces += sign
		}
		for _, hour := range visit.Hours {
			c := h.of(hour.Hour)
			c.was = c.was || sign < 0
			c.is = c.is || sign > 0
		}
	}
}

// addVisitorToStats subtracts a visitor's previous day and adds the current one. It touches only
// hours whose counts differ. A nil visitor counts nothing.
func addVisitorToStats(before, after *Visitor, names *calendar.HourNames, at func(StatsKey) *Stats) {
	v := after
	if v == nil {
		v = before
	}
	if v == nil {
		return
	}
	var room [8]hourCounts
	hours := hoursOfDay(room[:0])
	hours.count(before, -1)
	hours.count(after, +1)
	for i := range hours {
		h := &hours[i]
		if h.visitors|h.visits|h.bounces|h.seconds|h.conversions == 0 && h.was == h.is {
			continue
		}
		s := at(StatsKey{v.SiteID, Hour, names.Of(h.hour), v.Shard})
		s.Day = v.Day
		s.NewVisitors += h.visitors
		s.Visits += h.visits
		s.Bounces += h.bounces
		s.Seconds += h.seconds
		s.Conversions += h.conversions
		switch {
		case h.is && !h.was:
			s.ActiveVisitors++
			s.Active.Add(visitorHash(v.VisitorID))
		case h.was && !h.is: // a correction: nothing can be removed from the sketch
			s.ActiveVisitors--
		}
	}
}

// visitorHash returns the hash of a visitor that sketches use.
func visitorHash(visitorID string) uint64 { return xxhash.Sum64String(visitorID) }

// datedStats and datedBreakdown are the fields of an hour that a roll-up mark needs. Decoding
// sketches and a thousand values before and after every change would dominate the fold's cost.
type (
	datedStats struct {
		StatsKey
		Day string `dynamodbav:"day"`
	}
	datedBreakdown struct {
		BreakdownKey
		Day string `dynamodbav:"day"`
	}
)

var (
	statsDays     = table.Define[datedStats, StatsKey](StatsItems.Name(), table.Def[datedStats]{PK: countsPK, SK: statsSK})
	breakdownDays = table.Define[datedBreakdown, BreakdownKey](Breakdowns.Name(), table.Def[datedBreakdown]{PK: countsPK, SK: breakdownSK})
)

func foldRollupMarks() *fold.Fold {
	return fold.New("analytics.rollups", RollupMarks, (*RollupMark).merge,
		fold.On(statsDays, func(ch fold.Typed[datedStats], at func(RollupKey) *RollupMark) error {
			if s := ch.New; s != nil && s.Period == Hour {
				markRollup(RollupKey{s.SiteID, s.Day}, ch.At, at)
			}
			return nil
		}),
		fold.On(breakdownDays, func(ch fold.Typed[datedBreakdown], at func(RollupKey) *RollupMark) error {
			b := ch.New
			if b == nil && !ch.Expired {
				b = ch.Old // its last value was removed
			}
			if b != nil && b.Period == Hour {
				markRollup(RollupKey{b.SiteID, b.Day}, ch.At, at)
			}
			return nil
		}),
	)
}

func (m *RollupMark) merge(o *RollupMark) { m.Changed = max(m.Changed, o.Changed) }

func markRollup(k RollupKey, changed time.Time, at func(RollupKey) *RollupMark) {
	if k.Day == "" {
		return // not an hour that a fold wrote
	}
	m := at(k)
	m.Changed = max(m.Changed, changed.Unix())
}
