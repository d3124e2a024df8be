package fold

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/onefold/onefold/table"
)

// AttrApplied is the attribute of a projection's items that says which event was applied last: N.
const AttrApplied = "fa"

// Projection declares an ordered fold: a read model of an aggregate's events, applied one after the other. E is an
// event, R the read model of one aggregate and RK its key.
//
// The read-model item keeps the sequence of the last event that was applied. The next one is applied, one at or before
// it is a duplicate, and one further on shows a gap: the missing events are read from the table. The stream is a hint,
// the table the truth. An event that cannot be applied leaves the aggregate where it is and sends a dead letter; every
// later event tries again from there, so after the fault is mended the next event catches up. To catch up, or to
// rebuild under another name, hand a worker the last event of each aggregate.
type Projection[E, R any, RK comparable] struct {
	// Key says which read-model item an event belongs to: one per aggregate.
	Key func(*E) RK
	// Seq is the event's number in its aggregate, from 1 without holes.
	Seq func(*E) int64
	// Apply puts an event into the read model.
	Apply func(*R, *E) error
	// Missing reads the events of e's aggregate from the table, consistently and in order, that come behind the
	// number after. An error is tried again, unless it is Poison.
	Missing func(ctx context.Context, t *table.Table, e *E, after int64) iter.Seq2[E, error]

	// Wants says whether an event is of an aggregate that has a read model; nil: all are.
	Wants func(*E) bool
	// Open changes an event, a copy of its own, before it is applied, such as decrypts it; nil: nothing to do. An error is
	// tried again, unless it is Poison.
	Open func(context.Context, *E) error
}

// Poison marks an error as one that stays however often it is tried again.
func Poison(err error) error { return &poisonError{err: err} }

// Project makes a fold of a projection.
func Project[E any, EK comparable, R any, RK comparable](name string, events *table.Entity[E, EK], into *table.Entity[R, RK], p Projection[E, R, RK]) *Fold {
	f := &Fold{name: name, into: into.Name()}
	f.addSource(sourceOf(events))
	f.open = func(f *Fold, t *table.Table) (lane, error) {
		if p.Key == nil || p.Seq == nil || p.Apply == nil || p.Missing == nil {
			return nil, fmt.Errorf("%w: projection %s: Key, Seq, Apply and Missing are needed", ErrDefinition, f.name)
		}
		if f.options != (options{}) {
			return nil, fmt.Errorf("%w: projection %s: the options are for commutative folds", ErrDefinition, f.name)
		}
		return &ordered[E, R, RK]{def: f, table: t, into: into, p: p, byID: make(map[string]*delta), none: newCache(-1)}, nil
	}
	return f
}

// ordered is the lane of a projection. Its deltas are the kept changes themselves.
type ordered[E, R any, RK comparable] struct {
	def   *Fold
	table *table.Table
	into  *table.Entity[R, RK]
	p     Projection[E, R, RK]
	none  *cache // a state that failed half-way must be read again
	byID  map[string]*delta
	list  []*delta
}

// projected is the state of a projection.
type projected[R any] struct {
	model   R
	applied int64
	origin  table.Item // what it was decoded from
}

func (l *ordered[E, R, RK]) fold() *Fold      { return l.def }
func (l *ordered[E, R, RK]) deltas() []*delta { return l.list }
func (l *ordered[E, R, RK]) cache() *cache    { return l.none }
func (l *ordered[E, R, RK]) logs() *openLogs  { return nil }

// forget forgets all: projections have no Hold.
func (l *ordered[E, R, RK]) forget() { l.reset() }

func (l *ordered[E, R, RK]) reset() {
	l.byID = make(map[string]*delta, len(l.byID))
	l.list = nil
}

func (l *ordered[E, R, RK]) route(k *kept) error {
	e := k.typed.(*Typed[E]).New
	if e == nil {
		return nil // events are not taken back: this one was archived
	}
	if l.p.Wants != nil && !l.p.Wants(e) {
		return nil
	}
	var key table.Item
	err := guard(func() (err error) {
		key, err = l.into.Key(l.p.Key(e))
		return err
	})
	if err != nil {
		return &poisonError{change: k, err: err}
	}
	id := itemID(key)
	d := l.byID[id]
	if d == nil {
		d = &delta{lane: l, id: id, key: key}
		l.byID[id] = d
		l.list = append(l.list, d)
	}
	d.touch(k)
	return nil
}

