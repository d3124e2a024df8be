package eventstoretest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/onefold/onefold/eventstore"
)

// A table has one write mode. A writer in the other mode is rejected, whatever it expects, and
// nothing changes.
func otherMode(w *suite) {
	w.append(order("1"), eventstore.NoStream(), "A")
	w.append(order("2"), eventstore.NoStream(), "A")
	w.must(w.writer().Close(w.ctx, order("2")))
	for _, o := range []eventstore.Options{{PutMode: !w.o.PutMode}, {PutMode: !w.o.PutMode, Chain: true, TypeShards: 2}, {PutMode: !w.o.PutMode, Secrets: w.o.Secrets}} {
		other, err := eventstore.New(w.table, o)
		w.must(err)
		for _, id := range []eventstore.ID{order("1"), order("2"), order("3")} {
			for _, expected := range []eventstore.Expected{eventstore.Any(), eventstore.NoStream(), eventstore.Exists(), eventstore.Exact(1)} {
				for _, options := range [][]eventstore.AppendOption{nil, {eventstore.CommitID("c")}} {
					if _, err := other.Append(w.ctx, id, expected, said("B"), options...); !errors.Is(err, eventstore.ErrWriteMode) {
						w.Errorf("%+v, %s, expecting %s: %v", o, id, expected, err)
					}
				}
			}
		}
		if _, err := eventstore.Transact(w.ctx, other, order("1"), tally, lend("")); !errors.Is(err, eventstore.ErrWriteMode) {
			w.Errorf("%+v, a decision: %v", o, err)
		}
		if err := other.Delete(w.ctx, order("1")); !errors.Is(err, eventstore.ErrWriteMode) {
			w.Errorf("%+v, a tombstone: %v", o, err)
		}
		if err := other.CheckMode(w.ctx); !errors.Is(err, eventstore.ErrWriteMode) {
			w.Errorf("%+v: %v", o, err)
		}
	}
	for _, s := range w.stores {
		w.must(s.CheckMode(w.ctx))
	}
	w.tableOfAnotherVersion()
	w.append(order("1"), eventstore.Exact(1), "C")
	for n, want := range map[string]string{"1": "1 A 2 C", "2": "1 A", "3": ""} {
		w.wantStream(order(n), want)
	}
}

// tableOfAnotherVersion checks that a store refuses a table whose write mode it does not know.
func (w *suite) tableOfAnotherVersion() {
	was, err := eventstore.RulesNow.Get(w.ctx, w.table, eventstore.RulesKey{})
	w.must(err)
	other := was
	other.Mode = "transactions"
	w.must(eventstore.TableRules.Put(w.ctx, w.table, &other))
	for _, put := range []bool{false, true} {
		s, err := eventstore.New(w.table, eventstore.Options{PutMode: put})
		w.must(err)
		if err := s.CheckMode(w.ctx); !errors.Is(err, eventstore.ErrWriteMode) {
			w.Errorf("a table of another version: %v", err)
		}
		if _, err := s.Append(w.ctx, order("1"), eventstore.Any(), said("B")); !errors.Is(err, eventstore.ErrWriteMode) {
			w.Errorf("append to a table of another version: %v", err)
		}
	}
	w.must(eventstore.TableRules.Put(w.ctx, w.table, &was))
}

// Every writer continues an existing hash chain, whatever its options and expected version. A chain
// may start later in a stream.
func chains(w *suite) {
	chain := w.o
	chain.Chain = true
	begins, err := eventstore.New(w.table, chain)
	w.must(err)
	for n, expected := range []func(int) eventstore.Expected{
		func(int) eventstore.Expected { return eventstore.Any() }, func(i int) eventstore.Expected { return eventstore.Exact(int64(i)) },
	} {
		id := order(fmt.Sprint(n))
		for i := range 12 {
			s := w.writer()
			if i == 2 { // earlier events need not be in a chain
				s = begins
			}
			var options []eventstore.AppendOption
			if i%3 == 0 {
				options = append(options, eventstore.CommitID(fmt.Sprint("c", i)))
			}
			if _, err := s.Append(w.ctx, id, expected(i), said("E"), options...); err != nil {
				w.Errorf("event %d, expecting %s: %v", i+1, expected(i), err)
			}
		}
		for _, e := range w.events(id, eventstore.Verified()) {
			if e.Seq > 2 && len(e.Hash) == 0 {
				w.Errorf("event %d is in no chain", e.Seq)
			}
		}
	}
}

// indexTypes writes the index of the aggregates' events by type, as a worker with TypeIndexFold would.
func (w *suite) indexTypes(aggregates map[string]bool) {
	for name := range aggregates {
		for _, e := range w.events(order(strings.TrimPrefix(name, "order/"))) {
			entry := eventstore.EntryOf(&e)
			w.must(eventstore.TypeEntries.Put(w.ctx, w.table, &entry))
		}
	}
}

// Each writer finds the events of a type of all writers, whatever their TypeShards, and even after
// one with more shards appended.
func eventsOfTypeByAllWriters(w *suite) {
	further := w.o
	further.TypeShards = max(w.o.TypeShards, 1) + 6
	last, err := eventstore.New(w.table, further)
	w.must(err)
	want := map[string]bool{}
	for i := range 48 {
		id, s := order(fmt.Sprint(i)), w.writer()
		if i >= 24 && i%2 == 0 {
			s = last
		}
		_, err := s.Append(w.ctx, id, eventstore.NoStream(), said("A"))
		w.must(err)
		want[id.String()] = true
		if i%12 != 11 {
			continue
		}
		w.indexTypes(want)
		for k, reader := range w.stores {
			shards, err := reader.TypeShards(w.ctx)
			w.must(err)
			found := map[string]bool{}
			entries, err := eventstore.EventsOfType.Collect(w.ctx, w.table, eventstore.TypeIn{EventType: "A", To: "~", Shards: shards})
			w.must(err)
			events, err := reader.Resolve(w.ctx, entries)
			w.must(err)
			for _, e := range events {
				found[e.ID.String()] = true
			}
			if !maps.Equal(found, want) {
				w.Errorf("after %d appends, writer %d finds %v, want %v", i+1, k, slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(want)))
			}
		}
	}
}
