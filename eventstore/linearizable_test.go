package eventstore_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/seeds"
)

// streams holds the contents of three aggregates: the token of each event, followed by a space.
type streams [3]string

// storeCall is an append of one event to each of some aggregates, or a read of one, with its
// result.
type storeCall struct {
	read     bool
	at       []int                 // indexes of the aggregates
	expected []eventstore.Expected // of an append, for each aggregate
	meets    []func(int) bool      // the same conditions, for the model
	token    string                // of an append: its commit ID and the type of its events
	named    bool

	story    string // what was read
	versions []int  // of a successful append
	refused  int    // index of the aggregate that refused the append; -1 means none
	actual   int    // its version
	err      error  // an error after which the outcome is unknown
}

func (c *storeCall) send(w *world) {
	c.refused = -1
	if c.read {
		for e, err := range w.store.Read(w.ctx, order(fmt.Sprint(c.at[0]))) {
			if err != nil {
				c.err = err
				return
			}
			c.story += e.EventType + " "
		}
		return
	}
	var parts []eventstore.AppendTo
	for i, n := range c.at {
		parts = append(parts, to(order(fmt.Sprint(n)), c.expected[i], c.token))
	}
	var options []eventstore.AppendOption
	if c.named {
		options = append(options, eventstore.CommitID(c.token))
	}
	commits, err := w.store.AppendAll(w.ctx, parts, options...)
	conflict := (*eventstore.Conflict)(nil)
	switch {
	case errors.As(err, &conflict):
		_, c.err = fmt.Sscan(conflict.ID.ID, &c.refused)
		c.actual = int(conflict.Actual)
	case err != nil:
		c.err = err
	}
	for _, commit := range commits {
		c.versions = append(c.versions, int(commit.Version))
	}
}

// step reports whether the call can have happened with its result, and returns the streams after
// it.
func (c *storeCall) step(s streams) (bool, streams) {
	if c.read {
		return s[c.at[0]] == c.story, s
	}
	next := s
	for i, n := range c.at {
		tokens := strings.Fields(s[n])
		version := len(tokens) + 1
		for before, token := range tokens {
			if token == c.token {
				version = before + 1 // it had happened already
			}
		}
		if version > len(tokens) {
			if !c.meets[i](len(tokens)) {
				return len(c.versions) == 0 && c.refusedBy(s), s
			}
			next[n] += c.token + " "
		}
		if len(c.versions) > 0 && c.versions[i] != version {
			return false, s
		}
	}
	return c.refused < 0, next
}

// refusedBy reports whether the named aggregate would refuse the append.
func (c *storeCall) refusedBy(s streams) bool {
	for i, n := range c.at {
		if n == c.refused {
			have := len(strings.Fields(s[n]))
			return have == c.actual && !c.meets[i](have)
		}
	}
	return false
}

var streamsModel = porcupine.Model{
	Init: func() any { return streams{} },
	Step: func(state, input, _ any) (bool, any) { return input.(*storeCall).step(state.(streams)) },
	DescribeOperation: func(input, _ any) string {
		return fmt.Sprintf("%+v", *input.(*storeCall))
	},
}

// Clients make concurrent appends to one and to several aggregates, and reads. Some appends are
// repeated, and some get no response. All results must match some sequential order in which each
// call happens between its start and its end.
func TestLinearizable(t *testing.T) { seeds.Run(t, 1, linearizable) }

func linearizable(t *testing.T, seed uint64) {
	histories := 40
	if testing.Short() {
		histories = 10
	}
	both(t, func(w *world) {
		for h := range histories {
			r := rand.New(rand.NewPCG(seed, uint64(h)))
			one := newWorld(w.T, eventstore.Options{PutMode: w.oneByOne, PageBytes: w.pageBytes})
			if h%2 == 1 {
				one.db.Inject(enginetest.Fault{Effect: []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer, enginetest.Conflict}[r.IntN(3)], Writes: true, Every: 2 + r.IntN(4)})
			}
			history := recordHistory(one, r)
			if r := porcupine.CheckOperationsTimeout(streamsModel, history, time.Minute); r != porcupine.Ok {
				w.Fatalf("history %d of seed %d: %s\n%s", h, seed, r, describe(history))
			}
		}
	})
}

