package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/seeds"
)

// tagged returns an event with tags.
func tagged(eventType string, tags ...string) eventstore.NewEvent {
	return eventstore.NewEvent{Type: eventType, Payload: []byte(`{}`), Envelope: eventstore.Envelope{Tags: tags}}
}

func about(tags ...string) eventstore.Query { return eventstore.Query{{Tags: tags}} }

func typesOf(events []eventstore.Event) (types []string) {
	for _, e := range events {
		types = append(types, e.EventType)
	}
	return types
}

// An append on the condition of a query is refused by events that match it, and by no others.
func TestUnless(t *testing.T) {
	a, b := []string{"course:1"}, []string{"course:1", "student:2"}
	for name, c := range map[string]struct {
		query   eventstore.Query
		between eventstore.NewEvent // appended after the query was read
		refused bool
	}{
		"same tag":                  {about(a...), tagged("E", a...), true},
		"more tags":                 {about(a...), tagged("E", b...), true},
		"another tag":               {about(a...), tagged("E", "course:2"), false},
		"no tag":                    {about(a...), tagged("E"), false},
		"one of two tags":           {about(b...), tagged("E", a...), false},
		"both tags":                 {about(b...), tagged("E", "student:2", "course:1"), true},
		"a type":                    {eventstore.Query{{Types: []string{"D", "E"}, Tags: a}}, tagged("E", a...), true},
		"another type":              {eventstore.Query{{Types: []string{"D", "F"}, Tags: a}}, tagged("E", a...), false},
		"the second item":           {eventstore.Query{{Tags: []string{"x"}}, {Tags: a}}, tagged("E", a...), true},
		"neither item":              {eventstore.Query{{Types: []string{"F"}, Tags: a}, {Types: []string{"E"}, Tags: []string{"x"}}}, tagged("E", a...), false},
		"type of one, tag of other": {eventstore.Query{{Types: []string{"E"}, Tags: []string{"x"}}, {Types: []string{"F"}, Tags: a}}, tagged("E", a...), false},
	} {
		for _, had := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, %t", name, had), func(t *testing.T) {
				w := newWorld(t, eventstore.Options{Chain: had})
				if had { // what came before is known
					_, err := w.store.Append(w.ctx, order("0"), eventstore.Any(), []eventstore.NewEvent{tagged("E", b...), tagged("F", a...), tagged("E", "x")})
					w.must(err)
				}
				m, err := w.store.Query(w.ctx, c.query)
				w.must(err)
				_, err = w.store.Append(w.ctx, order("1"), eventstore.NoStream(), []eventstore.NewEvent{c.between})
				w.must(err)
				_, err = w.store.Append(w.ctx, order("2"), eventstore.NoStream(), []eventstore.NewEvent{tagged("G", a...), tagged("H", b...)}, eventstore.Unless(c.query, m.Position))
				conflict := (*eventstore.QueryConflict)(nil)
				if errors.As(err, &conflict) != c.refused || (err != nil) != c.refused {
					w.Fatalf("%v, refused: want %t", err, c.refused)
				}
				if c.refused {
					if have := typesOf(conflict.Since.Events); !slices.Equal(have, []string{"E"}) {
						w.Errorf("the conflict has %v", have)
					}
					w.isStory(order("2"), "")
					_, err = w.store.Append(w.ctx, order("2"), eventstore.NoStream(), said("G"), eventstore.Unless(c.query, conflict.Since.Position))
					w.must(err)
				}
			})
		}
	}
}

