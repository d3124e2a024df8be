package analytics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/internal/referral"
	"github.com/onefold/onefold/table"
)

// TestFoldsInTheSimulator runs the chain of folds while workers crash, pause for hours, lose
// requests and take over each other's work. It compares all derived items with an undisturbed run
// and with a recount. Realtime and rollup marks are not compared, because they depend on when
// changes were committed, which differs between the two runs.
func TestFoldsInTheSimulator(t *testing.T) {
	var folds []*fold.Fold
	for _, f := range Folds(Config{Wait: 150 * time.Millisecond, Retention: func(string) Retention { return Retention{RawDays: 9999, HourDays: 9999} }}) {
		if f.Name() != "analytics.realtime" && f.Name() != "analytics.rollups" {
			folds = append(folds, f)
		}
	}
	var log writtenEvents
	foldsim.Test(t, foldsim.Scenario{
		Folds: folds,
		Write: func(w *foldsim.World) {
			if err := writeSimulated(w, &log); err != nil {
				t.Fatal(err)
			}
		},
		Check: func(w *foldsim.World) error { return checkSimulated(t, w, log.of(w), folds[0]) },
	}, 60)
}

// writeSimulated writes a new block, some of whose events may have been written before. Or it
// changes an existing block: it notes other goals on an event, takes it back, or deletes it
// afterwards.
func writeSimulated(w *foldsim.World, log *writtenEvents) error {
	history := w.History()
	if len(history) > 0 && w.Rand.IntN(4) == 0 {
		if it := w.Get(history[w.Rand.IntN(len(history))].Key); it != nil {
			return changeSimulated(w, it)
		}
	}
	events := []Event{*drawStored(w)}
	span := spanOf(timeIn(events[0].EventID))
	add := func(e Event) {
		if spanOf(timeIn(e.EventID)) == span && !slices.ContainsFunc(events, func(o Event) bool { return o.EventID == e.EventID }) {
			events = append(events, e)
		}
	}
	for range w.Rand.IntN(3) {
		e := drawStored(w)
		e.EventID = newULID(uint64(span)+w.Rand.Uint64N(uint64(blockSpan.Milliseconds())), 0, uint16(w.Rand.IntN(1000))).String()
		add(*e)
	}
	for _, e := range log.of(w) {
		if e.Erased = false; w.Rand.IntN(3) == 0 {
			add(e)
		}
	}
	blocks, err := Pack(events, w.Now())
	if err != nil {
		return err
	}
	it, err := Blocks.Encode(&blocks[0])
	if err == nil {
		w.Put(it)
	}
	return err
}

func changeSimulated(w *foldsim.World, it table.Item) error {
	block, err := Blocks.Decode(it)
	if err != nil {
		return err
	}
	events, err := block.Events()
	if err != nil {
		return err
	}
	i := w.Rand.IntN(len(events))
	e := &events[i]
	switch n := w.Rand.IntN(4); {
	case e.Erased:
		events = slices.Delete(events, i, i+1)
	case n == 0:
		e.Erased = true
	case !e.silent():
		e.Goals = nil
		if n > 1 {
			e.Goals = visits.Of([]visits.Conversion{{Goal: fmt.Sprint("goal", n), Count: 1, Revenue: "0.5"}})
		}
	}
	if len(events) == 0 {
		key, err := Blocks.Key(block.BlockKey)
		w.Delete(key)
		return err
	}
	if block.Body, err = eventBlocks.Append(nil, events); err != nil {
		return err
	}
	if it, err = Blocks.Encode(&block); err == nil {
		w.Put(it)
	}
	return err
}

// writtenEvents holds the events of a world's writes. Each write is decoded once, although the
// events are needed for every later write.
type writtenEvents struct {
	world  *foldsim.World
	read   int               // writes of the world's history that were decoded
	events map[string]Event  // by ID: the last state in the block that had it first
	first  map[string]string // the ID of that block
}

// of returns the events that were written to a world, by ID.
func (l *writtenEvents) of(w *foldsim.World) []Event {
	history := w.History()
	if l.world != w || l.read > len(history) {
		*l = writtenEvents{world: w, events: map[string]Event{}, first: map[string]string{}}
	}
	for _, h := range history[l.read:] {
		l.add(h.Item)
	}
	l.read = len(history)
	ids := slices.Sorted(maps.Keys(l.events))
	all := make([]Event, len(ids))
	for i, id := range ids {
		all[i] = l.events[id]
	}
	return all
}

