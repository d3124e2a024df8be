package analytics

import (
	"time"

	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
)

// Examples for the generated documents, where field names alone do not yield a good example.

func exampleBlock(b *Block) {
	at := time.Date(2026, 5, 12, 14, 0, 0, 250e6, time.UTC)
	events := make([]Event, 2)
	for i := range events {
		ms := at.Add(time.Duration(i) * 1500 * time.Millisecond).UnixMilli()
		events[i] = Event{EventKey: EventKey{b.SiteID, b.Shard, newULID(uint64(ms), uint64(i), 7).String()}, VisitorID: "v1", Path: []string{"/", "/pricing"}[i], ZoneMinutes: 120}
	}
	body, err := eventBlocks.Append(nil, events)
	if err != nil {
		panic(err) // two small events
	}
	key := b.BlockKey
	*b = blockOf(events, body, at)
	b.BlockKey = key
}

func exampleWindow(w *Window) {
	w.Span = "2026-05-12T14:00Z"
}

func exampleStats(s *Stats) {
	exampleDay(s.Start, &s.Day, &s.Arrivals)
	s.PageViews, s.Events, s.Visits, s.Bounces, s.Seconds = 412, 37, 160, 61, 19840
	s.NewVisitors, s.ActiveVisitors, s.Conversions, s.Revenue = 118, 142, 9, "441.00"
}

func exampleBreakdown(b *Breakdown) {
	exampleDay(b.Start, &b.Day, &b.Arrivals)
	b.Values = tally.Values{"/": {PageViews: 212, Visits: 120, Bounces: 51}, "/pricing": {PageViews: 97, Visits: 64, Bounces: 10}}
}

// exampleDay sets the day of an hour, and turns arrival times into seconds.
func exampleDay(start string, day *string, k *Arrivals) {
	if len(start) > len(calendar.DayLayout) {
		*day = start[:len(calendar.DayLayout)]
	}
	k.Since, k.Until = k.Since/1000, k.Until/1000
}

// exampleVisitPage fills a page with a visitor who viewed two pages.
func exampleVisitPage(p *VisitPage) {
	at := time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC)
	p.Day = at.Format(calendar.DayLayout)
	var v Visitor
	for i, path := range []string{"/", "/pricing"} {
		ms := uint64(at.Add(time.Duration(i) * time.Minute).UnixMilli())
		e := Event{EventKey: EventKey{p.SiteID, p.Shard, newULID(ms, uint64(i), 7).String()}, VisitorID: "v1", VisitorShard: p.Shard, Path: path}
		if err := addToVisitor(&e, func(k VisitorKey) *Visitor { v.VisitorKey = k; return &v }); err != nil {
			panic(err) // two small events
		}
	}
	v.ExpiresAt = v.Expiry(Retention{}.Of(Hour))
	*p = VisitPage{VisitsKey: p.VisitsKey}
	p.note(nil, &v)
	p.States = fold.ExampleStates("VISITOR#v1#"+p.Day, appendVisitor(nil, &v))
}

func exampleSession(s *Session) {
	s.PageViews, s.Events, s.Conversions, s.VisitorShard, s.End = 3, 1, 1, 0, s.Start+240_000
	s.Since, s.Until = s.Since/1000, s.Until/1000
}

func exampleRollupMark(m *RollupMark) { m.Changed /= 1000 }
