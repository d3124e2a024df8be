package eventstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// TestPromises runs testdata/promises: the promises of docs/guides/eventstore.md as examples. Each
// file has its own store and a worker, whose clock moves only with advance. An event is a line: its
// type and, optionally, its payload.
//
//	append ID [expect=none|exists|any|N] [commit=C] [reserve=(SCOPE,VALUE)] [release=(SCOPE,VALUE)]
//	       [times=N] [lose]      times repeats the last event
//	append-all [commit=C]        lines: ID EXPECTED: EVENT; lines of one ID are its events
//	transact ID [commit=C] [rival=(EVENT)]
//	                             a line, withdraw N or nothing, decides; a rival appends meanwhile
//	read ID [from=N] [to=N] [ago=DURATION] [backwards]
//	                             with ago, the stream at that time before the current one
//	head ID
//	load ID [version=V] [keep=NAME]
//	                             the balance by version V of the fold (default 1)
//	snapshot ID [version=V] | snapshot kept=NAME
//	owner SCOPE VALUE            who has reserved the value
//	close ID, delete ID
//	work                         let the worker write the feed, and snapshots at multiples of 5
//	feed [after=N] [type=(T,…)] [aggregate=(T,…)]
//	feed-page [after=N] [most=N] [type=(T,…)]
//	repair                       RepairFeed
//	advance DURATION
//
// With lose, the append succeeds, but the store does not get its response. An error is printed by
// its name in the guide.
func TestPromises(t *testing.T) {
	datadriven.Walk(t, "testdata/promises", func(t *testing.T, path string) {
		p := newPromises(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			run, ok := p.commands()[d.Cmd]
			if !ok {
				d.Fatalf(t, "there is no command %q", d.Cmd)
			}
			out, err := run(args{t, d})
			if err != nil {
				return out + errorText(err)
			}
			return out
		})
	})
}

// promises is a store with a worker.
type promises struct {
	*world
	worker *fold.Worker
	kept   map[string]loadedBalance
}

type loadedBalance = struct {
	at      eventstore.Loaded[int64]
	version int
}

func newPromises(t *testing.T) *promises {
	p := &promises{world: newWorld(t, eventstore.Options{}), kept: map[string]loadedBalance{}}
	p.worker = p.world.worker(append(eventstore.Folds(), eventstore.SnapshotFold(p.store, "balances",
		eventstore.Snapshotting[int64]{Type: "account", Fold: balance(1), Every: 5}))...)
	return p
}

// balance is the fold of all files: the balance of an account. Its version 2 counts cents.
func balance(version int) eventstore.Fold[int64] {
	return eventstore.Fold[int64]{Version: version, Apply: func(b int64, e eventstore.Event) (int64, error) {
		var amount int64
		if len(e.Payload) > 0 {
			if err := json.Unmarshal(e.Payload, &amount); err != nil {
				return b, err
			}
		}
		if version > 1 {
			amount *= 100
		}
		switch e.EventType {
		case "Deposited":
			b += amount
		case "Withdrawn":
			b -= amount
		}
		return b, nil
	}}
}

func (p *promises) commands() map[string]func(args) (string, error) {
	return map[string]func(args) (string, error){
		"append": p.appendOne, "append-all": p.appendAll, "transact": p.transact, "read": p.read, "head": p.head,
		"load": p.load, "snapshot": p.snapshot, "owner": p.owner, "feed": p.feed, "feed-page": p.feedPage, "repair": p.repair,
		"close":  func(a args) (string, error) { return "", p.store.Close(p.ctx, a.id()) },
		"delete": func(a args) (string, error) { return "", p.store.Delete(p.ctx, a.id()) },
		"work":   func(args) (string, error) { return "", p.worker.Drain(p.ctx) },
		"advance": func(a args) (string, error) {
			by, err := time.ParseDuration(a.d.CmdArgs[0].Key)
			p.db.Advance(by)
			return "", err
		},
	}
}

func (p *promises) appendOne(a args) (string, error) {
	if a.d.HasArg("lose") {
		before := p.db.Hits()
		p.db.Inject(eventstoretest.LoseAfter(1))
		defer func() {
			if p.db.Heal(); p.db.Hits() != before+1 {
				a.d.Fatalf(a.t, "%d responses were lost, want 1", p.db.Hits()-before)
			}
		}()
	}
	c, err := p.store.Append(p.ctx, a.id(), a.expected(a.text("expect", "any")), a.events(), a.options()...)
	return commitText(c, err)
}