// A query finds what a filter over everything finds, in the order of the appends.
func TestQueries(t *testing.T) {
	seeds.Run(t, 1, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t, eventstore.Options{})
		pick := func(prefix string, of, most int) (some []string) {
			for _, n := range r.Perm(of)[:r.IntN(most+1)] {
				some = append(some, fmt.Sprint(prefix, n))
			}
			return some
		}
		var all []eventstore.NewEvent
		var positions []eventstore.Matched
		query := eventstore.Query{{Tags: []string{"t1", "t2"}}, {Types: []string{"E1", "E2"}, Tags: []string{"t3"}}, {Tags: []string{"t0", "t3"}}}
		matches := func(q eventstore.Query, e *eventstore.NewEvent) bool {
			return slices.ContainsFunc(q, func(i eventstore.QueryItem) bool {
				return (len(i.Types) == 0 || slices.Contains(i.Types, e.Type)) && !slices.ContainsFunc(i.Tags, func(tag string) bool { return !slices.Contains(e.Tags, tag) })
			})
		}
		check := func(q eventstore.Query, from int, m eventstore.Matched) {
			t.Helper()
			var want []string
			for i := from; i < len(all); i++ {
				if matches(q, &all[i]) {
					want = append(want, string(all[i].Payload))
				}
			}
			var have []string
			for _, e := range m.Events {
				have = append(have, string(e.Payload))
			}
			if !slices.Equal(have, want) {
				t.Fatalf("seed %d, %+v: %v, want %v", seed, q, have, want)
			}
		}
		for range 60 {
			var parts []eventstore.AppendTo
			for _, n := range r.Perm(3)[:1+r.IntN(2)] {
				part := eventstore.AppendTo{ID: order(fmt.Sprint(n))}
				for range 1 + r.IntN(3) {
					e := tagged(fmt.Sprint("E", r.IntN(4)), pick("t", 5, 3)...)
					e.Payload = fmt.Append(nil, len(all))
					part.Events, all = append(part.Events, e), append(all, e)
				}
				parts = append(parts, part)
			}
			_, err := w.store.AppendAll(w.ctx, parts)
			w.must(err)
			var after eventstore.QueryPosition
			from := 0
			if len(positions) > 0 {
				last := positions[len(positions)-1]
				text, err := last.Position.MarshalText()
				w.must(err)
				w.must(after.UnmarshalText(text))
				if !reflect.DeepEqual(after, last.Position) {
					t.Fatalf("the position %s is read as %v", text, after)
				}
				from = len(all) - countEvents(parts)
			}
			m, err := w.store.QueryAfter(w.ctx, query, after)
			w.must(err)
			check(query, from, m)
			positions = append(positions, m)
			q := eventstore.Query{{Types: pick("E", 4, 2), Tags: []string{fmt.Sprint("t", r.IntN(6))}}, {Types: pick("E", 4, 2), Tags: append(pick("t", 4, 2), "t4")}}
			m, err = w.store.Query(w.ctx, q)
			w.must(err)
			check(q, 0, m)
		}
	})
}

func countEvents(parts []eventstore.AppendTo) (n int) {
	for _, p := range parts {
		n += len(p.Events)
	}
	return n
}

