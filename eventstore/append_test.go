package eventstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

func TestExpectedVersions(t *testing.T) {
	both(t, func(w *world) {
		for i, c := range []struct {
			expected eventstore.Expected
			fine     bool
		}{
			{eventstore.Exists(), false}, {eventstore.Exact(3), false}, {eventstore.NoStream(), true},
			{eventstore.NoStream(), false}, {eventstore.Exact(0), false}, {eventstore.Exact(2), false}, {eventstore.Exact(1), true},
			{eventstore.Exists(), true}, {eventstore.Any(), true}, {eventstore.Exact(3), false}, {eventstore.Exact(4), true},
		} {
			_, err := w.store.Append(w.ctx, order("1"), c.expected, said("E"))
			if conflict := errors.Is(err, eventstore.ErrConflict); conflict == c.fine || !conflict && err != nil {
				w.Errorf("append %d, expecting %s: %v", i, c.expected, err)
			}
		}
		w.isStory(order("1"), "1 E 2 E 3 E 4 E 5 E")
		w.append(order("2"), eventstore.Any(), "E")
		w.isStory(order("2"), "1 E")
	})
}

// A conflict says what came in between, or that the stream is shorter than somebody thought.
func TestConflictSaysWhatHappened(t *testing.T) {
	both(t, func(w *world) {
		id := order("1")
		for _, name := range []string{"Placed", "Paid", "Shipped"} {
			w.append(id, eventstore.Any(), name)
		}
		for _, c := range []struct {
			expected eventstore.Expected
			since    []string
		}{
			{eventstore.NoStream(), []string{"Placed", "Paid", "Shipped"}}, {eventstore.Exact(2), []string{"Shipped"}}, {eventstore.Exact(9), nil},
		} {
			_, err := w.store.Append(w.ctx, id, c.expected, said("X"))
			conflict := (*eventstore.Conflict)(nil)
			if !errors.As(err, &conflict) || conflict.Actual != 3 || !slices.Equal(types(conflict.Since), c.since) {
				w.Errorf("%s: %v, %+v", c.expected, err, conflict)
			}
		}
	})
}

// Whoever repeats an append with its id gets the first result, whatever version it expects then and whatever came after.
func TestCommitIDs(t *testing.T) {
	both(t, func(w *world) {
		id := order("1")
		w.append(id, eventstore.Any(), "Placed")
		first, err := w.store.Append(w.ctx, id, eventstore.Exact(1), said("Paid"), eventstore.CommitID("pay"))
		w.must(err)
		for range 20 {
			w.append(id, eventstore.Any(), "Noted")
		}
		for _, expected := range []eventstore.Expected{eventstore.Exact(1), eventstore.Exact(22), eventstore.Any(), eventstore.Exists()} {
			c, err := w.store.Append(w.ctx, id, expected, said("Paid"), eventstore.CommitID("pay"))
			if err != nil || !c.Again || c.First != first.First || c.Version != 2 {
				w.Errorf("%s: %+v, %v", expected, c, err)
			}
		}
		if strings.Count(w.story(id), "Paid") != 1 {
			w.Errorf("story: %s", w.story(id))
		}
	})
}

func TestCommitIDOfAnotherAppend(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	_, err := w.store.Append(w.ctx, order("1"), eventstore.NoStream(), said("A", "B"), eventstore.CommitID("c"))
	w.must(err)
	_, err = w.store.Append(w.ctx, order("1"), eventstore.Any(), said("A"), eventstore.CommitID("c"))
	if !errors.Is(err, eventstore.ErrCommitReused) {
		t.Errorf("another append with the same id: %v", err)
	}
	_, err = w.store.Append(w.ctx, order("2"), eventstore.Any(), said("A"), eventstore.CommitID("c")) // of another stream
	w.must(err)
}

