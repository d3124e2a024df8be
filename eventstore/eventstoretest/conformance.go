package eventstoretest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// cases are the requirements for an event store. Cases with transactions are skipped in put mode;
// random cases run with several seeds.
var cases = []struct {
	name         string
	transactions bool
	run          func(*suite)
	random       bool
}{
	{"expected versions", false, expectedVersions, false},
	{"conflict says what happened", false, conflictHasEventsSince, false},
	{"conflict with much", false, conflictWithMuch, false},
	{"commit ids", false, commitIDs, false},
	{"commit id of another append", false, commitIDOfAnotherAppend, false},
	{"commit id of other content", false, commitIDOfOtherContent, false},
	{"commands again", false, commandsAgain, false},
	{"commands at once", false, concurrentCommands, true},
	{"a head that is ahead", false, headThatIsAhead, false},
	{"one to a hundred events", false, oneToAHundredEvents, false},
	{"many events at once", true, manyEventsInOneAppend, false},
	{"item of exactly 400 KB", false, itemOfExactly400KB, false},
	{"closed streams", false, closedStreams, false},
	{"reservations", true, reservations, false},
	{"head says types of the last append", false, headHasTypesOfLastAppend, false},
	{"names that cannot be", false, invalidNames, false},
	{"names that can be", false, validNames, false},
	{"everything comes back", false, allFieldsAreRead, false},
	{"reading", false, reading, false},
	{"three megabytes", false, threeMegabytes, false},
	{"pages of exactly 1 MB", false, pagesOfExactly1MB, false},
	{"transact", false, transact, false},
	{"transact again", false, transactAgain, false},
	{"snapshots", false, snapshots, false},
	{"append all", true, appendAll, false},
	{"append all again", true, appendAllAgain, false},
	{"again after close", false, againAfterClose, false},
	{"append all refuses", true, appendAllRefuses, false},
	{"append all reserves", true, appendAllReserves, false},
	{"without transactions", false, withoutTransactions, false},
	{"the other way of appending", false, otherMode, false},
	{"chains of all writers", false, chains, false},
	{"events of a type by all writers", false, eventsOfTypeByAllWriters, false},
	{"unknown outcomes", false, unknownOutcomes, false},
	{"concurrent writers", false, concurrentWriters, true},
	{"same append at once", false, sameAppendConcurrently, false},
	{"concurrent multi-stream appends", true, concurrentMultiStreamAppends, true},
}

// Writer returns the options of a store on a table.
type Writer func(*table.Table) eventstore.Options

// With returns a Writer with the same options for each table.
func With(o eventstore.Options) Writer { return func(*table.Table) eventstore.Options { return o } }

// Conformance tests that an event store with the writer's options meets the guarantees of package
// eventstore. open must return a new, empty table of eventstore.Schema each time; in put mode it
// needs no transactions. others are further writers on the same table, which do not know the first
// writer's options but must have the same write mode. All writers take turns.
func Conformance(t *testing.T, open func(t *testing.T) *table.Table, writer Writer, others ...Writer) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run := func(t *testing.T, seed uint64) {
				w := newSuite(t, open(t), writer, others, seed)
				if c.transactions && w.o.PutMode {
					t.Skip("this needs transactions, which Options.PutMode does without")
				}
				c.run(w)
			}
			if c.random {
				seeds.Run(t, 1, run)
			} else {
				run(t, 0)
			}
		})
	}
}

// suite is the store under test.
type suite struct {
	*testing.T
	ctx   context.Context
	table *table.Table
	o     eventstore.Options
	seed  uint64

	stores []*eventstore.Store // one per writer
	keys   []*eventstore.Store // those with secrets, or all if the first writer has none
	turn   atomic.Int64
}

// writer returns the next store in turn.
func (w *suite) writer() *eventstore.Store {
	return w.stores[int(w.turn.Add(1)-1)%len(w.stores)]
}

// keyed returns the next store in turn among those whose requests cannot fail for lack of keys.
func (w *suite) keyed() *eventstore.Store { return w.keys[int(w.turn.Add(1)-1)%len(w.keys)] }

func newSuite(t *testing.T, on *table.Table, writer Writer, others []Writer, seed uint64) *suite {
	w := &suite{T: t, ctx: t.Context(), table: on, seed: seed}
	for i, one := range append([]Writer{writer}, others...) {
		o := one(on)
		s, err := eventstore.New(on, o)
		w.must(err)
		if w.stores = append(w.stores, s); i == 0 {
			w.o = o
		}
		if w.o.Secrets == nil || o.Secrets != nil {
			w.keys = append(w.keys, s)
		}
	}
	return w
}

func (w *suite) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func order(n string) eventstore.ID { return eventstore.ID{Type: "order", ID: n} }

// said returns events of the given types, with the type as payload.
func said(types ...string) []eventstore.NewEvent {
	events := make([]eventstore.NewEvent, len(types))
	for i, name := range types {
		events[i] = eventstore.NewEvent{Type: name, Payload: []byte(`"` + name + `"`)}
	}
	return events
}

// to returns a part of a multi-stream append.
func to(id eventstore.ID, expected eventstore.Expected, types ...string) eventstore.AppendTo {
	return eventstore.AppendTo{ID: id, Expected: expected, Events: said(types...)}
}

func (w *suite) append(id eventstore.ID, expected eventstore.Expected, types ...string) eventstore.Commit {
	w.Helper()
	c, err := w.writer().Append(w.ctx, id, expected, said(types...))
	w.must(err)
	return c
}

func (w *suite) events(id eventstore.ID, options ...eventstore.ReadOption) []eventstore.Event {
	w.Helper()
	var events []eventstore.Event
	for e, err := range w.writer().Read(w.ctx, id, options...) {
		w.must(err)
		events = append(events, e)
	}
	return events
}

// streamText returns a stream as text, such as "1 Placed 2 Paid".
func (w *suite) streamText(id eventstore.ID, options ...eventstore.ReadOption) string {
	w.Helper()
	var b strings.Builder
	for _, e := range w.events(id, options...) {
		fmt.Fprintf(&b, "%d %s ", e.Seq, e.EventType)
	}
	return strings.TrimSpace(b.String())
}

func (w *suite) wantStream(id eventstore.ID, want string, options ...eventstore.ReadOption) {
	w.Helper()
	if have := w.streamText(id, options...); have != want {
		w.Errorf("%s: %q, want %q", id, have, want)
	}
}

// tally is a fold that counts events by type.
var tally = eventstore.Fold[map[string]int]{Version: 1, Apply: func(m map[string]int, e eventstore.Event) (map[string]int, error) {
	next := map[string]int{}
	for k, n := range m {
		next[k] = n
	}
	next[e.EventType]++
	return next, nil
}}

func typesOf(events []eventstore.Event) []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.EventType
	}
	return names
}