func (p *promises) appendAll(a args) (string, error) {
	var parts []eventstore.AppendTo
	for _, line := range strings.Split(a.d.Input, "\n") {
		to, event, _ := strings.Cut(line, ": ")
		id, expected, _ := strings.Cut(to, " ")
		if n := len(parts); n == 0 || parts[n-1].ID.String() != id {
			parts = append(parts, eventstore.AppendTo{ID: parseID(a.t, id), Expected: a.expected(expected)})
		}
		last := &parts[len(parts)-1]
		last.Events = append(last.Events, parseEvent(event))
	}
	commits, err := p.store.AppendAll(p.ctx, parts, a.options()...)
	if err != nil {
		return "", err
	}
	var out string
	for i, c := range commits {
		text, _ := commitText(c, nil)
		out += parts[i].ID.String() + ": " + text
	}
	return out, nil
}

// transact withdraws money if there is enough.
func (p *promises) transact(a args) (string, error) {
	var out string
	rival := a.text("rival", "")
	at, err := eventstore.Transact(p.ctx, p.store, a.id(), balance(1), func(at eventstore.Loaded[int64]) ([]eventstore.NewEvent, error) {
		out += fmt.Sprintf("decide at version %d, balance %d\n", at.Version, at.State)
		if rival != "" {
			_, err := p.store.Append(p.ctx, at.ID, eventstore.Any(), []eventstore.NewEvent{parseEvent(rival)})
			p.must(err)
			rival = ""
		}
		amount, ok := strings.CutPrefix(a.d.Input, "withdraw ")
		if !ok {
			return nil, nil
		}
		if n, err := strconv.ParseInt(amount, 10, 64); err != nil || n > at.State {
			return nil, errors.Join(errTooLittle, err)
		}
		return []eventstore.NewEvent{parseEvent("Withdrawn " + amount)}, nil
	}, a.options()...)
	if err != nil {
		return out, err
	}
	return out + fmt.Sprintf("version %d, balance %d\n", at.Version, at.State), nil
}

var errTooLittle = errors.New("the balance is too low")

func (p *promises) read(a args) (string, error) {
	var options []eventstore.ReadOption
	if n, ok := a.number("from"); ok {
		options = append(options, eventstore.From(n))
	}
	if n, ok := a.number("to"); ok {
		options = append(options, eventstore.To(n))
	}
	if s := a.text("ago", ""); s != "" {
		ago, err := time.ParseDuration(s)
		p.must(err)
		options = append(options, eventstore.AsOf(p.db.Now().Add(-ago)))
	}
	if a.d.HasArg("backwards") {
		options = append(options, eventstore.Backwards())
	}
	var out string
	for e, err := range p.store.Read(p.ctx, a.id(), options...) {
		if err != nil {
			return out, err
		}
		out += fmt.Sprintf("%d %s\n", e.Seq, eventText(&e))
	}
	return orNothing(out, "no events\n"), nil
}

func (p *promises) head(a args) (string, error) {
	h, err := p.store.Head(p.ctx, a.id())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("version %d, %s\n", h.Version, orNothing(string(h.State), "open")), nil
}

func (p *promises) load(a args) (string, error) {
	version := int(a.numberOr("version", 1))
	at, err := eventstore.Load(p.ctx, p.store, a.id(), balance(version))
	if err != nil {
		return "", err
	}
	if name := a.text("keep", ""); name != "" {
		p.kept[name] = loadedBalance{at, version}
	}
	return fmt.Sprintf("version %d, balance %d (events read: %d)\n", at.Version, at.State, at.Read), nil
}

func (p *promises) snapshot(a args) (string, error) {
	kept, ok := p.kept[a.text("kept", "")]
	if !ok {
		kept.version = int(a.numberOr("version", 1))
		var err error
		if kept.at, err = eventstore.Load(p.ctx, p.store, a.id(), balance(kept.version)); err != nil {
			return "", err
		}
	}
	saved, err := eventstore.SaveSnapshot(p.ctx, p.store, balance(kept.version), kept.at)
	if err != nil {
		return "", err
	}
	return map[bool]string{true: "saved\n", false: "not saved\n"}[saved], nil
}

func (p *promises) owner(a args) (string, error) {
	owner, err := p.store.OwnerOf(p.ctx, a.d.CmdArgs[0].Key, a.d.CmdArgs[1].Key)
	if errors.Is(err, table.ErrNotFound) {
		return "nobody\n", nil
	}
	return owner + "\n", err
}

func (p *promises) feed(a args) (string, error) {
	var out string
	for e, err := range p.store.Feed(p.ctx, a.numberOr("after", 0), a.filter()...) {
		if err != nil {
			return out, err
		}
		out += feedText(&e)
	}
	return orNothing(out, "nothing\n"), nil
}

func (p *promises) feedPage(a args) (string, error) {
	page, err := p.store.FeedPage(p.ctx, a.numberOr("after", 0), int(a.numberOr("most", 100)), a.filter()...)
	if err != nil {
		return "", err
	}
	var out string
	for i := range page.Events {
		out += feedText(&page.Events[i])
	}
	return out + fmt.Sprintf("through %d%s\n", page.Through, map[bool]string{true: ", the end"}[page.Tip]), nil
}