// Wrong results are noticed: a read that misses an append, a doubled event, half of a multi-stream append.
func TestLinearizableChecks(t *testing.T) {
	anything := func(int) bool { return true }
	done := &storeCall{at: []int{0, 1}, meets: []func(int) bool{anything, anything}, token: "a", versions: []int{1, 1}, refused: -1}
	for name, wrong := range map[string]*storeCall{
		"missing": {read: true, at: []int{0}}, "twice": {read: true, at: []int{0}, story: "a a "}, "half": {read: true, at: []int{1}},
		"wrong version":        {at: []int{0}, meets: []func(int) bool{anything}, token: "b", versions: []int{1}, refused: -1},
		"conflict without one": {at: []int{0}, meets: []func(int) bool{anything}, token: "b", refused: 0, actual: 1},
	} {
		history := []porcupine.Operation{{Input: done, Call: 1, Return: 2}, {ClientId: 1, Input: wrong, Call: 3, Return: 4}}
		if porcupine.CheckOperations(streamsModel, history) {
			t.Errorf("%s: it passes for linearizable", name)
		}
	}
}

func describe(history []porcupine.Operation) string {
	var b strings.Builder
	for _, op := range history {
		fmt.Fprintf(&b, "client %d [%d, %d] %+v\n", op.ClientId, op.Call, op.Return, *op.Input.(*storeCall))
	}
	return b.String()
}

func recordHistory(w *world, r *rand.Rand) []porcupine.Operation {
	const clients, each = 5, 8
	var mu sync.Mutex
	var history []porcupine.Operation
	var running sync.WaitGroup
	began := time.Now()
	for client := range clients {
		own := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
		running.Go(func() {
			for i := range each {
				c := randomCall(own, fmt.Sprintf("%d.%d", client, i), w.oneByOne)
				for range 1 + own.IntN(2) { // a named append may be repeated
					again := *c
					call := time.Since(began).Nanoseconds()
					again.send(w)
					op := porcupine.Operation{ClientId: client, Input: &again, Call: call, Return: time.Since(began).Nanoseconds()}
					mu.Lock()
					history = append(history, op)
					mu.Unlock()
					if !c.named {
						break
					}
				}
			}
		})
	}
	running.Wait()
	w.db.Heal()
	return settle(w, history)
}

// settle finds out the outcome of appends that returned an error. Those that happened did so at any
// time after their call, and the others never.
func settle(w *world, history []porcupine.Operation) []porcupine.Operation {
	end := ""
	for n := range len(streams{}) {
		end += " " + w.story(order(fmt.Sprint(n)))
	}
	var settled []porcupine.Operation
	for _, op := range history {
		if c := op.Input.(*storeCall); c.err != nil {
			if c.read || !strings.Contains(end+" ", " "+c.token+" ") {
				continue
			}
			op.Return = math.MaxInt64
		}
		settled = append(settled, op)
	}
	return settled
}

func randomCall(r *rand.Rand, token string, oneByOne bool) *storeCall {
	c := &storeCall{read: r.IntN(4) == 0, at: r.Perm(3)[:1+r.IntN(3)], token: token, named: r.IntN(2) == 0}
	if c.read || oneByOne {
		c.at = c.at[:1]
	}
	c.named = c.named && !c.read
	for range c.at {
		var e eventstore.Expected
		var meets func(int) bool
		switch n := r.IntN(8); r.IntN(4) {
		case 0:
			e, meets = eventstore.Any(), func(int) bool { return true }
		case 1:
			e, meets = eventstore.Exists(), func(have int) bool { return have > 0 }
		case 2:
			e, meets = eventstore.NoStream(), func(have int) bool { return have == 0 }
		default:
			e, meets = eventstore.Exact(int64(n)), func(have int) bool { return have == n }
		}
		c.expected, c.meets = append(c.expected, e), append(c.meets, meets)
	}
	return c
}
