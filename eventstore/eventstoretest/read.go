package eventstoretest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/onefold/onefold/eventstore"
)

func reading(w *suite) {
	id := order("1")
	for _, name := range []string{"A", "B", "C", "D"} {
		w.append(id, eventstore.Any(), name)
	}
	w.wantStream(id, "2 B 3 C 4 D", eventstore.From(2))
	w.wantStream(id, "2 B 3 C", eventstore.From(2), eventstore.To(3))
	w.wantStream(id, "4 D 3 C 2 B 1 A", eventstore.Backwards())
	w.wantStream(id, "3 C 2 B", eventstore.Backwards(), eventstore.From(2), eventstore.To(3))
	third, upTo := w.events(id)[2].RecordedAt, ""
	for _, e := range w.events(id) {
		if !e.RecordedAt.After(third) { // events of the same millisecond cannot be told apart
			upTo += fmt.Sprintf("%d %s ", e.Seq, e.EventType)
		}
	}
	w.wantStream(id, strings.TrimSpace(upTo), eventstore.AsOf(third))
	w.wantStream(id, "", eventstore.AsOf(third.AddDate(-1, 0, 0)))
	w.wantStream(id, "", eventstore.From(5))
	w.wantStream(id, "", eventstore.From(3), eventstore.To(2))
	w.wantStream(order("none"), "")
	Remove(w, w.table, id, 2)
	for name, options := range map[string][]eventstore.ReadOption{"forwards": nil, "backwards": {eventstore.Backwards()}, "from the hole": {eventstore.From(2)}} {
		var last error
		for _, err := range w.writer().Read(w.ctx, id, options...) {
			last = err
		}
		if !errors.Is(last, eventstore.ErrHole) {
			w.Errorf("%s over a hole: %v", name, last)
		}
	}
}

// Eight writers increment a counter to 200, each from the state that it loaded: nobody decides on
// an outdated state.
func transact(w *suite) {
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
					_, err := eventstore.Transact(w.ctx, w.writer(), order("1"), counter, grow)
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
	if at, err := eventstore.Load(w.ctx, w.writer(), order("1"), counter); err != nil || at.State != 200 || at.Version != 200 {
		w.Errorf("%+v, %v", at, err)
	}
}

// A repeated command does not decide on its own effects, and changes nothing.
func transactAgain(w *suite) {
	for range 3 {
		at, err := eventstore.Transact(w.ctx, w.writer(), order("1"), tally, func(eventstore.Loaded[map[string]int]) ([]eventstore.NewEvent, error) {
			return said("Paid"), nil
		}, eventstore.CommitID("pay"))
		if err != nil || at.State["Paid"] != 1 {
			w.Fatalf("%+v, %v", at, err)
		}
	}
	refused := errors.New("refused")
	_, err := eventstore.Transact(w.ctx, w.writer(), order("1"), tally, func(eventstore.Loaded[map[string]int]) ([]eventstore.NewEvent, error) { return nil, refused })
	if !errors.Is(err, refused) {
		w.Error(err)
	}
	w.wantStream(order("1"), "1 Paid")
}

// A load starts with the snapshot, unless it is of another version of the fold. A snapshot never
// goes back.
func snapshots(w *suite) {
	id := order("1")
	for range 10 {
		w.append(id, eventstore.Any(), "E")
	}
	at, err := eventstore.Load(w.ctx, w.keyed(), id, tally)
	w.must(err)
	if saved, err := eventstore.SaveSnapshot(w.ctx, w.keyed(), tally, at); !saved || err != nil {
		w.Fatal(saved, err)
	}
	w.append(id, eventstore.Exact(10), "F")
	now, err := eventstore.Load(w.ctx, w.keyed(), id, tally)
	if err != nil || now.Read != 1 || now.Version != 11 || now.State["E"] != 10 || now.State["F"] != 1 {
		w.Errorf("%+v, %v", now, err)
	}
	other := tally
	other.Version = 2
	if at, err := eventstore.Load(w.ctx, w.keyed(), id, other); err != nil || at.Read != 11 || at.State["E"] != 10 {
		w.Errorf("with another reducer: %+v, %v", at, err)
	}
	for range 2 {
		if _, err := eventstore.SaveSnapshot(w.ctx, w.keyed(), tally, now); err != nil {
			w.Fatal(err)
		}
	}
	if saved, err := eventstore.SaveSnapshot(w.ctx, w.keyed(), tally, at); saved || err != nil {
		w.Errorf("a snapshot went back: %v, %v", saved, err)
	}
	if again, err := eventstore.Load(w.ctx, w.keyed(), id, tally); err != nil || again.Read != 0 || again.Version != 11 {
		w.Errorf("%+v, %v", again, err)
	}
}

// An event is read with everything that it was appended with.
func allFieldsAreRead(w *suite) {
	at := time.Date(2020, 2, 29, 23, 59, 59, 999e6, time.UTC)
	envelope := eventstore.Envelope{Correlation: "c#1", Causation: "c2", Actor: "ada", Tenant: "t", Metadata: map[string]string{"k#": "v", "empty": ""}}
	for i, payload := range [][]byte{[]byte(`{"a": 1}`), {0xff, 0}, nil, []byte("\x00text")} {
		c, err := w.writer().Append(w.ctx, order("1"), eventstore.Exact(int64(i)), []eventstore.NewEvent{{Type: "E", Schema: 7, OccurredAt: at, Payload: payload, Envelope: envelope}})
		w.must(err)
		e := w.events(order("1"), eventstore.From(c.First))[0]
		if e.EventType != "E" || e.Schema != 7 || !e.OccurredAt.Equal(at) || !bytes.Equal(e.Payload, payload) || !reflect.DeepEqual(e.Envelope, envelope) ||
			e.CommitID != c.CommitID || e.Nth != 0 || e.Of != 1 || len(e.EventID) != 26 || e.RecordedAt.IsZero() {
			w.Errorf("%+v", e)
		}
	}
}