func TestQueriesAreChecked(t *testing.T) {
	w, many := newWorld(t, eventstore.Options{}), make([]string, 17)
	for i := range many {
		many[i] = fmt.Sprint("t", i)
	}
	m, err := w.store.Query(w.ctx, about("a"))
	w.must(err)
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, eventstore.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, q := range map[string]eventstore.Query{
		"nothing": {}, "no tag": {{Types: []string{"E"}}}, "empty tag": about(""), "a # in a tag": about("a#b"), "a tag twice": about("a", "a"),
		"a long tag": about(strings.Repeat("x", 129)), "many tags": about(many...), "an empty type": {{Types: []string{""}, Tags: []string{"a"}}},
		"many items": slices.Repeat(about("a"), 11), "many types": {{Types: slices.Repeat([]string{"E"}, 51), Tags: []string{"a"}}},
	} {
		_, err := w.store.Query(w.ctx, q)
		refused(what, err)
		_, err = w.store.Append(w.ctx, order("1"), eventstore.Any(), said("E"), eventstore.Unless(q, eventstore.QueryPosition{}))
		refused(what, err)
	}
	for what, tags := range map[string][]string{"empty tag": {""}, "a # in a tag": {"#"}, "a tag twice": {"a", "b", "a"}, "a long tag": {strings.Repeat("x", 129)}, "many tags": many} {
		_, err := w.store.Append(w.ctx, order("1"), eventstore.Any(), []eventstore.NewEvent{tagged("E", tags...)})
		refused(what, err)
	}
	for what, q := range map[string]eventstore.Query{"another tag": about("b"), "more items": {{Tags: []string{"a"}}, {Tags: []string{"a"}}}} {
		_, err := w.store.QueryAfter(w.ctx, q, m.Position)
		refused(what, err)
		_, err = w.store.Append(w.ctx, order("1"), eventstore.Any(), said("E"), eventstore.Unless(q, m.Position))
		refused(what, err)
	}
	for _, text := range []string{"x", "e30", "W10", "bnVsbA", strings.Repeat("A", 9)} {
		var p eventstore.QueryPosition
		refused(text, p.UnmarshalText([]byte(text)))
	}
	_, err = w.store.AppendAll(w.ctx, manyTags(40))
	if !errors.Is(err, eventstore.ErrTooLarge) {
		t.Errorf("too many tags in an append: %v", err)
	}
	w.isStory(order("1"), "")
	put := newWorld(t, eventstore.Options{PutMode: true})
	_, err = put.store.Query(w.ctx, about("a"))
	refused("put mode", err)
	_, err = put.store.Append(w.ctx, order("1"), eventstore.Any(), []eventstore.NewEvent{tagged("E", "a")})
	refused("put mode", err)
	_, err = put.store.Append(w.ctx, order("1"), eventstore.Any(), said("E"), eventstore.Unless(about("a"), eventstore.QueryPosition{}))
	refused("put mode", err)
}

// manyTags returns an append with n different tags.
func manyTags(n int) []eventstore.AppendTo {
	part := eventstore.AppendTo{ID: order("1")}
	for i := range n {
		part.Events = append(part.Events, tagged("E", fmt.Sprint("a", i), fmt.Sprint("b", i)))
	}
	return []eventstore.AppendTo{part}
}

