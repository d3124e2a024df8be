package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
)

// Fold computes a state from events.
type Fold[S any] struct {
	// Version is the version of Apply and of the form of S: snapshots of other versions are
	// ignored. It must be at least 1 to use snapshots; 0 disables them.
	Version int
	// Apply applies an event to a state, the zero S before the first event.
	Apply func(state S, e Event) (S, error)
	// Cache keeps states between loads; nil: none. Cached states are shared: neither Apply nor
	// callers may modify what a state refers to, such as a map in it.
	Cache *Cache[S]
}

// Loaded is a state with its version.
type Loaded[S any] struct {
	ID      ID
	State   S
	Version int64 // number of the last event in State: the version to expect in an append
	Read    int   // events read for it

	since time.Time // when reading began
}

// Load returns the state of an aggregate. It starts with the cached state, or else with a snapshot
// of the same Fold.Version, and applies the later events, with consistent reads. The version is
// that of the last event read. An aggregate without events has the zero state and version 0.
// Errors: those of Fold.Apply and Store.Read.
func Load[S any](ctx context.Context, s *Store, id ID, f Fold[S]) (Loaded[S], error) {
	return load(ctx, s, id, f, nil)
}

// load is Load with the events of a replay, if it has them.
func load[S any](ctx context.Context, s *Store, id ID, f Fold[S], r *replay) (Loaded[S], error) {
	at := Loaded[S]{ID: id, since: s.t.Now()}
	if !f.Cache.begin(s, &at) && f.Version > 0 {
		if err := at.restore(ctx, s, f.Version); err != nil {
			return at, err
		}
	}
	for e, err := range r.each(ctx, s, id, at.Version+1) {
		if err != nil {
			return at, err
		}
		if err := at.apply(f, e); err != nil {
			return at, err
		}
	}
	f.Cache.keep(s, &at)
	return at, nil
}

func (l *Loaded[S]) apply(f Fold[S], e *Event) error {
	next, err := f.Apply(l.State, *e)
	if err != nil {
		return fmt.Errorf("eventstore: apply event %d (%s) of %s: %w", e.Seq, e.EventType, e.ID, err)
	}
	l.State, l.Version, l.Read = next, e.Seq, l.Read+1
	return nil
}

// restore starts with the snapshot, if it can be used.
func (l *Loaded[S]) restore(ctx context.Context, s *Store, version int) error {
	snap, err := SnapshotByID.Get(ctx, s.t, SnapshotKey{l.ID})
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("eventstore: snapshot of %s: %w", l.ID, err)
	}
	if snap.Reducer != version {
		return nil
	}
	state, ok, err := s.OpenState(ctx, l.ID, snap.State)
	if err != nil {
		return fmt.Errorf("eventstore: snapshot of %s: %w", l.ID, err)
	}
	if !ok {
		return nil
	}
	if err := unmarshalState(state, &l.State); err != nil {
		return fmt.Errorf("eventstore: snapshot of %s: %w", l.ID, err)
	}
	l.Version = snap.LastSeq
	return nil
}

// Transact loads a state, lets decide create events from it, and appends them. If somebody else
// appended in the meantime, it applies their events and decides again. decide must have no side
// effects, and must not call Transact for the same aggregate, because the calls of one Store are
// decided in the order in which they arrived. Calls that waited together, up to 32, share one write
// and its time limit, which is that of the most patient. If decide returns no events, nothing is
// appended.
// Transact returns the state after the append. A CommitID identifies the command: if repeated, it
// returns the state after the first append, whatever decide returns now, or the current state if
// events up to there were truncated. Errors: those of decide unchanged, ErrBusy after too many
// conflicts, those of Load and Append.
func Transact[S any](ctx context.Context, s *Store, id ID, f Fold[S], decide func(Loaded[S]) ([]NewEvent, error), options ...AppendOption) (Loaded[S], error) {
	c := &transaction[S]{ctx: ctx, s: s, id: id, f: f, decide: decide, options: options, err: errUnhandled}
	if err := s.queues.do(ctx, s, id, c); err != nil {
		return Loaded[S]{ID: id}, err
	}
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.at, c.err
}

