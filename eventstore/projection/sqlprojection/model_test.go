package sqlprojection_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/eventstore/projection/sqlprojection"
	"github.com/onefold/onefold/internal/seeds"
)

// TestAgainstModel compares random operations by processes that crash, and by two at once, with a
// model in memory that knows neither transactions nor crashes.
func TestAgainstModel(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		seeds.Run(t, 8, func(t *testing.T, seed uint64) {
			w := newWorld(t)
			r := &run{world: w, t: t, d: empty(), Rand: rand.New(rand.NewPCG(seed, 0)), versions: map[int]*modelVersion{1: newModelVersion()}, last: 1}
			r.db = r.d.open(t, nil)
			w.must(r.project(r.db, 1, sqlprojection.Options{}).Start(w.ctx))
			for range 60 {
				r.step()
				r.check()
			}
			w.fixed.Store(true)
			r.retry(r.any())
			r.check()
		})
	})
}

// run is a run of the random test: the database, and the model.
type run struct {
	*world
	*rand.Rand
	t        *testing.T
	d        database
	db       *sql.DB
	appends  []modelAppend
	versions map[int]*modelVersion
	active   int
	last     int // highest version that ever was
	doing    string
}

type modelAppend struct {
	copy   string
	first  int
	events []any
}

type modelVersion struct {
	position int // appends that were applied
	parked   []modelParked
	titles   map[string]string
	lentTo   map[string]string
	times    map[string]int
	lent     map[string]int
	stories  map[string]string
}

type modelParked struct {
	position, seq int
	copy          string
	event         any
}

func newModelVersion() *modelVersion {
	return &modelVersion{titles: map[string]string{}, lentTo: map[string]string{}, times: map[string]int{}, lent: map[string]int{}, stories: map[string]string{}}
}

// apply reports whether the event can be applied.
func (m *modelVersion) apply(copy string, event any, faulty func(Faulty) bool) bool {
	switch e := event.(type) {
	case Acquired:
		m.titles[copy] = e.Title
	case Lent:
		if _, ok := m.titles[copy]; ok {
			m.lentTo[copy] = e.Member
			m.times[copy]++
		}
		m.lent[e.Member]++
		m.stories[e.Member] += copy + " "
	case Returned:
		if _, ok := m.titles[copy]; ok {
			m.lentTo[copy] = ""
		}
	case Faulty:
		if faulty(e) {
			return false
		}
		m.titles[copy] = "half"
	}
	return true
}

func (m *modelVersion) waits(copy string) bool {
	return slices.ContainsFunc(m.parked, func(p modelParked) bool { return p.copy == copy })
}

func (m *modelVersion) dump() string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(m.titles)) {
		fmt.Fprintln(&b, id, m.titles[id], m.lentTo[id], m.times[id])
	}
	b.WriteString("--\n")
	for _, id := range slices.Sorted(maps.Keys(m.lent)) {
		fmt.Fprintln(&b, id, m.lent[id], m.stories[id])
	}
	return b.String()
}

func (r *run) step() {
	v := r.any()
	switch n := r.IntN(20); {
	case n < 6:
		r.appendSome()
	case n < 12:
		r.catchUp(v)
	case n < 13:
		r.fixed.Store(!r.fixed.Load())
	case n < 15:
		r.retry(v)
	case n < 16:
		r.discard(v)
	case n < 17:
		r.last++
		r.versions[r.last] = newModelVersion()
		r.catchUp(r.last)
	case n < 18:
		r.activate(v)
	default:
		r.remove(v)
	}
}

func (r *run) any() int {
	all := slices.Sorted(maps.Keys(r.versions))
	return all[r.IntN(len(all))]
}

func (r *run) appendSome() {
	a := modelAppend{copy: fmt.Sprint(r.IntN(5)), first: 1}
	for _, before := range r.appends {
		if before.copy == a.copy {
			a.first += len(before.events)
		}
	}
	for range 1 + r.IntN(3) {
		a.events = append(a.events, []any{Acquired{fmt.Sprint("title", r.IntN(100))}, Lent{fmt.Sprint("member", r.IntN(4))}, Lent{"ada"}, Returned{},
			Faulty{[]string{"panic", "sql", "swallow", "error"}[r.IntN(4)]}}[min(r.IntN(13)/3, 4)])
	}
	r.doing = fmt.Sprint("append to ", a)
	r.appends = append(r.appends, a)
	r.append(a.copy, a.events...)
	r.feed()
}

// isFaulty reports whether an event fails. SQLite continues after an error of which Apply says nothing.
func (r *run) isFaulty(e Faulty) bool {
	return !r.fixed.Load() && (e.Kind != "swallow" || r.d.name != "sqlite")
}