// A commit ID with other tags is another append, and a chain covers tags.
func TestTagsAreContent(t *testing.T) {
	w := newWorld(t, eventstore.Options{Chain: true})
	first := []eventstore.NewEvent{tagged("E", "a")}
	for want, events := range map[error][]eventstore.NewEvent{nil: first, eventstore.ErrCommitReused: {tagged("E", "b")}} {
		if _, err := w.store.Append(w.ctx, order("1"), eventstore.Any(), first, eventstore.CommitID("c")); err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.Append(w.ctx, order("1"), eventstore.Any(), events, eventstore.CommitID("c")); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	w.isStory(order("1"), "1 E", eventstore.Verified())
	for e, err := range w.store.Read(w.ctx, order("1")) {
		w.must(err)
		hash := eventstore.ChainHash(nil, &e)
		if e.Tags = []string{"b"}; reflect.DeepEqual(hash, eventstore.ChainHash(nil, &e)) {
			t.Error("the hash of an event does not depend on its tags")
		}
	}
}

// enrollments is the state of a decision: who is enrolled where.
type enrollments struct {
	ofCourse, ofStudent map[string][]string
}

var enrollment = eventstore.Fold[enrollments]{Apply: func(s enrollments, e eventstore.Event) (enrollments, error) {
	if s.ofCourse == nil {
		s = enrollments{map[string][]string{}, map[string][]string{}}
	}
	course, student := e.Tags[0], e.Tags[1]
	s.ofCourse[course], s.ofStudent[student] = append(s.ofCourse[course], student), append(s.ofStudent[student], course)
	return s, nil
}}

var errFull = errors.New("full")

// enroll enrolls a student: a course has three places, and a student takes at most two courses.
func enroll(ctx context.Context, s *eventstore.Store, course, student string) error {
	q := eventstore.Query{{Types: []string{"Enrolled"}, Tags: []string{course}}, {Types: []string{"Enrolled"}, Tags: []string{student}}}
	_, err := eventstore.TransactQuery(ctx, s, q, enrollment, func(at enrollments) ([]eventstore.AppendTo, error) {
		if len(at.ofCourse[course]) >= 3 || len(at.ofStudent[student]) >= 2 || slices.Contains(at.ofCourse[course], student) {
			return nil, errFull
		}
		return []eventstore.AppendTo{{ID: eventstore.ID{Type: "course", ID: course}, Events: []eventstore.NewEvent{tagged("Enrolled", course, student)}}}, nil
	}, eventstore.CommitID(course+"-"+student))
	return err
}

// Two rules over two kinds of things hold, whatever happens at the same time, fails, and is repeated;
// and nobody is refused without a reason.
func TestTransactQuery(t *testing.T) {
	for _, effect := range []enginetest.Effect{0, enginetest.Fail, enginetest.LoseAnswer, enginetest.Conflict} {
		t.Run(fmt.Sprint(effect), func(t *testing.T) {
			w := newWorld(t, eventstore.Options{})
			other, err := eventstore.New(w.table, eventstore.Options{}) // another process
			w.must(err)
			if effect != 0 {
				w.db.Inject(enginetest.Fault{Effect: effect, Writes: true, Every: 4})
			}
			var running sync.WaitGroup
			for n := range 24 {
				s := []*eventstore.Store{w.store, other}[n%2]
				running.Go(func() {
					course, student := fmt.Sprint("course:", n%4), fmt.Sprint("student:", n%6)
					for range 2 {
						err := errors.New("not tried")
						for try := 0; err != nil && !errors.Is(err, errFull) && try < 40; try++ {
							err = enroll(t.Context(), s, course, student)
						}
						if err != nil && !errors.Is(err, errFull) {
							t.Error(err)
						}
					}
				})
			}
			running.Wait()
			w.db.Heal()
			total := map[string]int{}
			for c := range 4 {
				course := fmt.Sprint("course:", c)
				at, err := eventstore.LoadQuery(w.ctx, w.store, about(course), enrollment)
				w.must(err)
				students := at.State.ofCourse[course]
				if len(students) > 3 || len(slices.Compact(slices.Sorted(slices.Values(students)))) != len(students) {
					t.Errorf("%s has %v", course, students)
				}
				for _, s := range students {
					total[s]++
				}
			}
			for student, n := range total {
				if n > 2 {
					t.Errorf("%s takes %d courses", student, n)
				}
			}
			for n := range 24 { // everybody who was refused still has a reason
				if err := enroll(w.ctx, w.store, fmt.Sprint("course:", n%4), fmt.Sprint("student:", n%6)); err != nil && !errors.Is(err, errFull) {
					t.Error(err)
				}
			}
			for s, n := range total {
				at, err := eventstore.LoadQuery(w.ctx, w.store, about(s), enrollment)
				w.must(err)
				if have := len(at.State.ofStudent[s]); have != n {
					t.Errorf("%s: %d courses, then %d: somebody was refused without a reason", s, n, have)
				}
			}
		})
	}
}

// boundaryCall is a query, or an append on the condition that it still has the same events.
type boundaryCall struct {
	append bool
	query  eventstore.Query
	event  eventstore.NewEvent // to append; its type is the letter of a type, its payload unique
	named  bool

	seen    string // tokens that match, sorted: the result of a query, or the condition of an append
	refused bool
	err     error // an error after which the outcome is unknown
}

// matching returns the tokens of the events in a state that match a query. An event is written as
// its token, type and tags.
func matching(state string, q eventstore.Query) string {
	var found []string
	for _, e := range strings.Fields(state) {
		token, rest, _ := strings.Cut(e, "/")
		eventType, tags, _ := strings.Cut(rest, "/")
		if slices.ContainsFunc(q, func(i eventstore.QueryItem) bool {
			return (len(i.Types) == 0 || slices.Contains(i.Types, eventType)) && !slices.ContainsFunc(i.Tags, func(tag string) bool { return !strings.Contains(tags, tag) })
		}) {
			found = append(found, token)
		}
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

func (c *boundaryCall) step(state string) (bool, string) {
	have := matching(state, c.query)
	token := string(c.event.Payload)
	switch {
	case !c.append:
		return have == c.seen, state
	case strings.Contains(" "+state, " "+token+"/"): // it had happened already
		return !c.refused, state
	case c.refused:
		return have != c.seen, state
	}
	return have == c.seen, state + token + "/" + c.event.Type + "/" + strings.Join(c.event.Tags, "") + " "
}

var boundaryModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) { return input.(*boundaryCall).step(state.(string)) },
}

// Clients query, and append on the condition of what they have seen. All results must match some
// sequential order.
func TestBoundariesAreLinearizable(t *testing.T) { seeds.Run(t, 1, linearizableBoundaries) }

func linearizableBoundaries(t *testing.T, seed uint64) {
	for h := range 60 {
		r := rand.New(rand.NewPCG(seed, uint64(h)))
		w := newWorld(t, eventstore.Options{})
		if h%2 == 1 {
			w.db.Inject(enginetest.Fault{Effect: []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer, enginetest.Conflict}[r.IntN(3)], Writes: true, Every: 2 + r.IntN(4)})
		}
		history := boundaryHistory(w, r)
		if r := porcupine.CheckOperationsTimeout(boundaryModel, history, time.Minute); r != porcupine.Ok {
			var b strings.Builder
			for _, op := range history {
				fmt.Fprintf(&b, "client %d [%d, %d] %+v\n", op.ClientId, op.Call, op.Return, *op.Input.(*boundaryCall))
			}
			t.Fatalf("history %d of seed %d: %s\n%s", h, seed, r, b.String())
		}
	}
}

