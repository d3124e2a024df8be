package fold

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/table"
)

// AttrApplied is the attribute (N) of a projection's items with the number of the last event
// applied.
const AttrApplied = "fa"

// Projection declares an ordered fold: a read model of the events of an aggregate, applied one
// after the other. E is an event, R the read model of one aggregate and RK its key.
//
// The read-model item stores the number of the last event applied. The next event is applied; an
// earlier one is a duplicate; a later one shows a gap, and the missing events are read from the
// table. The stream is only a hint and the table is the truth.
//
// If an event cannot be applied, the aggregate stays where it is and a dead letter is written.
// Every later event tries again from there, so after the cause is fixed the next event catches up.
// To catch up at once, or to rebuild under another name, see CatchUp.
type Projection[E, R any, RK comparable] struct {
	// Key returns the key of the read-model item that an event belongs to: one per aggregate.
	Key func(*E) RK
	// Seq returns the event's number in its aggregate, from 1 without gaps.
	Seq func(*E) int64
	// Apply applies an event to the read model.
	Apply func(*R, *E) error
	// Missing reads the events of e's aggregate that follow the number after from the table,
	// consistently and in order. Errors are retried, unless they are Poison.
	Missing func(ctx context.Context, t *table.Table, e *E, after int64) iter.Seq2[E, error]

	// Wants reports whether the event's aggregate has a read model. nil means that all have one.
	Wants func(*E) bool
	// Open prepares an event before it is applied, for instance by decrypting it. It gets its own
	// copy of the event. Errors are retried, unless they are Poison. nil means that nothing is to
	// be done.
	Open func(context.Context, *E) error
}

// Poison marks an error as permanent, so that it is not retried.
func Poison(err error) error { return &poisonError{err: err} }

// Project makes a fold from a projection of events that are items. It accepts no options.
func Project[E any, EK comparable, R any, RK comparable](name string, events *table.Entity[E, EK], into *table.Entity[R, RK], p Projection[E, R, RK]) *Fold {
	return project(name, sourceOf(events), into, p)
}

// ProjectEach is like Project, for items that hold several events.
func ProjectEach[E, R any, RK comparable](name string, events *Facts[E], into *table.Entity[R, RK], p Projection[E, R, RK]) *Fold {
	return project(name, events.source, into, p)
}

func project[E, R any, RK comparable](name string, events *source, into *table.Entity[R, RK], p Projection[E, R, RK]) *Fold {
	f := &Fold{name: name, into: into.Name()}
	f.addSource(events)
	f.open = func(f *Fold, t *table.Table) (pipeline, error) {
		if p.Key == nil || p.Seq == nil || p.Apply == nil || p.Missing == nil {
			return nil, fmt.Errorf("%w: projection %s needs Key, Seq, Apply and Missing", ErrDefinition, f.name)
		}
		if f.options != (options{}) {
			return nil, fmt.Errorf("%w: projection %s cannot have options of commutative folds", ErrDefinition, f.name)
		}
		return &ordered[E, R, RK]{def: f, table: t, into: into, p: p, byID: make(map[string]*delta), noCache: newCache(-1)}, nil
	}
	return f
}

// ordered is the pipeline of a projection. Its deltas consist only of the kept changes.
type ordered[E, R any, RK comparable] struct {
	def     *Fold
	table   *table.Table
	into    *table.Entity[R, RK]
	p       Projection[E, R, RK]
	noCache *cache // an empty cache, because a state that failed half-way must be read again
	byID    map[string]*delta
	list    []*delta
}

// projected is the state of a projection.
type projected[R any] struct {
	model   R
	applied int64
	origin  table.Item // the item it was decoded from
}

func (l *ordered[E, R, RK]) fold() *Fold      { return l.def }
func (l *ordered[E, R, RK]) deltas() []*delta { return l.list }
func (l *ordered[E, R, RK]) cache() *cache    { return l.noCache }
func (l *ordered[E, R, RK]) logs() *openLogs  { return nil }

// dropWritten drops everything, because projections have no Hold.
func (l *ordered[E, R, RK]) dropWritten() { l.reset() }

func (l *ordered[E, R, RK]) reset() {
	l.byID = make(map[string]*delta, len(l.byID))
	l.list = nil
}

func (l *ordered[E, R, RK]) route(k *pendingChange) error {
	e := eventOf[E](k)
	if e == nil {
		return nil // events are never retracted: this one was archived
	}
	if l.p.Wants != nil && !l.p.Wants(e) {
		return nil
	}
	var key table.Item
	err := catchPanic(func() (err error) {
		key, err = l.into.Key(l.p.Key(e))
		return err
	})
	if err != nil {
		return &poisonError{change: k, err: err}
	}
	id := requests.ID(key)
	d := l.byID[id]
	if d == nil {
		d = &delta{pipeline: l, id: id, key: key}
		l.byID[id] = d
		l.list = append(l.list, d)
	}
	d.touch(k)
	return nil
}

// eventOf returns the event of a change, nil if it was removed.
func eventOf[E any](k *pendingChange) *E {
	if c, ok := k.typed.(*Typed[E]); ok {
		return c.New
	}
	return k.typed.(*E)
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

func (l *ordered[E, R, RK]) rebuild(d *delta, counted func(*pendingChange) bool) error {
	d.changes = slices.DeleteFunc(d.changes, func(k *pendingChange) bool { return !counted(k) })
	d.spans, d.stale = nil, false
	for _, k := range d.changes {
		d.extend(k)
	}
	return nil
}

// merge applies the events of the delta, and missing events between them. If an event cannot be
// applied, the state ends with the event before it.
func (l *ordered[E, R, RK]) merge(ctx context.Context, into any, d *delta) (removable bool, err error) {
	s := into.(*projected[R])
	events := make([]*E, len(d.changes))
	for i, k := range d.changes {
		events[i] = eventOf[E](k)
	}
	slices.SortStableFunc(events, func(a, b *E) int { return cmp.Compare(l.p.Seq(a), l.p.Seq(b)) })
	before := s.applied
	err = l.applyAll(ctx, s, events, 0)
	p, poison := isPoison(err)
	if !poison || s.applied == before {
		return false, err
	}
	good, err := l.decode(d, s.origin) // the failed event may be half applied
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

// applyAll applies events in order, up to the number last; 0 means all.
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

// fillGap applies the events in the table that follow the last applied one. They must reach at
// least the event before e.
func (l *ordered[E, R, RK]) fillGap(ctx context.Context, s *projected[R], e *E, last int64) error {
	if err := l.fill(ctx, s, e, last); err != nil {
		return err
	}
	if n := l.p.Seq(e); s.applied < n-1 && (last == 0 || s.applied < last) {
		return &poisonError{err: fmt.Errorf("event %d is missing from the table, but event %d is in the stream", s.applied+1, n)}
	}
	return nil
}

// fill applies the events in the table that follow the last applied one, up to the number last; 0
// means all.
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
		return &poisonError{err: fmt.Errorf("event %d is missing from the table, but event %d is there", s.applied+1, n)}
	}
	if l.p.Open != nil {
		opened := *e // other folds read the same event
		if err := l.p.Open(ctx, &opened); err != nil {
			return err
		}
		e = &opened
	}
	if err := catchPanic(func() error { return l.p.Apply(&s.model, e) }); err != nil {
		return &poisonError{err: fmt.Errorf("event %d: %w", n, err)}
	}
	s.applied = n
	return nil
}