// process does something in one or two processes that crash sooner or later, and then in one that does
// not.
func (r *run) process(v int, do func(*sqlprojection.Projection) error) error {
	o := sqlprojection.Options{ParkAfter: 1, Feed: projection.SubscribeOptions{AtOnce: 1 + r.IntN(5)}}
	var processes sync.WaitGroup
	for range r.IntN(3) {
		f := &faults{left: 1 + r.IntN(40), after: r.IntN(2) == 0}
		db := r.d.open(r.t, f)
		p := r.project(db, v, o)
		processes.Go(func() {
			_ = do(p)
			_ = db.Close()
		})
	}
	processes.Wait()
	return do(r.project(r.db, v, o))
}

func (r *run) catchUp(v int) {
	r.doing = fmt.Sprint("catch up version ", v)
	err := r.process(v, func(p *sqlprojection.Projection) error { _, err := p.CatchUp(r.ctx); return err })
	m := r.versions[v]
	for ; m.position < len(r.appends); m.position++ {
		a := r.appends[m.position]
		for i, e := range a.events {
			if m.waits(a.copy) || !m.apply(a.copy, e, r.isFaulty) {
				m.parked = append(m.parked, modelParked{m.position + 1, a.first + i, a.copy, e})
			}
		}
	}
	switch {
	case r.active >= v:
		r.must(err)
	case len(m.parked) > 0:
		if !errors.Is(err, sqlprojection.ErrParked) {
			r.Fatal(r.doing, err)
		}
	default:
		r.must(err)
		r.active = v
	}
}

func (r *run) retry(v int) {
	r.doing = fmt.Sprint("retry version ", v)
	r.must(r.process(v, func(p *sqlprojection.Projection) error { _, err := p.Retry(r.ctx); return err }))
	m, all := r.versions[v], r.versions[v].parked
	m.parked = nil
	var copies []string
	for _, p := range all {
		if !slices.Contains(copies, p.copy) {
			copies = append(copies, p.copy)
		}
	}
	for _, copy := range copies {
		for _, p := range all {
			if p.copy == copy && (m.waits(copy) || !m.apply(copy, p.event, r.isFaulty)) {
				m.parked = append(m.parked, p)
			}
		}
	}
	slices.SortStableFunc(m.parked, func(a, b modelParked) int { return a.position - b.position })
}

func (r *run) discard(v int) {
	copy := fmt.Sprint(r.IntN(5))
	r.doing = fmt.Sprint("discard events of version ", v)
	r.must(r.process(v, func(p *sqlprojection.Projection) error { _, err := p.Discard(r.ctx, copyOf(copy)); return err }))
	m := r.versions[v]
	m.parked = slices.DeleteFunc(m.parked, func(p modelParked) bool { return p.copy == copy })
}

func (r *run) activate(v int) {
	r.doing = fmt.Sprint("activate version ", v)
	r.must(r.process(v, func(p *sqlprojection.Projection) error { return p.Activate(r.ctx) }))
	r.active = v
}

func (r *run) remove(v int) {
	r.doing = fmt.Sprint("remove version ", v)
	if len(r.versions) == 1 {
		return
	}
	err := r.process(r.any(), func(p *sqlprojection.Projection) error { return p.Remove(r.ctx, v) })
	if v == r.active {
		if !errors.Is(err, sqlprojection.ErrActive) {
			r.Fatal(r.doing, err)
		}
		return
	}
	r.must(err)
	delete(r.versions, v)
}

// check compares the database with the model.
func (r *run) check() {
	r.Helper()
	var rows strings.Builder
	for _, v := range slices.Sorted(maps.Keys(r.versions)) {
		m, suffix := r.versions[v], fmt.Sprint("_v", v)
		r.is(r.doing+": tables"+suffix, r.dump(r.db, suffix), m.dump())
		if v == r.active {
			r.is(r.doing+": views", r.dump(r.db, ""), m.dump())
		}
		fmt.Fprintln(&rows, v, m.position, len(m.parked), map[bool]int{true: 1}[v == r.active])
		parked, err := r.project(r.db, v, sqlprojection.Options{}).Parked(r.ctx)
		r.must(err)
		var have, want []string
		for _, p := range parked {
			have = append(have, fmt.Sprint(p.Position, p.EventKey))
		}
		for _, p := range m.parked {
			want = append(want, fmt.Sprint(p.position, eventstore.EventKey{ID: copyOf(p.copy), Seq: int64(p.seq)}))
		}
		r.is(r.doing+": parked"+suffix, strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	r.is(r.doing+": versions", r.rows(r.db, `SELECT version, position, parked, active FROM onefold_projections ORDER BY version`), rows.String())
	if r.t.Failed() {
		r.t.FailNow()
	}
}
