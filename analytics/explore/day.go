package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/calendar"
)

// visit is a visit with its events.
type visit struct {
	*visits.Visit
	who   *analytics.Visitor
	place int    // index in who.Visits
	facts []fact // in order of time
}

// fact is the part of an event that is kept while its day is processed.
type fact struct {
	id, own    string
	name, path string
	revenue    string
	props      map[string]string
	at         int64 // epoch milliseconds
	hour       int64 // hour of the site, epoch seconds
	engagedMS  int64 // of a silent event
	silent     bool  // measures a page, not part of the visit
}

const (
	daysAtOnce    = 3   // days of a question read concurrently
	readersAtOnce = 4   // shards of a day read concurrently
	batchEvents   = 256 // events per batch of a reader
)

// day returns the visits of a day, cached or read from raw events. Concurrent calls for a day share
// one read.
func (s *scan) day(ctx context.Context, day string) (*columns, error) {
	from, to, err := s.cal.Bounds(day)
	if err != nil {
		return nil, err
	}
	version, archived := s.archived[day]
	if s.x.watched == nil && !archived {
		return s.makeColumns(ctx, day, from, to)
	}
	current := func() uint64 {
		if archived {
			return version
		}
		return s.x.watched.version(s.site.SiteID, from, to)
	}
	key := keyOf(s.site.SiteID, from, to)
	key.archived = archived
	if d := s.x.recent.get(key, current()); d != nil {
		return d, s.took(d.read)
	}
	release, err := s.x.recent.claim(ctx, key)
	if err != nil {
		return nil, err
	}
	defer release()
	version = current() // read before the events, so that later writes are noticed
	if d := s.x.recent.get(key, version); d != nil {
		return d, s.took(d.read)
	}
	d, err := s.columns(ctx, day, key, version)
	if err != nil {
		return nil, err
	}
	s.x.recent.put(key, version, d)
	return d, nil
}

// makeColumns reads the raw events of a day. If an assembly cannot process them, it reads them
// again and builds visits as the folds do.
func (s *scan) makeColumns(ctx context.Context, day string, from, to time.Time) (*columns, error) {
	d, err := s.assemble(ctx, day, from, to)
	if !errors.Is(err, errNotPlain) {
		return d, err
	}
	all, n, err := s.readDay(ctx, day, from, to)
	if err != nil {
		return nil, err
	}
	d = columnsOf(all, &s.x.hours, &s.x.users)
	d.read = n
	return d, nil
}

// assemble builds the columns of a day directly from events. Errors: errNotPlain; the events then
// do not count against the budget.
func (s *scan) assemble(ctx context.Context, day string, from, to time.Time) (*columns, error) {
	a, n := newAssembly(&s.x.hours, &s.x.users), budget{scan: s}
	for e, err := range s.events(ctx, day, from, to) {
		if err == nil {
			err = n.take()
		}
		if err == nil {
			err = a.add(e)
		}
		if errors.Is(err, errNotPlain) {
			s.left.Add(int64(n.taken))
		}
		if err != nil {
			return nil, err
		}
	}
	if err := n.settle(); err != nil {
		return nil, err
	}
	d := a.finish()
	d.read = n.events
	return d, nil
}

// events yields the events of a day in order. An event is valid until the next one.
func (s *scan) events(ctx context.Context, day string, from, to time.Time) iter.Seq2[*analytics.Event, error] {
	if _, archived := s.archived[day]; !archived {
		return analytics.EventsBetween(&s.site, from, to, "").Counted(ctx, s.x.t)
	}
	return func(yield func(*analytics.Event, error) bool) {
		for e, err := range s.x.archived(ctx, s.site.SiteID, from, to) {
			if !yield(&e, err) {
				return
			}
		}
	}
}

// budget counts the events of a day, and charges them to the question in batches.
type budget struct {
	scan          *scan
	events, taken int
}

func (b *budget) take() error {
	b.events++
	if b.events > b.scan.x.o.DayEvents {
		return fmt.Errorf("%w: a day has more than %d events; ask without filters", ErrTooMuch, b.scan.x.o.DayEvents)
	}
	if b.events-b.taken < batchEvents {
		return nil
	}
	return b.settle()
}

func (b *budget) settle() error {
	n := b.events - b.taken
	b.taken = b.events
	return b.scan.took(n)
}

// visits returns the visits of a day, built from raw events.
func (s *scan) visits(ctx context.Context, day string) ([]*visit, error) {
	from, to, err := s.cal.Bounds(day)
	if err != nil {
		return nil, err
	}
	all, _, err := s.readDay(ctx, day, from, to)
	return all, err
}

