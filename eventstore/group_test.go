package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/fsck"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// tokens is a fold of the types of events.
var tokens = eventstore.Fold[[]string]{Version: 1, Apply: func(s []string, e eventstore.Event) ([]string, error) {
	return append(slices.Clip(s), e.EventType), nil
}}

// crowd begins a command on an aggregate, adds others while it decides, and lets all end.
func (w *world) crowd(id eventstore.ID, n int, each func(i int)) {
	var all sync.WaitGroup
	deciding, open := make(chan bool), make(chan bool)
	all.Go(func() {
		_, err := eventstore.Transact(w.ctx, w.store, id, tokens, func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) {
			close(deciding)
			<-open
			return said("First"), nil
		})
		w.noError(err)
	})
	<-deciding
	for i := range n {
		all.Go(func() { each(i) })
		synctest.Wait() // it is in the queue
	}
	close(open)
	all.Wait()
}

// inBubble runs a test as both, with retries that take no time.
func inBubble(t *testing.T, test func(*world)) {
	for name, o := range map[string]eventstore.Options{
		"transactions": {}, "one by one": {PutMode: true}, "short pages": {PageBytes: 1, Chain: true}, "short pages one by one": {PutMode: true, PageBytes: 200},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(newWorld(t, o)) }) })
	}
}

// headWrites counts the writes of heads from now on.
func (w *world) headWrites() *atomic.Int64 {
	var n atomic.Int64
	w.db.Inject(enginetest.Fault{Writes: true, When: func(a enginetest.Access) bool {
		if sk, ok := a.Item[table.AttrSK].(*types.AttributeValueMemberS); ok && sk.Value == "#METADATA" {
			n.Add(1)
		}
		return false
	}})
	return &n
}

var errNo = errors.New("no")

// Commands that wait together are decided in order of arrival, each on the events of those before,
// and appended in one write. Each is an append of its own.
func TestGroup(t *testing.T) {
	inBubble(t, func(w *world) {
		const n = 6
		var states [n]string
		writes := w.headWrites()
		w.crowd(order("1"), n, func(i int) {
			at, err := eventstore.Transact(w.ctx, w.store, order("1"), tokens, func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) {
				if i == 3 {
					return nil, errNo
				}
				return said(fmt.Sprint("E", i), fmt.Sprint("E", i)), nil
			}, eventstore.CommitID(fmt.Sprint("command-", i)))
			if i == 3 && !errors.Is(err, errNo) || i != 3 && err != nil {
				w.Error(err)
			}
			states[i] = strings.Join(at.State, " ")
		})
		w.isStory(order("1"), "1 First 2 E0 3 E0 4 E1 5 E1 6 E2 7 E2 8 E4 9 E4 10 E5 11 E5")
		if want := [n]string{"First E0 E0", "First E0 E0 E1 E1", "First E0 E0 E1 E1 E2 E2", "First E0 E0 E1 E1 E2 E2", "First E0 E0 E1 E1 E2 E2 E4 E4", "First E0 E0 E1 E1 E2 E2 E4 E4 E5 E5"}; states != want {
			w.Errorf("the states are %q", states)
		}
		for e, err := range w.store.Read(w.ctx, order("1"), eventstore.From(2)) {
			w.must(err)
			if want := "command-" + e.EventType[1:]; e.CommitID != want || e.Of != 2 || e.Nth != int(e.Seq)%2 {
				w.Errorf("event %d is %d of %d events of %q", e.Seq, e.Nth, e.Of, e.CommitID)
			}
		}
		if n := writes.Load(); n != 2 {
			w.Errorf("the head was written %d times, want 2", n)
		}
	})
}

