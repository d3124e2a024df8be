package eventstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// modelStream is what a stream should be.
type modelStream struct {
	types  []string
	closed bool
	marks  map[string]eventstore.Commit
	kept   int64 // first event that was not truncated
}

// modelRun compares a store with a model.
type modelRun struct {
	*world
	r       *rand.Rand
	o       eventstore.Options
	stores  []*eventstore.Store
	streams map[string]*modelStream
	past    map[string]shelf
	n       int
}

// Random operations, by several stores with pages of different sizes, of which requests fail or lose
// their answers, have the results of a simple model: in transactions and put mode, with and without
// chains.
func TestModel(t *testing.T) {
	for name, o := range map[string]eventstore.Options{
		"transactions": {}, "chains": {Chain: true}, "one by one": {PutMode: true}, "chains one by one": {PutMode: true, Chain: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seeds.Run(t, 12, func(t *testing.T, seed uint64) { runModel(t, o, seed) })
		})
	}
}

func runModel(t *testing.T, o eventstore.Options, seed uint64) {
	m := &modelRun{world: newWorld(t, o), r: rand.New(rand.NewPCG(seed, 0)), o: o, streams: map[string]*modelStream{}, past: map[string]shelf{}}
	for range 3 {
		m.stores = append(m.stores, m.open())
	}
	effect := []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer, enginetest.Throttle, enginetest.Conflict}[m.r.IntN(4)]
	for range 150 {
		if m.db.Heal(); m.r.IntN(3) == 0 {
			m.db.Inject(enginetest.Fault{Effect: effect, Writes: true, Nth: 1 + m.r.IntN(3)})
		}
		switch k := m.r.IntN(20); {
		case k < 12:
			m.appendSome()
		case k < 13 && !o.PutMode:
			m.appendToTwo()
		case k < 14:
			m.truncate()
		case k == 14:
			m.close()
		case k == 15:
			m.stores[m.r.IntN(len(m.stores))] = m.open()
		default:
			m.check(m.name())
		}
	}
	m.db.Heal()
	for name := range m.streams {
		m.check(name)
	}
	listed := 0
	for range m.stores[0].HeadsOfType(m.ctx, "order") {
		listed++
	}
	if listed != len(m.streams) {
		t.Errorf("%d aggregates are listed, want %d", listed, len(m.streams))
	}
}

// open opens a store with pages of a random size, often so small that each append closes one.
func (m *modelRun) open() *eventstore.Store {
	o := m.o
	o.PageBytes = []int{1, 300, 1000, 0}[m.r.IntN(4)]
	o.Archive = func(ctx context.Context, id eventstore.ID, from, to int64) iter.Seq2[eventstore.Event, error] {
		return m.past[id.ID].read(ctx, id, from, to)
	}
	s, err := eventstore.New(m.table, o)
	m.must(err)
	return s
}

func (m *modelRun) store() *eventstore.Store { return m.stores[m.r.IntN(len(m.stores))] }

func (m *modelRun) name() string { return fmt.Sprint(m.r.IntN(4)) }

func (m *modelRun) stream(name string) *modelStream {
	if s := m.streams[name]; s != nil {
		return s
	}
	return &modelStream{marks: map[string]eventstore.Commit{}, kept: 1}
}

// some returns random events, sometimes too many bytes for the head.
func (m *modelRun) some() (events []eventstore.NewEvent, types []string) {
	size := m.r.IntN(200)
	if m.r.IntN(25) == 0 {
		size = 70 << 10
	}
	for range 1 + m.r.IntN(5) {
		m.n++
		types = append(types, fmt.Sprint("E", m.n))
		events = append(events, eventstore.NewEvent{Type: types[len(types)-1], Payload: bytes.Repeat([]byte("x"), size)})
	}
	return events, types
}

func (m *modelRun) expected(s *modelStream) (e eventstore.Expected, meets bool) {
	version := int64(len(s.types))
	switch m.r.IntN(5) {
	case 0:
		return eventstore.Any(), true
	case 1:
		return eventstore.Exists(), version > 0
	case 2:
		return eventstore.NoStream(), version == 0
	case 3:
		n := m.r.Int64N(version + 3)
		return eventstore.Exact(n), n == version
	}
	return eventstore.Exact(version), true
}

// appendSome appends to a stream, sometimes repeatedly or with an ID of before.
func (m *modelRun) appendSome() {
	name := m.name()
	s := m.stream(name)
	events, types := m.some()
	expected, meets := m.expected(s)
	var options []eventstore.AppendOption
	commit := ""
	if m.r.IntN(2) == 0 {
		commit = fmt.Sprint("c", m.n)
		options = append(options, eventstore.CommitID(commit))
	}
	for range 1 + m.r.IntN(2) {
		c, err := m.store().Append(m.ctx, order(name), expected, events, options...)
		done, again := s.marks[commit]
		switch {
		case commit != "" && again:
			if err != nil || c.First != done.First || c.Version != done.Version || !c.Again {
				m.Fatalf("append %s to %s again: %+v, %v; want %+v", commit, name, c, err, done)
			}
		case s.closed:
			if !errors.Is(err, eventstore.ErrClosed) && (meets || !errors.Is(err, eventstore.ErrConflict)) {
				m.Fatalf("append to %s, which is closed: %v", name, err)
			}
		case !meets:
			conflict := (*eventstore.Conflict)(nil)
			if !errors.As(err, &conflict) || conflict.Actual != int64(len(s.types)) {
				m.Fatalf("append to %s of %d events, expecting %s: %v", name, len(s.types), expected, err)
			}
		default:
			if err != nil || c.First != int64(len(s.types))+1 || c.Version != c.First+int64(len(types))-1 {
				m.Fatalf("append to %s of %d events: %+v, %v", name, len(s.types), c, err)
			}
			s.types = append(s.types, types...)
			if m.streams[name] = s; commit != "" {
				s.marks[commit] = c
			}
		}
		if commit == "" {
			return
		}
	}
}

