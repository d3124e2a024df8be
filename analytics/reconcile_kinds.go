package analytics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// kindOf is one kind of derived items: how they are compared and replaced.
type kindOf[S any, K comparable] struct {
	entity *table.Entity[S, K]
	zero   func(K) S
	want   func(*derived) map[K]*S
	same   func(stored, want *S) bool
	empty  func(*S) bool                      // nothing was ever counted in it: as if it were not there
	finish func(want, stored *S, r Retention) // makes what is wanted ready to be written over what is stored
	text   func(*S) any                       // what people should see of it
}

var kindOfVisitor = kindOf[Visitor, VisitorKey]{
	entity: Visitors,
	zero:   func(k VisitorKey) Visitor { return Visitor{VisitorKey: k} },
	want:   func(d *derived) map[VisitorKey]*Visitor { return d.visitors },
	same:   sameVisitor,
	empty:  func(v *Visitor) bool { return len(v.Visits) == 0 && len(v.Scrolls) == 0 },
	finish: func(v, _ *Visitor, r Retention) { v.ExpiresAt = time.Unix(v.Until, 0).Add(r.Raw()) },
	text:   func(v *Visitor) any { return v.Visits },
}

var kindOfSession = kindOf[Session, SessionKey]{
	entity: Sessions,
	zero:   func(k SessionKey) Session { return Session{SessionKey: k} },
	want:   func(d *derived) map[SessionKey]*Session { return d.sessions },
	same:   sameSession,
	empty:  func(s *Session) bool { return s.Start == 0 },
	finish: func(s, _ *Session, r Retention) { s.ExpiresAt = time.Unix(s.Until, 0).Add(r.Of(Hour)) },
	text:   func(s *Session) any { return s },
}

var kindOfStats = kindOf[Stats, StatsKey]{
	entity: StatsItems,
	zero:   func(k StatsKey) Stats { return Stats{StatsKey: k} },
	want:   func(d *derived) map[StatsKey]*Stats { return d.stats },
	same:   sameStats,
	empty: func(s *Stats) bool {
		return sameCounts(s, &Stats{}) && s.ActiveVisitors == 0 && len(s.Active) == 0 && s.Until == 0
	},
	finish: func(s, stored *Stats, r Retention) {
		s.Day = max(s.Day, stored.Day)
		s.Kept.merge(stored.Kept)
		s.ExpiresAt = hourExpiry(s.Start, s.Kept, r)
	},
	text: func(s *Stats) any {
		return struct {
			Figures
			Active int64
			Kept
		}{figures(s), s.ActiveVisitors, s.Kept}
	},
}

var kindOfBreakdown = kindOf[Breakdown, BreakdownKey]{
	entity: Breakdowns,
	zero:   func(k BreakdownKey) Breakdown { return Breakdown{BreakdownKey: k} },
	want:   func(d *derived) map[BreakdownKey]*Breakdown { return d.breakdowns },
	same:   fitsBreakdown,
	empty:  (*Breakdown).empty,
	finish: finishBreakdown,
	text:   func(b *Breakdown) any { return b },
}

func sameVisitor(a, b *Visitor) bool {
	x, errX := a.Visits.MarshalDynamoDBAttributeValue()
	y, errY := b.Visits.MarshalDynamoDBAttributeValue()
	return errX == nil && errY == nil && reflect.DeepEqual(x, y) && slices.Equal(a.Scrolls, b.Scrolls) && a.EngagedAt == b.EngagedAt && a.Since == b.Since && a.Until == b.Until
}

func sameSession(a, b *Session) bool {
	x, y := *a, *b
	x.ExpiresAt, y.ExpiresAt = time.Time{}, time.Time{}
	return x == y
}

// sameStats compares what is stored with what is wanted. What is stored may know of earlier and later arrivals: those of
// events that were erased. An hour that has lost all of its events stays, with nothing counted.
func sameStats(stored, want *Stats) bool {
	if !sameCounts(stored, want) || stored.ActiveVisitors != want.ActiveVisitors || !bytes.Equal(stored.Active, want.Active) {
		return false
	}
	return want.Until == 0 || stored.Day == want.Day && stored.Since != 0 && stored.Since <= want.Since && stored.Until >= want.Until
}

// fitsBreakdown compares what is stored with the unbounded counts that are wanted. Which values found a place depends
// on when they came, but each that did must have exactly its count, and the rest must be exactly the sum of the others;
// only what was full once may have a rest.
func fitsBreakdown(stored, want *Breakdown) bool {
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

// finishBreakdown bounds the values, and keeps the item for as long as the stored one would have been.
func finishBreakdown(want, stored *Breakdown, r Retention) {
	all := want.Values
	want.Values = nil
	tally.Bounded{Values: &want.Values, Other: &want.Other, Full: &want.Full}.Merge(all)
	want.Kept.merge(stored.Kept)
	want.ExpiresAt = hourExpiry(want.Start, want.Kept, r)
}

// differenceOf describes how a stored item differs from what is wanted.
func differenceOf[S any, K comparable](kind kindOf[S, K], key K, stored fold.Stored[S], want *S) Difference {
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

// keyText is the key as it is stored.
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
