package eventstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/table"
)

// chained runs a test on chains, with and without transactions.
func chained(t *testing.T, test func(*world)) {
	for name, o := range map[string]eventstore.Options{"transactions": {Chain: true}, "one by one": {Chain: true, PutMode: true}} {
		t.Run(name, func(t *testing.T) { test(newWorld(t, o)) })
	}
}

func (w *world) verify(id eventstore.ID, options ...eventstore.ReadOption) (n int, err error) {
	for _, err := range w.store.Read(w.ctx, id, append(options, eventstore.Verified())...) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// overwrite changes an item without the store's knowledge.
func overwrite[T, K any](w *world, e *table.Entity[T, K], k K, change func(*T)) {
	w.Helper()
	v, err := e.Get(w.ctx, w.table, k)
	w.must(err)
	change(&v)
	it, err := e.Encode(&v)
	w.must(err)
	_, err = w.db.PutItem(w.ctx, &dynamodb.PutItemInput{TableName: aws.String(w.table.Name()), Item: it})
	w.must(err)
}

// Whatever is changed in an event, verifying the chain names that event.
func TestChainFindsWhatWasChanged(t *testing.T) {
	for name, change := range map[string]func(*eventstore.Event){
		"payload":     func(e *eventstore.Event) { e.Payload = eventstore.Payload("other") },
		"type":        func(e *eventstore.Event) { e.EventType = "Other" },
		"schema":      func(e *eventstore.Event) { e.Schema = 2 },
		"time":        func(e *eventstore.Event) { e.OccurredAt = e.OccurredAt.Add(1e6) },
		"record time": func(e *eventstore.Event) { e.RecordedAt = e.RecordedAt.Add(1e6) },
		"actor":       func(e *eventstore.Event) { e.Actor = "other" },
		"cause":       func(e *eventstore.Event) { e.Causation, e.Correlation = e.Correlation, e.Causation },
		"metadata":    func(e *eventstore.Event) { e.Metadata = map[string]string{"ab": "c"} },
		"commit":      func(e *eventstore.Event) { e.CommitID = "other" },
		"no hash":     func(e *eventstore.Event) { e.Hash = nil },
	} {
		t.Run(name, func(t *testing.T) {
			chained(t, func(w *world) {
				for range 4 {
					_, err := w.store.Append(w.ctx, order("1"), eventstore.Any(), []eventstore.NewEvent{{
						Type: "E", Envelope: eventstore.Envelope{Correlation: "x", Metadata: map[string]string{"a": "bc"}},
					}})
					w.must(err)
				}
				if n, err := w.verify(order("1")); n != 4 || err != nil {
					t.Fatalf("%d events, %v", n, err)
				}
				eventstoretest.Tamper(w, w.table, order("1"), 2, func(e *eventstore.Event) bool { change(e); return true })
				if n, err := w.verify(order("1")); !errors.Is(err, eventstore.ErrChain) || n < 1 || n > 2 {
					t.Errorf("verified %d: %v", n, err)
				}
				w.isStory(order("1"), w.story(order("1"))) // it can still be read
			})
		})
	}
}

func TestChainFindsWhatIsMissing(t *testing.T) {
	w := newWorld(t, eventstore.Options{Chain: true})
	id := order("1")
	for range 4 {
		w.append(id, eventstore.Any(), "A", "B")
	}
	for _, from := range []int64{1, 2, 8, 9} {
		if n, err := w.verify(id, eventstore.From(from)); int64(n) != 9-from || err != nil {
			t.Errorf("from %d: %d, %v", from, n, err)
		}
	}
	eventstoretest.Remove(w, w.table, id, 8)
	if _, err := w.verify(id); !errors.Is(err, eventstore.ErrChain) {
		t.Errorf("the last one cut off: %v", err)
	}
	if n, err := w.verify(id, eventstore.To(7)); n != 7 || err != nil {
		t.Errorf("up to there: %d, %v", n, err)
	}
	overwrite(w, eventstore.Heads, id, func(h *eventstore.Head) { h.Version = 7 })
	if _, err := w.verify(id); !errors.Is(err, eventstore.ErrChain) {
		t.Errorf("and the head brought into line: %v", err)
	}
}

// A stream with a chain keeps it, whatever store appends. A stream without a chain may get one.
func TestChainIsKept(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	plain := w.store
	w.append(order("1"), eventstore.Any(), "A", "B")
	var err error
	w.store, err = eventstore.New(w.table, eventstore.Options{Chain: true})
	w.must(err)
	w.append(order("1"), eventstore.Exact(2), "C")
	w.append(order("1"), eventstore.Exact(3), "D")
	if n, err := w.verify(order("1")); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for _, expected := range []eventstore.Expected{eventstore.Exact(4), eventstore.Any(), eventstore.Exists()} {
		if _, err := plain.Append(w.ctx, order("1"), expected, said("X")); err != nil {
			t.Errorf("%s: %v", expected, err)
		}
	}
	if n, err := w.verify(order("1")); n != 7 || err != nil {
		t.Errorf("by a store without the option, too: %d, %v", n, err)
	}
	if _, err := w.store.Append(w.ctx, order("1"), eventstore.Exact(2), said("X")); !errors.Is(err, eventstore.ErrConflict) {
		t.Errorf("a conflict: %v", err)
	}
	for _, err := range w.store.Read(w.ctx, order("1"), eventstore.Backwards(), eventstore.Verified()) {
		if !errors.Is(err, eventstore.ErrInvalid) {
			t.Errorf("backwards: %v", err)
		}
	}
}

// The chain stays intact when several writers append at once.
func TestChainOfConcurrentWriters(t *testing.T) {
	chained(t, func(w *world) {
		var writers sync.WaitGroup
		for n := range 4 {
			writers.Go(func() {
				for i := range 10 {
					for {
						_, err := w.store.Append(w.ctx, order("1"), eventstore.Any(), said("E"), eventstore.CommitID(fmt.Sprint(n, i)))
						if err == nil {
							break
						}
						if !errors.Is(err, eventstore.ErrBusy) {
							w.Error(err)
							break
						}
					}
				}
			})
		}
		writers.Wait()
		if n, err := w.verify(order("1")); n != 40 || err != nil {
			w.Errorf("%d events, %v", n, err)
		}
	})
}

// The hashed bytes are part of the stored format and must not change.
func TestChainHashIsStable(t *testing.T) {
	at := time.Date(2026, 4, 20, 14, 0, 0, 123e6, time.UTC)
	e := eventstore.Event{EventKey: eventstore.EventKey{ID: order("1"), Seq: 7}, EventID: "id", EventType: "Paid", OccurredAt: at, RecordedAt: at,
		Payload: eventstore.Payload("{}"), Envelope: eventstore.Envelope{Metadata: map[string]string{"a": "1", "b": "2"}}, CommitID: "c", Of: 1}
	stored, err := eventstore.NewRecord([]eventstore.Event{e}, eventstore.RecordInfo{}).Events(e.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "3d2379f458c20d030dbadabbc49e9a81a9f4e2a25ddac2008b61d344788d5952"
	for _, e := range []*eventstore.Event{&e, &stored[0]} {
		if have := fmt.Sprintf("%x", eventstore.ChainHash([]byte("before"), e)); have != want {
			t.Errorf("%s, want %s", have, want)
		}
	}
}