// Each command of a group has a position in the feed.
func TestGroupInFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, eventstore.Options{})
		worker := w.worker(eventstore.FeedFold())
		w.crowd(order("a"), 3, func(i int) { w.noError(w.add("a", fmt.Sprint("E", i))) })
		w.noError(w.add("b", "Other"))
		w.drain(worker)
		w.isFed(0, "1* a 1 First, 2* a 2 E0, 3* a 3 E1, 4* a 4 E2, 5* b 1 Other")
		w.isFed(2, "3* a 3 E1, 4* a 4 E2, 5* b 1 Other")
	})
}

// add appends an event by a command.
func (w *world) add(id, token string, options ...eventstore.AppendOption) error {
	_, err := eventstore.Transact(w.ctx, w.store, order(id), tokens, func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) {
		return said(token), nil
	}, options...)
	return err
}

// Commands that cannot be in a group, and those that fail, do not affect the others.
func TestGroupWithOthers(t *testing.T) {
	inBubble(t, func(w *world) {
		repeated, large := eventstore.CommitID("repeated"), strings.Repeat("x", 100<<10)
		w.must(w.add("1", "Before", repeated))
		commands := []func() error{
			func() error { return w.add("1", "A") },
			func() error { return w.add("1", "Again", repeated) }, // happened before
			func() error { return w.add("1", "B", eventstore.CommitID("b")) },
			func() error { return w.add("1", "C", eventstore.CommitID("b")) }, // the same command twice
			func() error {
				if err := w.add("1", ""); !errors.Is(err, eventstore.ErrInvalid) {
					return fmt.Errorf("an event without a type: %w", err)
				}
				return nil
			},
			func() (err error) {
				defer func() {
					if p := recover(); p != errNo {
						err = fmt.Errorf("panicked with %v", p)
					}
				}()
				_, err = eventstore.Transact(w.ctx, w.store, order("1"), tokens, func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) { panic(errNo) })
				return errors.New("did not panic")
			},
			func() error { return w.add("1", "Reserved", eventstore.Reserve("scope", "value")) },
			func() error {
				_, err := eventstore.Transact(w.ctx, w.store, order("1"), tokens, func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) {
					return []eventstore.NewEvent{{Type: "Large", Payload: []byte(`"` + large + `"`)}}, nil
				})
				return err
			},
			func() error { return w.add("1", "D") },
		}
		if w.oneByOne { // without reservations
			commands[6] = func() error { return nil }
		}
		w.crowd(order("1"), len(commands), func(i int) { w.noError(commands[i]()) })
		have := w.story(order("1"), eventstore.Verified())
		for _, token := range []string{"Before", "First", "A", "B", "D", "Large"} {
			if strings.Count(have+" ", " "+token+" ") != 1 {
				w.Errorf("%q is not once in %q", token, have)
			}
		}
		if strings.Contains(have, "Again") || strings.Contains(have, "C") || strings.Contains(have, "Reserved") == w.oneByOne {
			w.Errorf("the stream is %q", have)
		}
	})
}

// A command that cannot be in a group is decided once, by itself, among commands that are.
func TestGroupDecidesOthersOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, eventstore.Options{})
		apart := map[int]eventstore.AppendOption{
			1: eventstore.Include(func(*table.Tx, []eventstore.Event) error { return nil }),
			3: eventstore.Reserve("scope", "value"),
		}
		decided := make([]int, 6)
		w.crowd(order("1"), len(decided), func(i int) {
			var options []eventstore.AppendOption
			if o := apart[i]; o != nil {
				options = append(options, o)
			}
			_, err := eventstore.Transact(w.ctx, w.store, order("1"), tokens, func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) {
				decided[i]++
				return said(fmt.Sprint("T", i)), nil
			}, options...)
			w.noError(err)
		})
		if !slices.Equal(decided, []int{1, 1, 1, 1, 1, 1}) {
			t.Errorf("decisions of each command: %v", decided)
		}
	})
}

// panicsOn is tokens with a panic on events of a type.
func panicsOn(token string) eventstore.Fold[[]string] {
	f := tokens
	f.Apply = func(s []string, e eventstore.Event) ([]string, error) {
		if e.EventType == token {
			panic(errNo)
		}
		return tokens.Apply(s, e)
	}
	return f
}