func transact[S any](ctx context.Context, s *Store, id ID, f Fold[S], decide func(Loaded[S]) ([]NewEvent, error), options []AppendOption) (Loaded[S], error) {
	at, err := Load(ctx, s, id, f)
	for try := 0; err == nil; try++ {
		var events []NewEvent
		if events, err = decide(at); err != nil || len(events) == 0 {
			return at.repeated(ctx, s, f, options, err)
		}
		var c Commit
		c, err = s.Append(ctx, id, Exact(at.Version), events, append(slices.Clip(options), asCommand)...)
		conflict := (*Conflict)(nil)
		switch {
		case err == nil:
			return at.asOf(ctx, s, f, c.Version)
		case !errors.As(err, &conflict):
			return at, err
		case try == maxTries-1:
			return at, fmt.Errorf("%w: %d conflicts on %s", ErrBusy, try+1, id)
		}
		if err = s.sleep(ctx, retryDelay(min(try, 4))); err == nil {
			at, err = at.add(ctx, s, f, conflict)
		}
	}
	return at, err
}

// asCommand marks that the commit ID names the command, not the decision.
func asCommand(a *appending) { a.command = true }

// repeated returns the result of a command without events, or with an error, unless the command had
// already happened.
func (l Loaded[S]) repeated(ctx context.Context, s *Store, f Fold[S], options []AppendOption, refused error) (Loaded[S], error) {
	a := &appending{s: s, id: l.ID, command: true}
	for _, o := range options {
		o(a)
	}
	if a.named && checkName("commit id", a.commit, maxCommitID) == nil {
		c, err := a.findMark(ctx)
		if err != nil {
			return l, errors.Join(err, refused)
		}
		if c.Version > 0 {
			return l.asOf(ctx, s, f, c.Version)
		}
	}
	return l, refused
}

// asOf returns the state after an event, which may be earlier or later than the loaded one.
func (l Loaded[S]) asOf(ctx context.Context, s *Store, f Fold[S], version int64) (Loaded[S], error) {
	if version >= l.Version {
		return l.catchUp(ctx, s, f, version)
	}
	then := Loaded[S]{ID: l.ID, since: s.t.Now()}
	if f.Version > 0 {
		if err := then.restore(ctx, s, f.Version); err != nil {
			return l, err
		}
		if then.Version > version {
			then = Loaded[S]{ID: l.ID, since: then.since}
		}
	}
	f.Cache = nil // it has later states
	then, err := then.catchUp(ctx, s, f, version)
	if errors.Is(err, ErrTruncated) {
		return l, nil
	}
	return then, err
}

// add applies the events of a conflict, or loads again if they are incomplete.
func (l Loaded[S]) add(ctx context.Context, s *Store, f Fold[S], c *Conflict) (Loaded[S], error) {
	if len(c.Since) == 0 || c.Since[0].Seq != l.Version+1 || c.Since[len(c.Since)-1].Seq != c.Actual {
		f.Cache.Drop(s, l.ID) // it may be ahead of a stream that was restored from a backup
		return Load(ctx, s, l.ID, f)
	}
	for i := range c.Since {
		if err := l.apply(f, &c.Since[i]); err != nil {
			return l, err
		}
	}
	return l, nil
}

// catchUp applies the events up to a version.
func (l Loaded[S]) catchUp(ctx context.Context, s *Store, f Fold[S], version int64) (Loaded[S], error) {
	for e, err := range s.each(ctx, l.ID, reading{from: l.Version + 1, to: version, ends: true}) {
		if err == nil {
			err = l.apply(f, e)
		}
		if err != nil {
			return l, err
		}
	}
	f.Cache.keep(s, &l)
	return l, nil
}
