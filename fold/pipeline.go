package fold

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/table"
)

// sourceChange is a change that waits for the flush, as seen by one source.
type sourceChange struct {
	change *Change
	shard  *shard
	reader *reader
	pk, sk string   // key of the changed item
	before Sequence // the shard's position before the change
}

// pendingChange is a change that waits for the flush, or one fact of it. Deltas are built from these, and
// rebuilt when some turn out to be counted already.
type pendingChange struct {
	*sourceChange
	fact
}

// wholeChange is the position of a change that is not divided into facts.
const wholeChange = -1

// part returns the part of a dead letter's key that identifies the change or fact.
func (k *pendingChange) part() string {
	if k.nth == wholeChange {
		return "change"
	}
	return fmt.Sprintf("fact-%d", k.nth)
}

// span is the range of changes of one shard in a delta.
type span struct {
	shard       *shard
	first, last Sequence
}

// delta is what a batch adds to one derived item. In a batch it goes through these steps:
//
//	route     apply adds each change to state, and the change is listed in changes
//	load      reads the stored state and its marks, unless held already has them
//	rebuild   if the marks show that some changes are counted already: state is made anew from the
//	          others. A change cannot be taken back from a state, so changes are kept for this
//	merge     adds state to the stored state, once: merging uses up both
//	write     on condition that the stored item is still the one that was loaded. Otherwise it is
//	          loaded again
//
// Merging once per batch, and not once per change, is what makes folding cheap: an item that a
// thousand changes touch is loaded and written once.
type delta struct {
	pipeline     pipeline
	id           string           // partition and sort key, see itemID
	key          table.Item       // {pk, sk}
	state        any              // *S; the zero state when the delta is opened
	changes      []*pendingChange // changes that touched it, in the order of application
	waitingSince time.Time        // when a flush first left it waiting; zero if none has
	spans        []span
	held         *stored  // the state to merge into; nil if it must be loaded
	stale        bool     // state must be rebuilt from changes
	existing     bool     // the item was assumed absent, but exists
	log          *openLog // the log of its state; nil if the state is an item, or if the log is not known yet
	done         bool     // written, or given up
}

// touch records that a change affects the delta.
func (d *delta) touch(k *pendingChange) {
	if n := len(d.changes); n > 0 && d.changes[n-1] == k {
		return
	}
	d.changes = append(d.changes, k)
	d.extend(k)
}

// extend adds a change to the span of its shard. Changes of a shard arrive in order, so only the
// end moves.
func (d *delta) extend(k *pendingChange) {
	for i := len(d.spans) - 1; i >= 0; i-- {
		if d.spans[i].shard == k.shard {
			d.spans[i].last = k.change.Seq
			return
		}
	}
	d.spans = append(d.spans, span{shard: k.shard, first: k.change.Seq, last: k.change.Seq})
}

// waiting reports whether the delta still has to be written.
func (d *delta) waiting() bool { return !d.done && len(d.changes) > 0 }

// dropChange removes the change that was applied last. The state must be rebuilt, because apply may
// have modified it.
func (d *delta) dropChange(k *pendingChange) {
	if n := len(d.changes); n > 0 && d.changes[n-1] == k {
		d.changes = d.changes[:n-1]
	}
	d.stale = true
}

// A pipeline is the pipeline of one fold in one worker: the deltas of the current batch and the states
// in memory. A single goroutine calls route and reset. Between these calls, several goroutines may
// call the other methods, each for a different delta.
type pipeline interface {
	fold() *Fold
	// route applies a change to deltas. After an error, no delta contains any part of it.
	route(k *pendingChange) error
	// deltas returns the deltas of the batch in the order in which they were first touched.
	deltas() []*delta
	// decode decodes a stored item to a state. For nil it returns the zero state with the delta's
	// key.
	decode(d *delta, it table.Item) (any, error)
	// rebuild recomputes the delta's state from those of its changes that counted accepts, and
	// drops the others. If it returns a poisonError, the change named in it has been dropped, and
	// rebuild must be called again.
	rebuild(d *delta, counted func(*pendingChange) bool) error
	// merge adds the delta to a state. removable reports that the resulting state is empty. After a
	// partial poisonError the state contains everything that could be added.
	merge(ctx context.Context, into any, d *delta) (removable bool, err error)
	// encode returns the item that stores a state.
	encode(state any) (table.Item, error)
	cache() *cache
	logs() *openLogs // the logs of the states; nil if each state is an item
	reset()
	dropWritten() // drops all deltas except those waiting
}

