package fold

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/onefold/onefold/table"
)

// Observe declares a fold that does not write derived items: act is told what a batch has touched,
// and updates from the table whatever it maintains. The stream is only a hint and the table is the
// truth. So act must have the same effect no matter how often it is called and how changes are
// divided between calls; then no marks are needed.
//
// from gathers the changes of a batch in an S, as for New; the key is empty. act runs after the
// items of the batch are written, except those on hold (see Hold), and before checkpoints advance,
// so nothing is missed. If act fails, it is called again with the whole batch, and must recognize
// what it has done already. It is also called for changes that a worker had not finished when it
// ended.
//
// Changes that an On rejects go to the dead letters; so does a panic of act.
func Observe[S any](name string, act func(ctx context.Context, t *table.Table, seen *S) error, from ...From[S, struct{}]) *Fold {
	f := &Fold{name: name}
	for _, fr := range from {
		f.addSource(fr.source)
	}
	f.open = func(f *Fold, t *table.Table) (pipeline, error) {
		if act == nil || len(from) == 0 {
			return nil, fmt.Errorf("%w: observer %s needs an act and at least one On", ErrDefinition, f.name)
		}
		if f.options != (options{}) {
			return nil, fmt.Errorf("%w: observer %s cannot have options of commutative folds", ErrDefinition, f.name)
		}
		l := &observer[S]{def: f, table: t, act: act, from: make(map[any][]From[S, struct{}]), noCache: newCache(-1)}
		for _, fr := range from {
			l.from[fr.source.is] = append(l.from[fr.source.is], fr)
		}
		return l, nil
	}
	return f
}

// flushObserver is a pipeline without deltas that is called before checkpoints advance.
type flushObserver interface {
	observe(ctx context.Context, w *Worker) error
}

// observer is the pipeline of Observe.
type observer[S any] struct {
	def     *Fold
	table   *table.Table
	act     func(context.Context, *table.Table, *S) error
	from    map[any][]From[S, struct{}]
	noCache *cache
	seen    *S             // nil: nothing yet
	last    *pendingChange // the last change gathered
}

func (l *observer[S]) fold() *Fold      { return l.def }
func (l *observer[S]) deltas() []*delta { return nil }
func (l *observer[S]) cache() *cache    { return l.noCache }
func (l *observer[S]) logs() *openLogs  { return nil }
func (l *observer[S]) reset()           { l.seen, l.last = nil, nil }
func (l *observer[S]) dropWritten()     { l.reset() }

func (l *observer[S]) route(k *pendingChange) error {
	if l.seen == nil {
		l.seen = new(S)
	}
	l.last = k
	err := catchPanic(func() error {
		for _, fr := range l.from[k.reader.source.is] {
			if err := fr.apply(k.typed, func(struct{}) *S { return l.seen }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return &poisonError{change: k, err: err}
	}
	return nil
}

// observe calls act. If act panics, the batch continues without it, since it would only panic
// again.
func (l *observer[S]) observe(ctx context.Context, w *Worker) (err error) {
	if l.seen == nil {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			w.deadChange(l, l.last, fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
		}
	}()
	if err := l.act(ctx, l.table, l.seen); err != nil {
		return fmt.Errorf("observer %s: %w", l.def.name, err)
	}
	return nil
}

func (l *observer[S]) decode(*delta, table.Item) (any, error)          { return nil, errNoItems }
func (l *observer[S]) rebuild(*delta, func(*pendingChange) bool) error { return errNoItems }
func (l *observer[S]) merge(context.Context, any, *delta) (removable bool, err error) {
	return false, errNoItems
}
func (l *observer[S]) encode(any) (table.Item, error) { return nil, errNoItems }

// errNoItems cannot occur, because an observer has no deltas.
var errNoItems = fmt.Errorf("%w: an observer has no items", ErrDefinition)

func (w *Worker) callObservers(ctx context.Context) error {
	for _, l := range w.pipelines {
		if o, ok := l.(flushObserver); ok {
			if err := o.observe(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}