func (l *ordered[E, R, RK]) decode(d *delta, it table.Item) (any, error) {
	s := &projected[R]{origin: it}
	if it == nil {
		it = zeroItem(d.key, l.into.Name())
	}
	s.applied = intOf(it, AttrApplied)
	return s, l.into.DecodeInto(it, &s.model)
}

func (l *ordered[E, R, RK]) encode(state any) (table.Item, error) {
	s := state.(*projected[R])
	it, err := l.into.Encode(&s.model)
	if err != nil {
		return nil, &poisonError{err: err}
	}
	it[AttrApplied] = number(s.applied)
	return it, nil
}

func (l *ordered[E, R, RK]) rebuild(d *delta, counted func(*kept) bool) error {
	d.changes = slices.DeleteFunc(d.changes, func(k *kept) bool { return !counted(k) })
	d.spans, d.stale = nil, false
	for _, k := range d.changes {
		d.extend(k)
	}
	return nil
}

// merge applies the delta's events, and those that are missing between them. If one cannot be applied, the state is of
// the events before it.
func (l *ordered[E, R, RK]) merge(ctx context.Context, into any, d *delta) (removable bool, err error) {
	s := into.(*projected[R])
	events := make([]*E, len(d.changes))
	for i, k := range d.changes {
		events[i] = k.typed.(*Typed[E]).New
	}
	slices.SortStableFunc(events, func(a, b *E) int { return cmp.Compare(l.p.Seq(a), l.p.Seq(b)) })
	before := s.applied
	err = l.applyAll(ctx, s, events, 0)
	p, poison := isPoison(err)
	if !poison || s.applied == before {
		return false, err
	}
	good, err := l.decode(d, s.origin) // the failure may have left half of an event
	if err != nil {
		return false, &poisonError{err: err}
	}
	again := good.(*projected[R])
	if err := l.applyAll(ctx, again, events, s.applied); err != nil {
		return false, err
	}
	*s = *again
	return false, &poisonError{err: p.err, partial: true}
}

// applyAll applies events in order up to the number last, 0 for all.
func (l *ordered[E, R, RK]) applyAll(ctx context.Context, s *projected[R], events []*E, last int64) error {
	for _, e := range events {
		if last > 0 && s.applied >= last {
			return nil
		}
		if n := l.p.Seq(e); n > s.applied+1 {
			if err := l.fillGap(ctx, s, e, last); err != nil {
				return err
			}
			if last > 0 && s.applied >= last {
				return nil
			}
		}
		if err := l.apply(ctx, s, e); err != nil {
			return err
		}
	}
	return nil
}

// fillGap applies what the table has behind the last applied event, at least up to the one before e.
func (l *ordered[E, R, RK]) fillGap(ctx context.Context, s *projected[R], e *E, last int64) error {
	if err := l.fill(ctx, s, e, last); err != nil {
		return err
	}
	if n := l.p.Seq(e); s.applied < n-1 && (last == 0 || s.applied < last) {
		return &poisonError{err: fmt.Errorf("event %d is not in the table, but %d is in the stream", s.applied+1, n)}
	}
	return nil
}

// fill applies what the table has behind the last applied event, up to the number last, 0 for all.
func (l *ordered[E, R, RK]) fill(ctx context.Context, s *projected[R], e *E, last int64) error {
	for missing, err := range l.p.Missing(ctx, l.table, e, s.applied) {
		if err != nil {
			return fmt.Errorf("read missing events: %w", err)
		}
		if err := l.apply(ctx, s, &missing); err != nil || last > 0 && s.applied >= last {
			return err
		}
	}
	return nil
}

func (l *ordered[E, R, RK]) apply(ctx context.Context, s *projected[R], e *E) error {
	n := l.p.Seq(e)
	switch {
	case n <= s.applied:
		return nil
	case n > s.applied+1:
		return &poisonError{err: fmt.Errorf("event %d is not in the table, but %d is", s.applied+1, n)}
	}
	if l.p.Open != nil {
		opened := *e // others read the same event
		if err := l.p.Open(ctx, &opened); err != nil {
			return err
		}
		e = &opened
	}
	if err := guard(func() error { return l.p.Apply(&s.model, e) }); err != nil {
		return &poisonError{err: fmt.Errorf("event %d: %w", n, err)}
	}
	s.applied = n
	return nil
}
