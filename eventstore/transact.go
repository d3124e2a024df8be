package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
)

// Fold says how events make a state.
type Fold[S any] struct {
	// Version is that of Apply and of the form of S: a snapshot of another one is not used. At least 1 to use snapshots; 0:
	// there are none.
	Version int
	// Apply adds an event to a state, which is the zero S before the first.
	Apply func(state S, e Event) (S, error)
	// Cache keeps states between loads; nil: none is kept. With one, states are shared: neither Apply nor who loads a state may
	// change what it refers to, such as a map in it.
	Cache *Cache[S]
}

// Loaded is a state, and the version at which it is.
type Loaded[S any] struct {
	ID      ID
	State   S
	Version int64 // the number of the last event in State: what an append has to expect
	Read    int   // events that were read for it

	since time.Time // when reading began
}

// Load makes the state of an aggregate of the one in the cache, if there is one, or else of its snapshot, if there is one of
// the same Fold.Version, and the events after it.
// Its version is that of the last event it has read, consistently, and of nothing else. An aggregate without events has the
// zero state and version 0.
func Load[S any](ctx context.Context, s *Store, id ID, f Fold[S]) (Loaded[S], error) {
	at := Loaded[S]{ID: id, since: s.t.Now()}
	if !f.Cache.begin(s, &at) && f.Version > 0 {
		if err := at.restore(ctx, s, f.Version); err != nil {
			return at, err
		}
	}
	for e, err := range s.Read(ctx, id, From(at.Version+1)) {
		if err != nil {
			return at, err
		}
		if err := at.apply(f, &e); err != nil {
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

// restore begins with the snapshot.
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

// Transact loads a state, lets decide make events of it and appends these, as long as somebody else was quicker: then it
// adds what came in between and lets decide again. decide must have no effects but its result, and must not call Transact on the same aggregate, for
// those of one Store take turns, in the order in which they came; no events end it without an append. It returns the state after the append.
// A CommitID names the command: repeated, it returns the state after the append of the first time, whatever decide says now, or the present state
// if events up to there were truncated. Errors: those of decide as they are, ErrBusy after too many conflicts, those of Load and Append.
func Transact[S any](ctx context.Context, s *Store, id ID, f Fold[S], decide func(Loaded[S]) ([]NewEvent, error), options ...AppendOption) (Loaded[S], error) {
	leave, err := s.turns.enter(ctx, id)
	if err != nil {
		return Loaded[S]{ID: id}, err
	}
	defer leave()
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

// asCommand says that the commit id names the command, and not what was decided.
func asCommand(a *appending) { a.command = true }

// repeated is the result of a command that does nothing, or is refused, unless it happened before.
func (l Loaded[S]) repeated(ctx context.Context, s *Store, f Fold[S], options []AppendOption, refused error) (Loaded[S], error) {
	a := &appending{s: s, id: l.ID, command: true}
	for _, o := range options {
		o(a)
	}
	if a.named && checkName("commit id", a.commit, maxCommitID) == nil {
		c, err := a.marked(ctx)
		if err != nil {
			return l, errors.Join(err, refused)
		}
		if c.Version > 0 {
			return l.asOf(ctx, s, f, c.Version)
		}
	}
	return l, refused
}

// asOf is the state after an event: later than the one at hand, or earlier.
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
	f.Cache = nil // which has later ones
	then, err := then.catchUp(ctx, s, f, version)
	if errors.Is(err, ErrTruncated) {
		return l, nil
	}
	return then, err
}

// add adds what a conflict brought, or loads anew when that is not all.
func (l Loaded[S]) add(ctx context.Context, s *Store, f Fold[S], c *Conflict) (Loaded[S], error) {
	if len(c.Since) == 0 || c.Since[0].Seq != l.Version+1 || c.Since[len(c.Since)-1].Seq != c.Actual {
		f.Cache.Drop(s, l.ID) // it may be ahead of the stream, if somebody brought that back
		return Load(ctx, s, l.ID, f)
	}
	for i := range c.Since {
		if err := l.apply(f, &c.Since[i]); err != nil {
			return l, err
		}
	}
	return l, nil
}

// catchUp adds the events up to a version.
func (l Loaded[S]) catchUp(ctx context.Context, s *Store, f Fold[S], version int64) (Loaded[S], error) {
	for e, err := range s.Read(ctx, l.ID, From(l.Version+1), To(version)) {
		if err == nil {
			err = l.apply(f, &e)
		}
		if err != nil {
			return l, err
		}
	}
	f.Cache.keep(s, &l)
	return l, nil
}