func (p *promises) repair(args) (string, error) {
	r, err := p.store.RepairFeed(p.ctx, p.worker.Drain)
	return fmt.Sprintf("%d appends of %d aggregates added\n", r.Commits, r.Aggregates), err
}

// args are the arguments of a command.
type args struct {
	t *testing.T
	d *datadriven.TestData
}

func (a args) id() eventstore.ID { return parseID(a.t, a.d.CmdArgs[0].Key) }

func (a args) text(key, otherwise string) string {
	arg, ok := a.d.Arg(key)
	if !ok || len(arg.Vals) == 0 {
		return otherwise
	}
	return arg.Vals[0]
}

func (a args) number(key string) (int64, bool) {
	s := a.text(key, "")
	if s == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		a.d.Fatalf(a.t, "%s: %v", key, err)
	}
	return n, true
}

func (a args) numberOr(key string, otherwise int64) int64 {
	if n, ok := a.number(key); ok {
		return n
	}
	return otherwise
}

func (a args) expected(s string) eventstore.Expected {
	switch s {
	case "none":
		return eventstore.NoStream()
	case "exists":
		return eventstore.Exists()
	case "any":
		return eventstore.Any()
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		a.d.Fatalf(a.t, "expect: %v", err)
	}
	return eventstore.Exact(n)
}

func (a args) options() (options []eventstore.AppendOption) {
	for _, arg := range a.d.CmdArgs {
		switch arg.Key {
		case "commit":
			options = append(options, eventstore.CommitID(arg.Vals[0]))
		case "reserve":
			options = append(options, eventstore.Reserve(arg.Vals[0], arg.Vals[1]))
		case "release":
			options = append(options, eventstore.Release(arg.Vals[0], arg.Vals[1]))
		}
	}
	return options
}

func (a args) filter() (options []eventstore.FeedOption) {
	if arg, ok := a.d.Arg("type"); ok {
		options = append(options, eventstore.OfType(arg.Vals...))
	}
	if arg, ok := a.d.Arg("aggregate"); ok {
		options = append(options, eventstore.OfAggregateType(arg.Vals...))
	}
	return options
}

func (a args) events() (events []eventstore.NewEvent) {
	for _, line := range strings.Split(a.d.Input, "\n") {
		events = append(events, parseEvent(line))
	}
	for n, _ := a.number("times"); int64(len(events)) < n; {
		events = append(events, events[len(events)-1])
	}
	return events
}

func parseID(t *testing.T, s string) eventstore.ID {
	name, id, ok := strings.Cut(s, "/")
	if !ok {
		t.Fatalf("%q is not the ID of an aggregate", s)
	}
	return eventstore.ID{Type: name, ID: id}
}

func parseEvent(line string) eventstore.NewEvent {
	name, payload, _ := strings.Cut(line, " ")
	return eventstore.NewEvent{Type: name, Payload: []byte(payload)}
}

func eventText(e *eventstore.Event) string {
	return strings.TrimSpace(e.EventType + " " + string(e.Payload))
}

func feedText(e *eventstore.FeedEvent) string {
	return fmt.Sprintf("%d: %s %d %s%s\n", e.Position, e.ID, e.Seq, eventText(&e.Event), map[bool]string{true: " (last)"}[e.Last])
}

func commitText(c eventstore.Commit, err error) (string, error) {
	if err != nil {
		return "", err
	}
	again := map[bool]string{true: ", again"}[c.Again]
	if c.First == c.Version {
		return fmt.Sprintf("event %d%s\n", c.First, again), nil
	}
	return fmt.Sprintf("events %d to %d%s\n", c.First, c.Version, again), nil
}

// errorText names an error as the guide does. A conflict also lists the events in between.
func errorText(err error) string {
	if c := (*eventstore.Conflict)(nil); errors.As(err, &c) {
		out := fmt.Sprintf("ErrConflict: %s has version %d, expected %s\n", c.ID, c.Actual, c.Expected)
		for i := range c.Since {
			out += fmt.Sprintf("since then: %d %s\n", c.Since[i].Seq, eventText(&c.Since[i]))
		}
		return out
	}
	for name, sentinel := range map[string]error{
		"ErrClosed": eventstore.ErrClosed, "ErrReserved": eventstore.ErrReserved, "ErrTooLarge": eventstore.ErrTooLarge,
		"ErrCommitReused": eventstore.ErrCommitReused, "ErrInvalid": eventstore.ErrInvalid, "ErrBusy": eventstore.ErrBusy,
		"table.ErrNotFound": table.ErrNotFound,
	} {
		if errors.Is(err, sentinel) {
			return name + "\n"
		}
	}
	return err.Error() + "\n"
}

func orNothing(s, nothing string) string {
	if s == "" {
		return nothing
	}
	return s
}