// An append is all or none, of 1 to 99 events.
func TestManyEventsAtOnce(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	c, err := w.store.Append(w.ctx, order("1"), eventstore.NoStream(), said(slices.Repeat([]string{"E"}, 99)...))
	if err != nil || c.First != 1 || c.Version != 99 {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := w.store.Append(w.ctx, order("1"), eventstore.Any(), said(slices.Repeat([]string{"E"}, 100)...)); !errors.Is(err, eventstore.ErrTooLarge) {
		t.Errorf("100 events: %v", err)
	}
	large := said("A", "B")
	large[1].Payload = bytes.Repeat([]byte("x"), 400<<10)
	if _, err := w.store.Append(w.ctx, order("2"), eventstore.NoStream(), large); !errors.Is(err, eventstore.ErrTooLarge) {
		t.Errorf("an event of more than 400 KB: %v", err)
	}
	var huge []eventstore.NewEvent
	for range 12 {
		huge = append(huge, eventstore.NewEvent{Type: "E", Payload: bytes.Repeat([]byte("x"), 380<<10)})
	}
	if _, err := w.store.Append(w.ctx, order("2"), eventstore.NoStream(), huge); !errors.Is(err, eventstore.ErrTooLarge) {
		t.Errorf("more than 4 MB: %v", err)
	}
	w.isStory(order("2"), "")
	for range 9 {
		if _, err := w.store.Append(w.ctx, order("2"), eventstore.Any(), huge[:9]); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(w.story(order("2")), "E"); n != 81 {
		t.Errorf("%d of 81 events of 30 MB are read", n)
	}
}

func TestItemOfExactly400KB(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	e := said("E")
	size := func(n int) error {
		e[0].Payload = bytes.Repeat([]byte("x"), n)
		_, err := w.store.Append(w.ctx, order(fmt.Sprint(n)), eventstore.NoStream(), e)
		return err
	}
	least, most := 390<<10, 400<<10 // the first is stored, the other is not
	for most-least > 1 {
		if n := (least + most) / 2; size(n) == nil {
			least = n
		} else {
			most = n
		}
	}
	if err := size(most); !errors.Is(err, eventstore.ErrTooLarge) {
		t.Errorf("a payload of %d bytes: %v", most, err)
	}
	w.isStory(order(fmt.Sprint(most)), "")
	w.isStory(order(fmt.Sprint(least)), "1 E")
}

func TestClosedStreams(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.append(order("1"), eventstore.NoStream(), "A")
	w.must(w.store.Close(w.ctx, order("1")))
	for _, expected := range []eventstore.Expected{eventstore.Any(), eventstore.Exact(1), eventstore.Exists(), eventstore.NoStream()} {
		if _, err := w.store.Append(w.ctx, order("1"), expected, said("B")); !errors.Is(err, eventstore.ErrClosed) {
			t.Errorf("%s: %v", expected, err)
		}
	}
	w.isStory(order("1"), "1 A")
	w.must(w.store.Close(w.ctx, order("1")))
	w.must(w.store.Delete(w.ctx, order("1")))
	w.must(w.store.Delete(w.ctx, order("1")))
	if err := w.store.Close(w.ctx, order("1")); !errors.Is(err, eventstore.ErrClosed) {
		t.Errorf("closing a deleted stream: %v", err)
	}
	if err := w.store.Close(w.ctx, order("none")); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("closing no stream: %v", err)
	}
}

func TestReservations(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	email := eventstore.Reserve("email", "a#b@example.org")
	_, err := w.store.Append(w.ctx, order("1"), eventstore.NoStream(), said("A"), email)
	w.must(err)
	if _, err := w.store.Append(w.ctx, order("2"), eventstore.NoStream(), said("A"), email); !errors.Is(err, eventstore.ErrReserved) {
		t.Errorf("a value that is taken: %v", err)
	}
	w.isStory(order("2"), "")
	_, err = w.store.Append(w.ctx, order("1"), eventstore.Exact(1), said("B"), email) // it has it already
	w.must(err)
	if owner, err := w.store.OwnerOf(w.ctx, "email", "a#b@example.org"); err != nil || owner != "order/1" {
		t.Errorf("owner: %q, %v", owner, err)
	}
	if _, err := w.store.Append(w.ctx, order("2"), eventstore.Any(), said("A"), eventstore.Release("email", "a#b@example.org")); !errors.Is(err, eventstore.ErrReserved) {
		t.Errorf("releasing another's value: %v", err)
	}
	_, err = w.store.Append(w.ctx, order("1"), eventstore.Any(), said("C"), eventstore.Release("email", "a#b@example.org"))
	w.must(err)
	_, err = w.store.Append(w.ctx, order("2"), eventstore.NoStream(), said("A"), email)
	w.must(err)
}

// The head says which types of events the last append had.
func TestHeadSaysTypesOfTheLastAppend(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	for i, types := range [][]string{{"Placed"}, {"Paid", "Noted", "Paid"}, {"Shipped"}} {
		w.append(order("1"), eventstore.Any(), types...)
		slices.Sort(types)
		if h, err := w.store.Head(w.ctx, order("1")); err != nil || !slices.Equal(h.LastTypes, slices.Compact(types)) {
			t.Errorf("append %d: %+v, %v", i, h, err)
		}
	}
}

func TestNamesThatCannotBe(t *testing.T) {
	both(t, func(w *world) {
		for _, id := range []eventstore.ID{{}, {"order", ""}, {"", "1"}, {"order", "a#b"}, {"o#", "1"}, {"order", strings.Repeat("x", 257)}, {"order", "\xff"}} {
			if _, err := w.store.Append(w.ctx, id, eventstore.Any(), said("A")); !errors.Is(err, eventstore.ErrInvalid) {
				w.Errorf("%+v: %v", id, err)
			}
		}
		for _, name := range []string{"", "a#b", strings.Repeat("x", 129)} {
			if _, err := w.store.Append(w.ctx, order("1"), eventstore.Any(), said(name)); !errors.Is(err, eventstore.ErrInvalid) {
				w.Errorf("type %q: %v", name, err)
			}
		}
		if _, err := w.store.Append(w.ctx, order("1"), eventstore.Any(), nil); !errors.Is(err, eventstore.ErrInvalid) {
			w.Errorf("no events: %v", err)
		}
		// Other case, another type: other streams.
		w.append(order("a"), eventstore.NoStream(), "A")
		w.append(order("A"), eventstore.NoStream(), "B")
		w.append(eventstore.ID{Type: "Order", ID: "a"}, eventstore.NoStream(), "C")
		w.isStory(order("a"), "1 A")
	})
}

func TestReading(t *testing.T) {
	both(t, func(w *world) {
		id := order("1")
		for _, name := range []string{"A", "B", "C", "D"} {
			w.append(id, eventstore.Any(), name)
			w.db.Advance(1e9)
		}
		w.isStory(id, "2 B 3 C 4 D", eventstore.From(2))
		w.isStory(id, "2 B 3 C", eventstore.From(2), eventstore.To(3))
		w.isStory(id, "4 D 3 C 2 B 1 A", eventstore.Backwards())
		w.isStory(id, "3 C 2 B", eventstore.Backwards(), eventstore.From(2), eventstore.To(3))
		w.isStory(id, "1 A 2 B 3 C", eventstore.AsOf(w.db.Now().Add(-15e8)))
		w.isStory(id, "", eventstore.From(5))
		w.isStory(id, "", eventstore.From(3), eventstore.To(2))
		w.isStory(order("none"), "")
		w.must(eventstore.Events.Delete(w.ctx, w.table, eventstore.EventKey{ID: id, Seq: 2}))
		for name, options := range map[string][]eventstore.ReadOption{"forwards": nil, "backwards": {eventstore.Backwards()}, "from the hole": {eventstore.From(2)}} {
			var last error
			for _, err := range w.store.Read(w.ctx, id, options...) {
				last = err
			}
			if !errors.Is(last, eventstore.ErrHole) {
				w.Errorf("%s over a hole: %v", name, last)
			}
		}
	})
}

// Whatever goes wrong, before the commit or after it, an append that is repeated with its id happens once.
func TestOutcomeUnknown(t *testing.T) {
	for _, effect := range []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer, enginetest.Throttle, enginetest.Conflict} {
		both(t, func(w *world) {
			w.db.Inject(enginetest.Fault{Effect: effect, Writes: true, Every: 3})
			for i := range 12 {
				id := fmt.Sprintf("c%d", i)
				var c eventstore.Commit
				err := errors.New("not tried")
				for try := 0; err != nil && try < 20; try++ {
					c, err = w.store.Append(w.ctx, order("1"), eventstore.Any(), said("E"+id), eventstore.CommitID(id))
				}
				if err != nil || c.First != int64(i)+1 || c.Version != c.First {
					w.Fatalf("effect %v, append %d: %+v, %v", effect, i, c, err)
				}
			}
			w.db.Heal()
			if n := len(strings.Fields(w.story(order("1")))); n != 24 {
				w.Errorf("effect %v: %s", effect, w.story(order("1")))
			}
		})
	}
}

