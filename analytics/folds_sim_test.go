package analytics

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/internal/referral"
	"github.com/onefold/onefold/table"
)

// TestFoldsInTheSimulator runs the chain of folds while workers crash, pause for hours, lose requests and take each
// other's work, and compares all that they derive with a quiet run and with a recount. Realtime and roll-up marks say
// when changes were committed, which the two runs do not have in common.
func TestFoldsInTheSimulator(t *testing.T) {
	var folds []*fold.Fold
	for _, f := range Folds(Config{Wait: 150 * time.Millisecond, Retention: func(string) Retention { return Retention{RawDays: 9999, HourDays: 9999} }}) {
		if f.Name() != "analytics.realtime" && f.Name() != "analytics.rollups" {
			folds = append(folds, f)
		}
	}
	foldsim.Test(t, foldsim.Scenario{
		Folds: folds,
		Write: func(w *foldsim.World) {
			if err := writeSimulated(w); err != nil {
				t.Fatal(err)
			}
		},
		Check: func(w *foldsim.World) error { return checkSimulated(t, w) },
	}, 60)
}

// writeSimulated writes a new event, or does with one that is there what is done with events: other goals are noted on
// it, it is taken back, or it is deleted after that.
func writeSimulated(w *foldsim.World) error {
	e := drawStored(w)
	history := w.History()
	if len(history) > 0 && w.Rand.IntN(4) == 0 {
		if old, err := Events.Decode(history[w.Rand.IntN(len(history))].Item); err == nil {
			e.EventKey = old.EventKey
		}
	}
	key, err := Events.Key(e.EventKey)
	if err != nil {
		return err
	}
	if it := w.Get(key); it != nil {
		return changeSimulated(w, key, it)
	}
	if slices.ContainsFunc(history, func(h foldsim.Write) bool { return reflect.DeepEqual(h.Key[table.AttrSK], key[table.AttrSK]) }) {
		return nil // it was deleted: its id does not come back
	}
	it, err := Events.Encode(e)
	if err == nil {
		w.Put(it)
	}
	return err
}

func changeSimulated(w *foldsim.World, key, it table.Item) error {
	e, err := Events.Decode(it)
	if err != nil {
		return err
	}
	switch n := w.Rand.IntN(4); {
	case e.Erased:
		w.Delete(key)
		return nil
	case n == 0:
		e.Erased = true
	case !e.silent():
		e.Goals = nil
		if n > 1 {
			e.Goals = visits.Of([]visits.Conversion{{Goal: fmt.Sprint("goal", n), Count: 1, Revenue: "0.5"}})
		}
	}
	if it, err = Events.Encode(&e); err == nil {
		w.Put(it)
	}
	return err
}

// simulated are the events that were written, each as it was last.
func simulated(w *foldsim.World) map[string]*Event {
	events := map[string]*Event{}
	for _, h := range w.History() {
		if e, err := Events.Decode(h.Item); err == nil && e.EventID != "" {
			events[e.EventID] = &e
		}
	}
	return events
}

// drawStored makes up an event of one of three visitors.
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

// checkSimulated compares what is derived with a recount of the events that were written, each once.
func checkSimulated(t *testing.T, w *foldsim.World) error {
	var all []*Event
	for _, e := range simulated(w) {
		all = append(all, e)
	}
	want := expectedOf(t, all)
	return errors.Join(
		eachDerived(w, StatsItems, len(want.stats), func(s *Stats) bool {
			return equalStats(plainStats(*s), want.stats[s.Start]) && s.ActiveVisitors == int64(len(want.visitors[s.Start]))
		}),
		eachDerived(w, Breakdowns, want.breakdownItems(), func(b *Breakdown) bool {
			return maps.Equal(b.Values, want.breakdowns[b.Dimension][b.Start])
		}),
		eachDerived(w, Sessions, len(want.sessions), func(s *Session) bool {
			id := s.SessionID
			s.SessionKey, s.Kept = SessionKey{}, Kept{}
			return *s == want.sessions[id]
		}),
	)
}

func (r *expected) breakdownItems() (n int) {
	for _, hours := range r.breakdowns {
		n += len(hours)
	}
	return n
}

// eachDerived checks every item of an entity, and how many there are.
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