func boundaryHistory(w *world, r *rand.Rand) (history []porcupine.Operation) {
	const clients, each = 4, 5
	var mu sync.Mutex
	var running sync.WaitGroup
	began := time.Now()
	for client := range clients {
		own := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
		record := func(c *boundaryCall, do func()) {
			op := porcupine.Operation{ClientId: client, Input: c, Call: time.Since(began).Nanoseconds()}
			do()
			op.Return = time.Since(began).Nanoseconds()
			mu.Lock()
			history = append(history, op)
			mu.Unlock()
		}
		running.Go(func() {
			for i := range each {
				q, event := randomBoundary(own, fmt.Sprintf("%d.%d", client, i))
				read, m := &boundaryCall{query: q}, eventstore.Matched{}
				record(read, func() { m, read.err = w.store.Query(w.ctx, q) })
				for _, e := range m.Events {
					read.seen += string(e.Payload) + " "
				}
				tokens := strings.Fields(read.seen)
				slices.Sort(tokens)
				read.seen = strings.Join(tokens, " ")
				named, options := own.IntN(2) == 0, []eventstore.AppendOption{eventstore.Unless(q, m.Position)}
				if named {
					options = append(options, eventstore.CommitID(string(event.Payload)))
				}
				id := order(fmt.Sprint(own.IntN(2)))
				for range 1 + own.IntN(2) {
					c := &boundaryCall{append: true, query: q, event: event, named: named, seen: read.seen}
					record(c, func() {
						_, c.err = w.store.Append(w.ctx, id, eventstore.Any(), []eventstore.NewEvent{event}, options...)
						if c.refused = errors.Is(c.err, eventstore.ErrQueryConflict); c.refused {
							c.err = nil
						}
					})
					if !named {
						break
					}
				}
			}
		})
	}
	running.Wait()
	w.db.Heal()
	return settleBoundaries(w, history)
}

