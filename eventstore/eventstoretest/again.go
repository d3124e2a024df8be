package eventstoretest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// Personal declares the fields and metadata of the suite's Billed events that Options.Secrets may
// seal, and the subject.
var Personal = struct {
	Event, Subject   string
	Fields, Metadata []string
}{"Billed", "by", []string{"name"}, []string{"ip"}}

// A commit ID identifies one append: another append with the same number of events is rejected, and
// nothing is written.
func commitIDOfOtherContent(w *suite) {
	at := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	first := eventstore.NewEvent{Type: "Billed", Payload: []byte(`{"by":"7","cents":1,"name":"Ada"}`), OccurredAt: at, Envelope: eventstore.Envelope{Actor: "ada", Metadata: map[string]string{"a": "1", "ip": "::1"}}}
	_, err := w.keyed().Append(w.ctx, order("1"), eventstore.NoStream(), []eventstore.NewEvent{first}, eventstore.CommitID("c"))
	w.must(err)
	for name, change := range map[string]func(*eventstore.NewEvent){
		"a type": func(e *eventstore.NewEvent) { e.Type = "Lent" }, "a payload": func(e *eventstore.NewEvent) { e.Payload = []byte(`{"by":"7","cents":2,"name":"Ada"}`) },
		"a name": func(e *eventstore.NewEvent) { e.Payload = []byte(`{"by":"7","cents":1,"name":"Grace"}`) }, "a person": func(e *eventstore.NewEvent) { e.Payload = []byte(`{"by":"8","cents":1,"name":"Ada"}`) },
		"a time": func(e *eventstore.NewEvent) { e.OccurredAt = at.AddDate(1, 0, 0) }, "no time": func(e *eventstore.NewEvent) { e.OccurredAt = time.Time{} },
		"an address": func(e *eventstore.NewEvent) { e.Metadata = map[string]string{"a": "1", "ip": "::2"} },
		"a version":  func(e *eventstore.NewEvent) { e.Schema = 2 }, "an actor": func(e *eventstore.NewEvent) { e.Actor = "" },
		"metadata": func(e *eventstore.NewEvent) { e.Metadata = map[string]string{"a": "2", "ip": "::1"} },
	} {
		e := first
		change(&e)
		for _, expected := range []eventstore.Expected{eventstore.Any(), eventstore.NoStream(), eventstore.Exact(1)} {
			if _, err := w.keyed().Append(w.ctx, order("1"), expected, []eventstore.NewEvent{e}, eventstore.CommitID("c")); !errors.Is(err, eventstore.ErrCommitReused) {
				w.Errorf("%s that is another, expecting %s: %v", name, expected, err)
			}
		}
	}
	if c, err := w.keyed().Append(w.ctx, order("1"), eventstore.Any(), []eventstore.NewEvent{first}, eventstore.CommitID("c")); err != nil || !c.Again {
		w.Errorf("the same again: %+v, %v", c, err)
	}
	w.wantStream(order("1"), "1 Billed")
	w.timeOfAnAppendAgain()
	if w.o.PutMode {
		return
	}
	parts := []eventstore.AppendTo{to(order("2"), eventstore.Any(), "A"), to(order("3"), eventstore.Any(), "A")}
	_, err = w.writer().AppendAll(w.ctx, parts, eventstore.CommitID("j"))
	w.must(err)
	if _, err := w.writer().AppendAll(w.ctx, parts[:1], eventstore.CommitID("j")); !errors.Is(err, eventstore.ErrCommitReused) {
		w.Errorf("one part of two: %v", err)
	}
	parts[1] = to(order("3"), eventstore.Any(), "B")
	if _, err := w.writer().AppendAll(w.ctx, parts, eventstore.CommitID("j")); !errors.Is(err, eventstore.ErrCommitReused) {
		w.Errorf("another part: %v", err)
	}
}

// An append without times is the same when repeated, and differs from one with a time.
func (w *suite) timeOfAnAppendAgain() {
	now, id := said("Noted"), order("timed")
	_, err := w.writer().Append(w.ctx, id, eventstore.Any(), now, eventstore.CommitID("t"))
	w.must(err)
	time.Sleep(2 * time.Millisecond) // in case the clock is the system's
	if c, err := w.writer().Append(w.ctx, id, eventstore.Any(), now, eventstore.CommitID("t")); err != nil || !c.Again {
		w.Errorf("the same without a time: %+v, %v", c, err)
	}
	now[0].OccurredAt = time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := w.writer().Append(w.ctx, id, eventstore.Any(), now, eventstore.CommitID("t")); !errors.Is(err, eventstore.ErrCommitReused) {
		w.Errorf("with a time: %v", err)
	}
}