// A panic reaches its own caller, wherever it happens, and nobody else.
func TestGroupWithPanics(t *testing.T) {
	inBubble(t, func(w *world) {
		says := func(token string) func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) {
			return func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) { return said(token), nil }
		}
		panics := func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) { panic(errNo) }
		commands := []struct {
			fold    eventstore.Fold[[]string]
			decide  func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error)
			options []eventstore.AppendOption
			panics  bool
		}{
			{fold: panicsOn("First"), decide: says("Never"), panics: true}, // while it is loaded
			{fold: tokens, decide: says("A")},
			{fold: tokens, decide: panics, options: []eventstore.AppendOption{eventstore.Reserve("scope", "value")}, panics: true},
			{fold: panicsOn("A"), decide: says("Never"), panics: true}, // on an event of the group
			{fold: panicsOn("Own"), decide: says("Own"), panics: true}, // after its append
			{fold: tokens, decide: panics, options: []eventstore.AppendOption{eventstore.CommitID("c")}, panics: true},
			{fold: tokens, decide: says("B")},
		}
		w.crowd(order("1"), len(commands), func(i int) {
			c := &commands[i]
			defer func() {
				if p := recover(); (p != nil) != c.panics || p != nil && p != errNo {
					w.Errorf("command %d: panicked with %v", i, p)
				}
			}()
			_, err := eventstore.Transact(w.ctx, w.store, order("1"), c.fold, c.decide, c.options...)
			w.noError(err)
		})
		have := strings.Fields(w.story(order("1"), eventstore.Verified()))
		for token, want := range map[string]int{"First": 1, "A": 1, "Own": 1, "B": 1, "Never": 0} {
			n := 0
			for _, f := range have {
				if f == token {
					n++
				}
			}
			if n != want {
				w.Errorf("%q is %d times in %q, want %d", token, n, have, want)
			}
		}
	})
}

// If a function of a command ends the goroutine that handles the group, the other callers get an
// error, or their events are stored.
func TestGroupWithGoexit(t *testing.T) {
	inBubble(t, func(w *world) {
		var errs [3]error
		w.crowd(order("1"), len(errs), func(i int) {
			errs[i] = errNo
			_, errs[i] = eventstore.Transact(w.ctx, w.store, order("1"), tokens, func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) {
				if i == 1 {
					runtime.Goexit()
				}
				return said(fmt.Sprint("E", i)), nil
			})
		})
		have := w.story(order("1"))
		for i, err := range errs {
			if err == nil != strings.Contains(have, fmt.Sprint("E", i)) {
				w.Errorf("command %d: error %v, stream %q", i, err, have)
			}
		}
		w.noError(w.add("1", "After"))
	})
}

// A command of a group whose outcome is unknown returns no state with events that may not exist.
func TestGroupWithUnknownOutcome(t *testing.T) {
	inBubble(t, func(w *world) {
		w.crowd(order("1"), 2, func(i int) {
			at, err := eventstore.Transact(w.ctx, w.store, order("1"), tokens, func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) {
				w.db.Inject(enginetest.Fault{Effect: enginetest.Fail})
				return said(fmt.Sprint("E", i)), nil
			})
			if err == nil || slices.Contains(at.State, fmt.Sprint("E", i)) {
				w.Errorf("command %d: state %q, error %v", i, at.State, err)
			}
		})
	})
}

// A caller that gives up while it waits leaves the queue, and its command does not happen.
func TestGroupWithoutImpatient(t *testing.T) {
	inBubble(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.ctx)
		w.crowd(order("1"), 3, func(i int) {
			if i == 2 {
				cancel()
				return
			}
			one := *w
			if i == 1 {
				one.ctx = ctx
			}
			if err := one.add("1", fmt.Sprint("E", i)); errors.Is(err, context.Canceled) != (i == 1) {
				w.Errorf("command %d: %v", i, err)
			}
		})
		w.isStory(order("1"), "1 First 2 E0")
	})
}