// A poisonError reports that a change or an item cannot be folded, and that trying again would not
// help.
type poisonError struct {
	change  *pendingChange // nil if the item as a whole is affected
	partial bool           // the item may be written with what could be folded
	err     error
}

func (e *poisonError) Error() string { return e.err.Error() }
func (e *poisonError) Unwrap() error { return e.err }

// catchPanic runs code of another package and turns a panic into an error.
func catchPanic(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}

// sum is the pipeline of a commutative fold.
type sum[S any, K comparable] struct {
	def       *Fold
	into      *table.Entity[S, K]
	mergeFunc func(into, delta *S)
	from      map[any][]From[S, K] // by source.is
	removable func(*S) bool
	finish    func(*S)
	part      func(K, int) K
	states    *cache
	opened    *openLogs

	byKey map[K]*delta // different keys may encode to the same item
	byID  map[string]*delta
	order []*delta

	current  *pendingChange // the change that route is applying
	touched  []*delta       // deltas touched by current
	keyError error          // error of the first key in current that the entity rejected
	at       func(K) *S
}

func openSum[S any, K comparable](def *Fold, into *table.Entity[S, K], merge func(into, delta *S), from []From[S, K]) (pipeline, error) {
	l := &sum[S, K]{def: def, into: into, mergeFunc: merge, from: make(map[any][]From[S, K])}
	o := def.options
	var errs [3]error
	l.removable, errs[0] = optionFunc[func(*S) bool](def.name, "Removable", o.removable)
	l.finish, errs[1] = optionFunc[func(*S)](def.name, "Finish", o.finish)
	l.part, errs[2] = optionFunc[func(K, int) K](def.name, "Partials", o.partial)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	if merge == nil || len(from) == 0 {
		return nil, fmt.Errorf("%w: fold %s needs a merge function and at least one On", ErrDefinition, def.name)
	}
	if l.part != nil && o.partials < 1 {
		return nil, fmt.Errorf("%w: fold %s: %d partials; use 1 or more", ErrDefinition, def.name, o.partials)
	}
	for _, fr := range from {
		l.from[fr.source.is] = append(l.from[fr.source.is], fr)
	}
	l.states = newCache(o.cache)
	if o.log != nil {
		l.opened = &openLogs{def: o.log, byID: make(map[string]*openLog)}
	}
	l.at = l.touch
	l.reset()
	return l, nil
}

func (l *sum[S, K]) fold() *Fold      { return l.def }
func (l *sum[S, K]) deltas() []*delta { return l.order }
func (l *sum[S, K]) cache() *cache    { return l.states }
func (l *sum[S, K]) logs() *openLogs  { return l.opened }

func (l *sum[S, K]) reset() {
	l.byKey = make(map[K]*delta, len(l.byKey))
	l.byID = make(map[string]*delta, len(l.byID))
	l.order = l.order[:0:0]
	l.current, l.touched = nil, nil
}

func (l *sum[S, K]) dropWritten() {
	l.order = slices.DeleteFunc(l.order, func(d *delta) bool { return !d.waiting() })
	maps.DeleteFunc(l.byKey, func(_ K, d *delta) bool { return !d.waiting() })
	maps.DeleteFunc(l.byID, func(_ string, d *delta) bool { return !d.waiting() })
}

func (l *sum[S, K]) route(k *pendingChange) error {
	l.current, l.keyError, l.touched = k, nil, l.touched[:0]
	err := l.apply(k, l.at)
	if err == nil {
		err = l.keyError
	}
	if err == nil {
		return nil
	}
	for _, d := range l.touched {
		d.dropChange(k)
	}
	return &poisonError{change: k, err: err}
}