// errDecided is the error of a decision that cannot be made twice.
var errDecided = errors.New("it is lent")

// lend returns a decision that succeeds once. Later it is refused, does nothing, or decides
// something else.
func lend(then string) func(eventstore.Loaded[map[string]int]) ([]eventstore.NewEvent, error) {
	return func(at eventstore.Loaded[map[string]int]) ([]eventstore.NewEvent, error) {
		switch {
		case at.State["Lent"] == 0:
			return said("Lent"), nil
		case then == "refuses":
			return nil, errDecided
		case then == "does nothing":
			return nil, nil
		}
		return said("Asked"), nil
	}
}

// A repeated command returns the result of the first time, whatever would be decided now and
// whatever was appended since.
func commandsAgain(w *suite) {
	for _, then := range []string{"refuses", "does nothing", "decides otherwise"} {
		id := order(then)
		w.append(id, eventstore.NoStream(), "Bought")
		for try := range 3 {
			at, err := eventstore.Transact(w.ctx, w.writer(), id, tally, lend(then), eventstore.CommitID("cmd-1"))
			if err != nil || at.Version != 2 || at.State["Lent"] != 1 || at.State["Noted"] != 0 {
				w.Errorf("who %s, time %d: %+v, %v", then, try+1, at, err)
			}
			w.append(id, eventstore.Any(), "Noted")
		}
		if at, err := eventstore.Transact(w.ctx, w.writer(), id, tally, lend("refuses"), eventstore.CommitID("cmd-2")); !errors.Is(err, errDecided) || at.Version != 5 {
			w.Errorf("another command: %+v, %v", at, err)
		}
		w.wantStream(id, "1 Bought 2 Lent 3 Noted 4 Noted 5 Noted")
	}
}

// Several writers receive the same commands concurrently, and some lose answers: each command
// happens once, and all writers get the same results.
func concurrentCommands(w *suite) {
	lost, err := eventstore.New(table.New(&lossy{API: w.table.API()}, w.table.Name(), table.Options{Clock: w.table.Now}), w.o)
	w.must(err)
	results := make([]map[string]int64, 4)
	var writers sync.WaitGroup
	for n := range results {
		results[n] = map[string]int64{}
		writers.Go(func() {
			r := rand.New(rand.NewPCG(w.seed, uint64(n)))
			store := []*eventstore.Store{w.writer(), lost}[n%2]
			for _, i := range r.Perm(8) {
				name := fmt.Sprint("cmd-", i)
				at, err := eventstore.Transact(w.ctx, store, order("1"), tally, func(at eventstore.Loaded[map[string]int]) ([]eventstore.NewEvent, error) {
					if at.State[name] > 0 {
						return nil, errDecided
					}
					return []eventstore.NewEvent{{Type: name, Payload: fmt.Appendf(nil, "%d", n)}}, nil
				}, eventstore.CommitID(name))
				for errors.Is(err, eventstore.ErrBusy) {
					at, err = eventstore.Transact(w.ctx, store, order("1"), tally, func(eventstore.Loaded[map[string]int]) ([]eventstore.NewEvent, error) {
						return said(name), nil
					}, eventstore.CommitID(name))
				}
				if err != nil || at.State[name] != 1 {
					w.Errorf("%s of writer %d: %+v, %v", name, n, at, err)
				}
				results[n][name] = at.Version
			}
		})
	}
	writers.Wait()
	var names []string
	for _, e := range w.events(order("1")) {
		names = append(names, e.EventType)
		for n, versions := range results {
			if versions[e.EventType] != e.Seq {
				w.Errorf("%s is event %d, writer %d was told %d", e.EventType, e.Seq, n, versions[e.EventType])
			}
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != 8 || len(names) != 8 {
		w.Errorf("happened: %v", names)
	}
}

// If the head of a stream is ahead of its events, nothing is appended after the hole.
func headThatIsAhead(w *suite) {
	w.append(order("1"), eventstore.NoStream(), "A", "B", "C")
	Remove(w, w.table, order("1"), 3)
	for _, expected := range []eventstore.Expected{eventstore.Any(), eventstore.Exists(), eventstore.Exact(2)} {
		if _, err := w.writer().Append(w.ctx, order("1"), expected, said("D")); !errors.Is(err, eventstore.ErrHole) {
			w.Errorf("expecting %s: %v", expected, err)
		}
	}
	w.wantStream(order("1"), "1 A 2 B", eventstore.To(2))
	var last error
	for _, err := range w.writer().Read(w.ctx, order("1")) {
		last = err
	}
	if !errors.Is(last, eventstore.ErrHole) {
		w.Errorf("read: %v", last)
	}
}