// readDay reads the raw events of a day and builds all visits. Shards are read concurrently: the
// order of events does not affect visits.
func (s *scan) readDay(ctx context.Context, day string, from, to time.Time) (all []*visit, events int, err error) {
	b := &builder{scan: s, people: map[*analytics.Visitor]*person{}}
	if _, archived := s.archived[day]; archived {
		err := b.read(s.x.archived(ctx, s.site.SiteID, from, to))
		return b.visits(), b.count, err
	}
	in := analytics.EventsBetween(&s.site, from, to, "")
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.readers)
	for _, shard := range in.Shards {
		one := in
		one.Shards = []int{shard}
		g.Go(func() error { return b.read(one.All(ctx, s.x.t)) })
	}
	if err := g.Wait(); err != nil {
		return nil, 0, err
	}
	return b.visits(), b.count, nil
}

// took charges events that were read. Errors: ErrTooMuch.
func (s *scan) took(events int) error {
	if s.left.Add(-int64(events)) < 0 {
		return fmt.Errorf("%w: the range has more than %d events; request fewer days or remove the filters", ErrTooMuch, s.most)
	}
	return nil
}

// builder builds visits from a day's events. mu protects the fields below it.
type builder struct {
	scan *scan

	mu     sync.Mutex
	replay analytics.Replay
	people map[*analytics.Visitor]*person
	order  []*person
	count  int
}

// person holds the events of one visitor on that day.
type person struct {
	who   *analytics.Visitor
	facts []fact
}

// read adds events in batches, so that the lock is taken rarely.
func (b *builder) read(events iter.Seq2[analytics.Event, error]) error {
	batch := make([]analytics.Event, 0, batchEvents)
	for e, err := range events {
		if err != nil {
			return err
		}
		if batch = append(batch, e); len(batch) == batchEvents {
			if err := b.add(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return b.add(batch)
}

func (b *builder) add(batch []analytics.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count += len(batch)
	if b.count > b.scan.x.o.DayEvents {
		return fmt.Errorf("%w: a day has more than %d events; ask without filters", ErrTooMuch, b.scan.x.o.DayEvents)
	}
	if err := b.scan.took(len(batch)); err != nil {
		return err
	}
	for i := range batch {
		b.addEvent(&batch[i])
	}
	return nil
}

// addEvent adds an event, and ignores events that no fold can read.
func (b *builder) addEvent(e *analytics.Event) {
	who, err := b.replay.Add(e)
	if err != nil || who == nil {
		return
	}
	p := b.people[who]
	if p == nil {
		p = &person{who: who}
		b.people[who] = p
		b.order = append(b.order, p)
	}
	at := timeOf(e.EventID)
	f := fact{
		id: e.EventID, own: e.SessionID, name: e.Name, path: e.Path, revenue: e.Revenue,
		at: at, hour: calendar.HourOf(at, e.ZoneMinutes), silent: silent(e), props: e.Properties,
	}
	if f.silent {
		f.engagedMS = e.EngagedMS
	}
	p.facts = append(p.facts, f)
}

// silent reports whether an event measures a page instead of recording an action. Such events are
// not part of a visit.
func silent(e *analytics.Event) bool {
	return e.Name == analytics.EngagementEvent || e.Name == analytics.VitalsEvent
}

// TimeOf returns the time in an event's ID, or 1970 if the ID is invalid.
func TimeOf(e *analytics.Event) time.Time { return time.UnixMilli(timeOf(e.EventID)).UTC() }

// timeOf returns the time in an event's ID in epoch milliseconds, or 0 if the ID is invalid.
func timeOf(id string) int64 {
	u, err := ulid.ParseStrict(id)
	if err != nil {
		return 0
	}
	return int64(u.Time())
}

// visits assigns all events to visits.
func (b *builder) visits() []*visit {
	all := make([]*visit, 0, len(b.order))
	for _, p := range b.order {
		slices.SortFunc(p.facts, func(a, b fact) int { return cmp.Compare(a.id, b.id) })
		mine := make([]*visit, len(p.who.Visits))
		for i := range p.who.Visits {
			mine[i] = &visit{Visit: &p.who.Visits[i], who: p.who, place: i}
		}
		for _, f := range p.facts {
			if v := visitOf(mine, &f); v != nil {
				v.facts = append(v.facts, f)
			}
		}
		all = append(all, mine...)
	}
	return all
}

// visitOf returns the visit of an event: the visit with its session ID, where IDs beyond those of a
// day share one, or the visit that spans its time. A measurement otherwise belongs to the latest
// visit that began before it. It returns nil if there is none.
func visitOf(mine []*visit, f *fact) *visit {
	var other *visit
	for _, v := range mine {
		switch {
		case f.own == v.Own && (f.own != "" || f.at >= v.Start && f.at <= v.End):
			return v
		case f.silent && (other == nil || v.Start <= f.at), !f.silent && f.own != "" && v.Own == visits.OtherOwn:
			other = v
		}
	}
	return other
}