func randomBoundary(r *rand.Rand, token string) (eventstore.Query, eventstore.NewEvent) {
	tags := func() (some []string) {
		for _, n := range r.Perm(3)[:1+r.IntN(2)] {
			some = append(some, string(rune('a'+n)))
		}
		return some
	}
	item := func() eventstore.QueryItem {
		i := eventstore.QueryItem{Tags: tags()}
		if r.IntN(2) == 0 {
			i.Types = []string{[]string{"X", "Y"}[r.IntN(2)]}
		}
		return i
	}
	q := eventstore.Query{item()}
	if r.IntN(3) == 0 {
		q = append(q, item())
	}
	e := tagged([]string{"X", "Y"}[r.IntN(2)], tags()...)
	e.Payload = []byte(token)
	return q, e
}

// settleBoundaries finds out the outcome of calls that returned an error, as settle does.
func settleBoundaries(w *world, history []porcupine.Operation) (settled []porcupine.Operation) {
	m, err := w.store.Query(w.ctx, eventstore.Query{{Tags: []string{"a"}}, {Tags: []string{"b"}}, {Tags: []string{"c"}}})
	w.must(err)
	happened := map[string]bool{}
	for _, e := range m.Events {
		happened[string(e.Payload)] = true
	}
	for _, op := range history {
		if c := op.Input.(*boundaryCall); c.err != nil {
			if !c.append || !happened[string(c.event.Payload)] {
				continue
			}
			op.Return = math.MaxInt64
		}
		settled = append(settled, op)
	}
	return settled
}

// Wrong results are noticed.
func TestBoundaryChecks(t *testing.T) {
	x := tagged("X", "a")
	x.Payload = []byte("1")
	y := x
	y.Payload = []byte("2")
	done := &boundaryCall{append: true, query: about("a"), event: x}
	for name, wrong := range map[string]*boundaryCall{
		"missing": {query: about("a")}, "unseen": {append: true, query: about("a"), event: y}, "refused for nothing": {append: true, query: about("b"), event: y, refused: true},
	} {
		history := []porcupine.Operation{{Input: done, Call: 1, Return: 2}, {ClientId: 1, Input: wrong, Call: 3, Return: 4}}
		if porcupine.CheckOperations(boundaryModel, history) {
			t.Errorf("%s: it passes for linearizable", name)
		}
	}
}

// The cost of an append that depends on three tags does not depend on how many events there are. With
// ONEFOLD_BENCH_EVENTS it is also measured with so many; ten million take half an hour to append.
func BenchmarkUnless(b *testing.B) {
	sizes := []int{1_000, 100_000}
	if more, err := strconv.Atoi(os.Getenv("ONEFOLD_BENCH_EVENTS")); err == nil {
		sizes = append(sizes, more)
	}
	for _, events := range sizes {
		b.Run(fmt.Sprint(events), func(b *testing.B) {
			w := newBench(b)
			for n := 0; n < events; n += 20 {
				var some []eventstore.NewEvent
				for i := range 20 {
					some = append(some, tagged("E", fmt.Sprint("x", (n+i)%1000), fmt.Sprint("y", n%100)))
				}
				if _, err := w.Append(b.Context(), order(fmt.Sprint(n/1000)), eventstore.Any(), some); err != nil {
					b.Fatal(err)
				}
			}
			q := eventstore.Query{{Tags: []string{"x1"}}, {Tags: []string{"y2"}}, {Types: []string{"F"}, Tags: []string{"z3"}}}
			m, err := w.Query(b.Context(), q)
			if err != nil {
				b.Fatal(err)
			}
			for n := 0; b.Loop(); n++ {
				if _, err := w.Append(b.Context(), order("b"), eventstore.Exact(int64(n)), []eventstore.NewEvent{tagged("E", "other")}, eventstore.Unless(q, m.Position)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