func (l *sum[S, K]) apply(k *pendingChange, at func(K) *S) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	for _, fr := range l.from[k.reader.source.is] {
		if err := fr.apply(k.typed, at); err != nil {
			return err
		}
	}
	return nil
}

// touch is the function at during route.
func (l *sum[S, K]) touch(key K) *S {
	d := l.byKey[l.partial(key, l.current)]
	if d == nil {
		var err error
		if d, err = l.openDelta(l.partial(key, l.current)); err != nil {
			if l.keyError == nil {
				l.keyError = err
			}
			return new(S)
		}
	}
	if n := len(d.changes); n == 0 || d.changes[n-1] != l.current {
		d.touch(l.current)
		l.touched = append(l.touched, d)
	}
	return d.state.(*S)
}

// partial returns the key of the partial that a change belongs to. The shard decides, so workers on
// different shards write different items.
func (l *sum[S, K]) partial(key K, k *pendingChange) K {
	if l.part == nil {
		return key
	}
	return l.part(key, k.shard.number%l.def.options.partials)
}

func (l *sum[S, K]) openDelta(key K) (*delta, error) {
	it, err := l.into.Key(key)
	if err != nil {
		return nil, err
	}
	id := requests.ID(it)
	if d := l.byID[id]; d != nil {
		l.byKey[key] = d
		return d, nil
	}
	d := &delta{pipeline: l, id: id, key: it}
	state, err := l.decode(d, nil)
	if err != nil {
		return nil, err
	}
	d.state = state
	l.byKey[key], l.byID[id] = d, d
	l.order = append(l.order, d)
	return d, nil
}

func (l *sum[S, K]) decode(d *delta, it table.Item) (any, error) {
	if it == nil {
		it = zeroItem(d.key, l.into.Name())
	}
	s := new(S)
	if err := l.into.DecodeInto(it, s); err != nil {
		return nil, err
	}
	return s, nil
}

// rebuild applies the accepted changes to a fresh state. What they do to other items goes to
// throw-away states.
func (l *sum[S, K]) rebuild(d *delta, counted func(*pendingChange) bool) error {
	zero, err := l.decode(d, nil)
	if err != nil {
		return &poisonError{err: err}
	}
	state := zero.(*S)
	d.changes = slices.DeleteFunc(d.changes, func(k *pendingChange) bool { return !counted(k) })
	d.state, d.stale, d.spans = state, true, nil
	for i, k := range d.changes {
		at := func(key K) *S {
			if l.byKey[l.partial(key, k)] == d {
				return state
			}
			return l.scratchState(l.partial(key, k))
		}
		if err := l.apply(k, at); err != nil {
			d.changes = slices.Delete(d.changes, i, i+1)
			return &poisonError{change: k, err: fmt.Errorf("the change was applied once but cannot be applied again: %w", err)}
		}
		d.extend(k)
	}
	d.stale = false
	return nil
}

// scratchState returns a throw-away state for an item other than the one being rebuilt. That item may be
// written already, and its delta gone.
func (l *sum[S, K]) scratchState(key K) *S {
	if it, err := l.into.Key(key); err == nil {
		if s, err := l.decode(&delta{key: it}, nil); err == nil {
			return s.(*S)
		}
	}
	return new(S)
}

func (l *sum[S, K]) merge(_ context.Context, into any, d *delta) (removable bool, err error) {
	err = catchPanic(func() error {
		s := into.(*S)
		l.mergeFunc(s, d.state.(*S))
		if l.finish != nil {
			l.finish(s)
		}
		removable = l.removable != nil && l.removable(s)
		return nil
	})
	if err != nil {
		return false, &poisonError{err: err}
	}
	return removable, nil
}

func (l *sum[S, K]) encode(state any) (table.Item, error) {
	var it table.Item
	err := catchPanic(func() (err error) {
		it, err = l.into.Encode(state.(*S))
		return err
	})
	if err != nil {
		return nil, &poisonError{err: err}
	}
	return it, nil
}
