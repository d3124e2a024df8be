package eventstoretest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// cases are what an event store is held to. Those with transactions do not go with Options.OneByOne.
var cases = []struct {
	name         string
	transactions bool
	run          func(*suite)
}{
	{"expected versions", false, expectedVersions},
	{"conflict says what happened", false, conflictSaysWhatHappened},
	{"conflict with much", true, conflictWithMuch},
	{"commit ids", false, commitIDs},
	{"commit id of another append", true, commitIDOfAnotherAppend},
	{"commit id of other content", false, commitIDOfOtherContent},
	{"commands again", false, commandsAgain},
	{"commands at once", false, commandsAtOnce},
	{"a head that is ahead", true, headThatIsAhead},
	{"one to a hundred events", true, oneToAHundredEvents},
	{"many events at once", true, manyEventsAtOnce},
	{"item of exactly 400 KB", false, itemOfExactly400KB},
	{"closed streams", true, closedStreams},
	{"reservations", true, reservations},
	{"head says types of the last append", true, headSaysTypesOfTheLastAppend},
	{"names that cannot be", false, namesThatCannotBe},
	{"names that can be", false, namesThatCanBe},
	{"everything comes back", false, everythingComesBack},
	{"reading", false, reading},
	{"three megabytes", false, threeMegabytes},
	{"pages of exactly 1 MB", false, pagesOfExactly1MB},
	{"transact", false, transact},
	{"transact again", true, transactAgain},
	{"snapshots", false, snapshots},
	{"append all", true, appendAll},
	{"append all again", true, appendAllAgain},
	{"again after close", true, againAfterClose},
	{"append all refuses", true, appendAllRefuses},
	{"append all reserves", true, appendAllReserves},
	{"without transactions", false, withoutTransactions},
	{"unknown outcomes", false, unknownOutcomes},
	{"concurrent writers", false, concurrentWriters},
	{"same append at once", false, sameAppendAtOnce},
	{"concurrent joint appends", true, concurrentJointAppends},
}

// Conformance holds an event store with certain options to what eventstore promises, on whatever tables open returns: empty
// ones of eventstore.Schema, a new one each time. With Options.OneByOne the store needs no transactions.
func Conformance(t *testing.T, open func(t *testing.T) *table.Table, o eventstore.Options) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.transactions && o.OneByOne {
				t.Skip("this needs transactions, which Options.OneByOne does without")
			}
			w := &suite{T: t, ctx: t.Context(), table: open(t), o: o}
			var err error
			w.store, err = eventstore.New(w.table, o)
			w.must(err)
			c.run(w)
		})
	}
}

// suite is the store under test.
type suite struct {
	*testing.T
	ctx   context.Context
	table *table.Table
	store *eventstore.Store
	o     eventstore.Options
}

func (w *suite) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func order(n string) eventstore.ID { return eventstore.ID{Type: "order", ID: n} }

// said are events of given types, whose payload is their type.
func said(types ...string) []eventstore.NewEvent {
	events := make([]eventstore.NewEvent, len(types))
	for i, name := range types {
		events[i] = eventstore.NewEvent{Type: name, Payload: []byte(`"` + name + `"`)}
	}
	return events
}

// to is a part of a joint append.
func to(id eventstore.ID, expected eventstore.Expected, types ...string) eventstore.AppendTo {
	return eventstore.AppendTo{ID: id, Expected: expected, Events: said(types...)}
}

func (w *suite) append(id eventstore.ID, expected eventstore.Expected, types ...string) eventstore.Commit {
	w.Helper()
	c, err := w.store.Append(w.ctx, id, expected, said(types...))
	w.must(err)
	return c
}

func (w *suite) events(id eventstore.ID, options ...eventstore.ReadOption) []eventstore.Event {
	w.Helper()
	var events []eventstore.Event
	for e, err := range w.store.Read(w.ctx, id, options...) {
		w.must(err)
		events = append(events, e)
	}
	return events
}

// story is a stream as text: "1 Placed 2 Paid".
func (w *suite) story(id eventstore.ID, options ...eventstore.ReadOption) string {
	w.Helper()
	var b strings.Builder
	for _, e := range w.events(id, options...) {
		fmt.Fprintf(&b, "%d %s ", e.Seq, e.EventType)
	}
	return strings.TrimSpace(b.String())
}

func (w *suite) isStory(id eventstore.ID, want string, options ...eventstore.ReadOption) {
	w.Helper()
	if have := w.story(id, options...); have != want {
		w.Errorf("%s: %q, want %q", id, have, want)
	}
}

// tally is a fold: how often each type of event happened.
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