func (l *writtenEvents) add(it table.Item) {
	block, err := Blocks.Decode(it)
	if err != nil || it == nil {
		return
	}
	all, err := block.Events()
	if err != nil {
		return
	}
	for _, e := range all {
		if l.first[e.EventID] == "" {
			l.first[e.EventID] = block.BlockID
		}
		if l.first[e.EventID] == block.BlockID {
			l.events[e.EventID] = e
		}
	}
}

// drawStored generates an event of one of three visitors.
func drawStored(w *foldsim.World) *Event {
	r := w.Rand
	at := noon.Add(-12 * time.Hour).Add(time.Duration(r.IntN(22*60)) * time.Minute)
	if r.IntN(2) == 0 {
		at = noon.Add(time.Duration(r.IntN(100)) * time.Minute)
	}
	e := testEvent(at, r.IntN(1000), fmt.Sprint("/", r.IntN(4)))
	e.VisitorID = fmt.Sprint("visitor", r.IntN(3))
	e.ZoneMinutes = 60
	switch r.IntN(8) {
	case 3:
		e.Name, e.EngagedMS, e.Scroll = EngagementEvent, 1500, 10*r.IntN(11)
	case 4:
		e.Goals = visits.Of([]visits.Conversion{{Goal: "goal", Once: true, Value: "3", Count: 1}})
		e.Counted, e.Properties = []string{"plan"}, map[string]string{"plan": "pro"}
	case 0:
		e.Name, e.Path, e.Revenue = "click", "", "0.5"
	case 5:
		e.Name, e.Vitals = VitalsEvent, Vitals{LCP: 700 * float64(r.IntN(8)), CLS: new(0.1 * float64(r.IntN(4)))}
	case 1:
		e.SessionID = fmt.Sprint("own", r.IntN(2))
	case 2:
		e.UserID = "ann"
	}
	e.Source = referral.Of([]string{"", "https://t.co/x"}[r.IntN(2)], referral.Address{Path: "/"}, nil)
	e.Country = []string{"DE", "FR", ""}[r.IntN(3)]
	return e
}

// checkSimulated compares the derived items with a recount of the written events, in which each
// event counts once.
func checkSimulated(t *testing.T, w *foldsim.World, written []Event, visitors *fold.Fold) error {
	events := make([]*Event, len(written))
	for i := range written {
		events[i] = &written[i]
	}
	want := expectedOf(t, events)
	return errors.Join(
		eachDerived(w, StatsItems, len(want.stats), func(s *Stats) bool {
			return equalStats(plainStats(*s), want.stats[s.Start]) && s.ActiveVisitors == int64(len(want.visitors[s.Start]))
		}),
		eachDerived(w, Breakdowns, want.breakdownItems(), func(b *Breakdown) bool {
			return maps.Equal(b.Values, want.breakdowns[b.Dimension][b.Start])
		}),
		eachDerived(w, Sessions, want.userSessions(), want.hasSession),
		checkVisitLog(w, visitors, want),
	)
}

// checkVisitLog compares the sessions of the visitors in the log with those of a recount.
func checkVisitLog(w *foldsim.World, visitors *fold.Fold, want *expected) error {
	states, err := w.States(visitors)
	n := 0
	for _, it := range states {
		v, err := Visitors.Decode(it)
		if err != nil {
			return err
		}
		sessions := sessionsOf(&v)
		n += len(sessions)
		for i := range sessions {
			if !want.hasSession(&sessions[i]) {
				return fmt.Errorf("the log has session %+v", sessions[i])
			}
		}
	}
	if n != len(want.sessions) {
		return fmt.Errorf("the log has %d sessions, want %d", n, len(want.sessions))
	}
	return err
}

func (r *expected) hasSession(s *Session) bool {
	id := s.SessionID
	s.SessionKey, s.Arrivals = SessionKey{}, Arrivals{}
	return *s == r.sessions[id]
}

// userSessions returns the number of sessions with a user.
func (r *expected) userSessions() (n int) {
	for _, s := range r.sessions {
		if s.UserID != "" {
			n++
		}
	}
	return n
}

func (r *expected) breakdownItems() (n int) {
	for _, hours := range r.breakdowns {
		n += len(hours)
	}
	return n
}

// eachDerived checks every item of an entity, and the number of items.
func eachDerived[T, K any](w *foldsim.World, e *table.Entity[T, K], n int, ok func(*T) bool) error {
	items := w.Derived(e.Name())
	if len(items) != n {
		return fmt.Errorf("%d items of %s, want %d", len(items), e.Name(), n)
	}
	for _, it := range items {
		v, err := e.Decode(it)
		if err != nil {
			return err
		}
		if !ok(&v) {
			return fmt.Errorf("%s: %+v is not what a recount says", e.Name(), v)
		}
	}
	return nil
}