func (m *modelRun) appendToTwo() {
	a, b := m.stream("0"), m.stream("1")
	events, types := m.some()
	_, err := m.store().AppendAll(m.ctx, []eventstore.AppendTo{{ID: order("0"), Events: events}, {ID: order("1"), Events: events}})
	if a.closed || b.closed {
		if !errors.Is(err, eventstore.ErrClosed) {
			m.Fatalf("append to two, one of which is closed: %v", err)
		}
		return
	}
	m.must(err)
	a.types, b.types = append(a.types, types...), append(b.types, types...)
	m.streams["0"], m.streams["1"] = a, b
}

func (m *modelRun) close() {
	name := m.name()
	s := m.streams[name]
	if m.r.IntN(3) > 0 {
		return
	}
	m.db.Heal()
	if err := m.store().Close(m.ctx, order(name)); s == nil && !errors.Is(err, table.ErrNotFound) || s != nil && err != nil {
		m.Fatalf("close %s: %v", name, err)
	}
	if s != nil {
		s.closed = true
	}
}

// truncate moves events into an archive, and deletes some or all of them.
func (m *modelRun) truncate() {
	name := m.name()
	s := m.streams[name]
	if s == nil || m.r.IntN(3) == 0 || int64(len(s.types)) <= s.kept {
		return
	}
	keep := s.kept + 1 + m.r.Int64N(int64(len(s.types))-s.kept)
	var past shelf
	for e, err := range m.store().Read(m.ctx, order(name), eventstore.To(keep-1)) {
		m.must(err)
		past = append(past, e)
	}
	m.past[name] = past
	m.db.Heal()
	overwrite(m.world, eventstore.Heads, order(name), func(h *eventstore.Head) { h.FirstKept, h.KeptAfter = keep, past[keep-2].Hash })
	s.kept = keep
	m.db.Inject(enginetest.Fault{Effect: enginetest.Fail, Writes: true, Nth: 1 + m.r.IntN(4)}) // it may stop anywhere
	_, err := m.store().Trim(m.ctx, order(name))
	m.check(name)
	if m.db.Heal(); err != nil {
		_, err = m.store().Trim(m.ctx, order(name))
		m.must(err)
	}
	for p, err := range eventstore.PagesFrom.All(m.ctx, m.table, eventstore.PagesIn{ID: order(name), From: 1, To: keep}) {
		m.must(err)
		m.Fatalf("%s is truncated before %d, but there is a page from %d on", name, keep, p.First)
	}
}

// check reads a stream in all ways.
func (m *modelRun) check(name string) {
	s := m.stream(name)
	last := int64(len(s.types))
	from, to := 1+m.r.Int64N(last+2), m.r.Int64N(last+3)
	for _, c := range []struct {
		from, to int64
		options  []eventstore.ReadOption
	}{
		{1, last, nil}, {1, last, []eventstore.ReadOption{eventstore.Verified()}}, {1, last, []eventstore.ReadOption{eventstore.Backwards()}},
		{from, last, []eventstore.ReadOption{eventstore.From(from)}}, {from, min(to, last), []eventstore.ReadOption{eventstore.From(from), eventstore.To(to)}},
		{from, min(to, last), []eventstore.ReadOption{eventstore.From(from), eventstore.To(to), eventstore.Backwards()}},
		{max(from, s.kept), last, []eventstore.ReadOption{eventstore.From(from), eventstore.Kept()}},
		{s.kept, last, []eventstore.ReadOption{eventstore.Kept(), eventstore.Verified()}},
	} {
		var want, have []string
		for n := c.from; n <= c.to; n++ {
			want = append(want, fmt.Sprint(n, " ", s.types[n-1]))
		}
		for e, err := range m.store().Read(m.ctx, order(name), c.options...) {
			if err != nil {
				m.Fatalf("read %s from %d to %d of %d, kept from %d on: %v", name, c.from, c.to, last, s.kept, err)
			}
			have = append(have, fmt.Sprint(e.Seq, " ", e.EventType))
		}
		if len(have) > 1 && have[0] > "" && slices.Equal(reversed(have), want) {
			have = reversed(have)
		}
		if !slices.Equal(have, want) {
			m.Fatalf("%s from %d to %d: %v, want %v", name, c.from, c.to, have, want)
		}
	}
	h, err := m.store().Head(m.ctx, order(name))
	switch {
	case m.streams[name] == nil:
		if !errors.Is(err, table.ErrNotFound) {
			m.Fatalf("head of %s: %+v, %v", name, h, err)
		}
	case err != nil || h.Version != last || (h.State == eventstore.Closed) != s.closed:
		m.Fatalf("head of %s: %+v, %v; want version %d", name, h, err, last)
	}
}

func reversed(all []string) []string {
	all = slices.Clone(all)
	slices.Reverse(all)
	return all
}