// outcome is what a caller knows of a command.
type outcome struct {
	token   string
	named   bool
	events  int
	state   []string
	err     error
	refused bool
}

// Callers in two processes send commands to few aggregates while requests fail and answers are lost.
// What each caller was told agrees with the stream in the end.
func TestGroupsWithFaults(t *testing.T) { seeds.Run(t, 20, groupsWithFaults) }

func groupsWithFaults(t *testing.T, seed uint64) {
	inBubble(t, func(w *world) {
		r := rand.New(rand.NewPCG(seed, 0))
		for range 6 {
			w.db.Inject(enginetest.Fault{Effect: []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer, enginetest.Conflict, enginetest.Throttle}[r.IntN(4)], Writes: r.IntN(2) == 0, Every: 3 + r.IntN(20)})
		}
		other, err := eventstore.New(w.table, eventstore.Options{PutMode: w.oneByOne, PageBytes: w.pageBytes})
		w.must(err)
		stores := []*eventstore.Store{w.store, w.store, w.store, other}
		const callers, each = 12, 6
		var all sync.WaitGroup
		results := make([][]outcome, callers)
		for i := range callers {
			own := rand.New(rand.NewPCG(seed, uint64(i)+1))
			all.Go(func() {
				for n := range each {
					o := outcome{token: fmt.Sprintf("%d.%d", i, n), named: own.IntN(3) > 0, events: 1 + own.IntN(3)}
					for range 1 + own.IntN(2) { // repeated, if it has a commit ID
						o.send(w.ctx, stores[i%len(stores)])
						if !o.named {
							break
						}
					}
					results[i] = append(results[i], o)
				}
			})
		}
		all.Wait()
		w.db.Heal()
		stream, err := eventstore.Load(w.ctx, w.store, order("hot"), tokens)
		w.must(err)
		for _, o := range slices.Concat(results...) {
			if why := o.wrong(stream.State); why != "" {
				w.Errorf("seed %d: %s: %+v\nstream %s", seed, why, o, stream.State)
			}
		}
		for f, err := range fsck.Check(w.ctx, w.store, fsck.Options{}) {
			if w.must(err); f.Kind != fsck.NotIndexed && f.Kind != fsck.FeedBehind {
				w.Errorf("seed %d: %+v", seed, f)
			}
		}
	})
}

// send sends the command, which is refused on every fifth version.
func (o *outcome) send(ctx context.Context, s *eventstore.Store) {
	var options []eventstore.AppendOption
	if o.named {
		options = append(options, eventstore.CommitID(o.token))
	}
	at, err := eventstore.Transact(ctx, s, order("hot"), tokens, func(at eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) {
		if at.Version%5 == 4 && !slices.Contains(at.State, o.token) && o.events == 2 {
			return nil, errNo
		}
		return said(slices.Repeat([]string{o.token}, o.events)...), nil
	}, options...)
	o.state, o.err, o.refused = at.State, err, errors.Is(err, errNo)
}

// wrong returns why the outcome does not agree with the stream, or "".
func (o *outcome) wrong(stream []string) string {
	at, n := slices.Index(stream, o.token), 0
	for _, token := range stream {
		if token == o.token {
			n++
		}
	}
	together := n == 0 || n == o.events && slices.Equal(stream[at:at+n], slices.Repeat([]string{o.token}, n))
	switch {
	case !together:
		return "its events are not together, once"
	case o.err == nil && n == 0:
		return "it did not happen"
	case o.err == nil && !slices.Equal(o.state, stream[:at+n]):
		return "its state is not that after it"
	case o.refused && n > 0:
		return "it was refused, and happened"
	case o.refused && (len(o.state)%5 != 4 || len(o.state) > len(stream) || !slices.Equal(o.state, stream[:len(o.state)])):
		return "it was refused for events that did not happen"
	}
	return ""
}
