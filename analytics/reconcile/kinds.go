package reconcile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// itemKind describes how derived items of one kind are compared and replaced.
type itemKind[S any, K comparable] struct {
	entity *table.Entity[S, K]
	states states[S, K]
	zero   func(K) S
	want   func(*analytics.Derived) map[K]*S
	same   func(stored, want *S) bool
	empty  func(*S) bool                                // counts nothing: equivalent to an absent item
	finish func(want, stored *S, r analytics.Retention) // prepares want to be written over stored
	text   func(*S) any                                 // the part to show to people
}

var kindOfVisitor = itemKind[analytics.Visitor, analytics.VisitorKey]{
	entity: analytics.Visitors,
	states: visitorsInLog{},
	zero:   func(k analytics.VisitorKey) analytics.Visitor { return analytics.Visitor{VisitorKey: k} },
	want:   func(d *analytics.Derived) map[analytics.VisitorKey]*analytics.Visitor { return d.Visitors },
	same:   sameVisitor,
	empty:  func(v *analytics.Visitor) bool { return len(v.Visits) == 0 && len(v.Scrolls) == 0 },
	finish: func(v, _ *analytics.Visitor, r analytics.Retention) { v.ExpiresAt = v.Expiry(r.Of(analytics.Hour)) },
	text:   func(v *analytics.Visitor) any { return v.Visits },
}

var kindOfSession = itemKind[analytics.Session, analytics.SessionKey]{
	entity: analytics.Sessions,
	states: rows[analytics.Session, analytics.SessionKey]{analytics.Sessions},
	zero:   func(k analytics.SessionKey) analytics.Session { return analytics.Session{SessionKey: k} },
	want:   func(d *analytics.Derived) map[analytics.SessionKey]*analytics.Session { return d.Sessions },
	same:   sameSession,
	empty:  func(s *analytics.Session) bool { return s.Start == 0 },
	finish: func(s, _ *analytics.Session, r analytics.Retention) { s.ExpiresAt = s.Expiry(r.Of(analytics.Hour)) },
	text:   func(s *analytics.Session) any { return s },
}

var kindOfStats = itemKind[analytics.Stats, analytics.StatsKey]{
	entity: analytics.StatsItems,
	states: rows[analytics.Stats, analytics.StatsKey]{analytics.StatsItems},
	zero:   func(k analytics.StatsKey) analytics.Stats { return analytics.Stats{StatsKey: k} },
	want:   func(d *analytics.Derived) map[analytics.StatsKey]*analytics.Stats { return d.Stats },
	same:   sameStats,
	empty: func(s *analytics.Stats) bool {
		return s.Same(&analytics.Stats{}) && s.ActiveVisitors == 0 && len(s.Active) == 0 && s.Until == 0
	},
	finish: func(s, stored *analytics.Stats, r analytics.Retention) {
		s.Day = max(s.Day, stored.Day)
		s.Arrivals.Merge(stored.Arrivals)
		s.ExpiresAt = analytics.HourExpiry(s.Start, s.Arrivals, r)
	},
	text: func(s *analytics.Stats) any {
		return struct {
			report.Figures
			Active int64
			analytics.Arrivals
		}{report.FiguresOf(s), s.ActiveVisitors, s.Arrivals}
	},
}

var kindOfBreakdown = itemKind[analytics.Breakdown, analytics.BreakdownKey]{
	entity: analytics.Breakdowns,
	states: rows[analytics.Breakdown, analytics.BreakdownKey]{analytics.Breakdowns},
	zero:   func(k analytics.BreakdownKey) analytics.Breakdown { return analytics.Breakdown{BreakdownKey: k} },
	want:   func(d *analytics.Derived) map[analytics.BreakdownKey]*analytics.Breakdown { return d.Breakdowns },
	same:   matchesBreakdown,
	empty:  (*analytics.Breakdown).Empty,
	finish: finishBreakdown,
	text:   func(b *analytics.Breakdown) any { return b },
}

func sameVisitor(a, b *analytics.Visitor) bool {
	return bytes.Equal(a.Visits.Append(nil), b.Visits.Append(nil)) && slices.Equal(a.Scrolls, b.Scrolls) && a.EngagedAt == b.EngagedAt && a.Since == b.Since && a.Until == b.Until
}

func sameSession(a, b *analytics.Session) bool {
	x, y := *a, *b
	x.ExpiresAt, y.ExpiresAt = time.Time{}, time.Time{}
	return x == y
}

// sameStats compares stored with wanted statistics. Stored ones may have a wider range of arrivals,
// of events that were erased. An hour that lost all its events remains as an item with zero counts.
func sameStats(stored, want *analytics.Stats) bool {
	if !stored.Same(want) || stored.ActiveVisitors != want.ActiveVisitors || !bytes.Equal(stored.Active, want.Active) {
		return false
	}
	return want.Until == 0 || stored.Day == want.Day && stored.Since != 0 && stored.Since <= want.Since && stored.Until >= want.Until
}

// matchesBreakdown compares a stored breakdown with the unbounded counts. Which values were kept
// depends on the order of their arrival. But every kept value must have its exact count, the rest
// must be the exact sum of the others, and only a breakdown that was once full may have a rest.
func matchesBreakdown(stored, want *analytics.Breakdown) bool {
	var placed tally.Count
	for v, c := range stored.Values {
		if c != want.Values[v] {
			return false
		}
		placed = placed.Plus(c)
	}
	if stored.Other != want.Values.Sum().Plus(want.Other).Minus(placed) || stored.Until < want.Until {
		return false
	}
	return stored.Full || stored.Other == tally.Count{} && len(stored.Values) == len(want.Values) && stored.Day == want.Day
}

// finishBreakdown limits the values, and keeps the expiry of the stored item if that is later.
func finishBreakdown(want, stored *analytics.Breakdown, r analytics.Retention) {
	all := want.Values
	want.Values = nil
	want.Take(all)
	want.Arrivals.Merge(stored.Arrivals)
	want.ExpiresAt = analytics.HourExpiry(want.Start, want.Arrivals, r)
}

// differenceOf describes the difference between a stored and a wanted item.
func differenceOf[S any, K comparable](kind itemKind[S, K], key K, stored fold.Stored[S], want *S) Difference {
	d := Difference{Entity: kind.entity.Name(), Key: keyText(kind.entity, key), Kind: Wrong}
	switch there := !kind.empty(&stored.State); {
	case !there:
		d.Kind = Missing
	case kind.empty(want):
		d.Kind = Extra
	}
	if d.Kind != Missing {
		d.Stored = shorten(kind.text(&stored.State))
	}
	if d.Kind != Extra {
		d.Want = shorten(kind.text(want))
	}
	return d
}

// keyText returns the partition and sort key of an item.
func keyText[S any, K comparable](e *table.Entity[S, K], key K) string {
	k, err := e.Key(key)
	if err != nil {
		return fmt.Sprint(key)
	}
	var names struct{ PK, SK string }
	if err := attributevalue.UnmarshalMap(k, &names); err != nil {
		return fmt.Sprint(key)
	}
	return names.PK + " " + names.SK
}

func shorten(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(text) > maxListing {
		return string(bytes.ToValidUTF8(text[:maxListing], nil)) + "…"
	}
	return string(text)
}
