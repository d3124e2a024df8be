package eventstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/onefold/onefold/eventstore"
)

// Eight writers let a counter grow to 200, each on what it knows: nobody decides on the past.
func TestTransact(t *testing.T) {
	both(t, func(w *world) {
		counter := eventstore.Fold[int]{Apply: func(n int, e eventstore.Event) (int, error) {
			var to int
			_, err := fmt.Sscan(string(e.Payload), &to)
			if err == nil && to != n+1 {
				err = fmt.Errorf("%d follows %d", to, n)
			}
			return to, err
		}}
		grow := func(at eventstore.Loaded[int]) ([]eventstore.NewEvent, error) {
			return []eventstore.NewEvent{{Type: "Grown", Payload: fmt.Append(nil, at.State+1)}}, nil
		}
		var writers sync.WaitGroup
		for range 8 {
			writers.Go(func() {
				for range 25 {
					for {
						_, err := eventstore.Transact(w.ctx, w.store, order("1"), counter, grow)
						if errors.Is(err, eventstore.ErrBusy) {
							continue
						}
						if err != nil {
							w.Error(err)
						}
						break
					}
				}
			})
		}
		writers.Wait()
		if at, err := eventstore.Load(w.ctx, w.store, order("1"), counter); err != nil || at.State != 200 || at.Version != 200 {
			w.Errorf("%+v, %v", at, err)
		}
	})
}

// A command that is repeated after all decides on its own effects, and changes nothing.
func TestTransactAgain(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	for range 3 {
		at, err := eventstore.Transact(w.ctx, w.store, order("1"), tally, func(eventstore.Loaded[map[string]int]) ([]eventstore.NewEvent, error) {
			return said("Paid"), nil
		}, eventstore.CommitID("pay"))
		if err != nil || at.State["Paid"] != 1 {
			t.Fatalf("%+v, %v", at, err)
		}
	}
	refused := errors.New("refused")
	_, err := eventstore.Transact(w.ctx, w.store, order("1"), tally, func(eventstore.Loaded[map[string]int]) ([]eventstore.NewEvent, error) { return nil, refused })
	if !errors.Is(err, refused) {
		t.Error(err)
	}
	w.isStory(order("1"), "1 Paid")
}

// A load begins with the snapshot, but not with one of another reducer; a snapshot never goes back.
func TestSnapshots(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	id := order("1")
	for range 10 {
		w.append(id, eventstore.Any(), "E")
	}
	at, err := eventstore.Load(w.ctx, w.store, id, tally)
	w.must(err)
	if saved, err := eventstore.SaveSnapshot(w.ctx, w.store, tally, at); !saved || err != nil {
		t.Fatal(saved, err)
	}
	w.append(id, eventstore.Exact(10), "F")
	now, err := eventstore.Load(w.ctx, w.store, id, tally)
	if err != nil || now.Read != 1 || now.Version != 11 || now.State["E"] != 10 || now.State["F"] != 1 {
		t.Errorf("%+v, %v", now, err)
	}
	other := tally
	other.Version = 2
	if at, err := eventstore.Load(w.ctx, w.store, id, other); err != nil || at.Read != 11 || at.State["E"] != 10 {
		t.Errorf("with another reducer: %+v, %v", at, err)
	}
	for range 2 {
		if _, err := eventstore.SaveSnapshot(w.ctx, w.store, tally, now); err != nil {
			t.Fatal(err)
		}
	}
	if saved, err := eventstore.SaveSnapshot(w.ctx, w.store, tally, at); saved || err != nil {
		t.Errorf("a snapshot went back: %v, %v", saved, err)
	}
	if again, err := eventstore.Load(w.ctx, w.store, id, tally); err != nil || again.Read != 0 || again.Version != 11 {
		t.Errorf("%+v, %v", again, err)
	}
}