// Many writers on one aggregate and on several, each append with some events, some repeated: no gap, nothing twice,
// every commit where its result says.
func TestConcurrentWriters(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	both(t, func(w *world) {
		oneByOne := w.Name() == "TestConcurrentWriters/one_by_one"
		var mu sync.Mutex
		results := map[string]eventstore.Commit{}
		var writers sync.WaitGroup
		for n := range 8 {
			writers.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(n)))
				for i := range 25 {
					events, id := 1+r.IntN(3), order(fmt.Sprint(r.IntN(3)))
					if oneByOne {
						events = 1
					}
					commit := fmt.Sprintf("%d-%d", n, i)
					for range 1 + r.IntN(2) {
						c, err := w.store.Append(w.ctx, id, eventstore.Any(), said(slices.Repeat([]string{commit}, events)...), eventstore.CommitID(commit))
						if errors.Is(err, eventstore.ErrBusy) {
							continue
						}
						if err != nil {
							w.Errorf("%s: %v", commit, err)
							return
						}
						mu.Lock()
						if was, ok := results[id.ID+" "+commit]; ok && was != (eventstore.Commit{CommitID: c.CommitID, First: c.First, Version: c.Version, Again: was.Again}) {
							w.Errorf("%s: %+v, then %+v", commit, was, c)
						}
						results[id.ID+" "+commit] = c
						mu.Unlock()
					}
				}
			})
		}
		writers.Wait()
		found := 0
		for n := range 3 {
			for e, err := range w.store.Read(w.ctx, order(fmt.Sprint(n))) {
				w.must(err)
				c := results[fmt.Sprint(n)+" "+e.EventType]
				if found++; e.Seq < c.First || e.Seq > c.Version || e.CommitID != e.EventType {
					w.Errorf("event %d of %d, of commit %s, which says %+v", e.Seq, n, e.CommitID, c)
				}
			}
		}
		want := int64(0)
		for _, c := range results {
			want += c.Version - c.First + 1
		}
		if int64(found) != want {
			w.Errorf("%d events, commits have %d", found, want)
		}
	})
}

// The same append, posted several times at once, happens once.
func TestSameAppendAtOnce(t *testing.T) {
	both(t, func(w *world) {
		for n := range 30 {
			var again sync.WaitGroup
			commits := make([]eventstore.Commit, 4)
			for i := range commits {
				again.Go(func() {
					var err error
					if commits[i], err = w.store.Append(w.ctx, order("1"), eventstore.Any(), said("E"), eventstore.CommitID(fmt.Sprint(n))); err != nil {
						w.Error(err)
					}
				})
			}
			again.Wait()
			for _, c := range commits {
				if c.Version != int64(n)+1 {
					w.Errorf("append %d: %+v", n, commits)
				}
			}
		}
	})
}
