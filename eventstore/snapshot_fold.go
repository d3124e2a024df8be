package eventstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Snapshotting configures automatic snapshots.
type Snapshotting[S any] struct {
	Type  string // type of the aggregates
	Fold  Fold[S]
	Every int64 // a snapshot is taken when an append reaches or passes a multiple of this version; default 100
	// Past is the interval, in events, of snapshots of the past for LoadAt and LoadAsOf; 0: none.
	// KeepPast makes those of events from before.
	Past    int64
	PastFor time.Duration // after which they expire; default 0: never
	// Failed is called if no snapshot can be taken, for example because an event cannot be applied.
	// Loads then work without it. nil: not called.
	Failed func(ID, error)
}

// errUnfit means that a snapshot can never be taken.
var errUnfit = errors.New("eventstore: cannot create a snapshot")

// SnapshotFold returns a fold that takes snapshots asynchronously, for a fold.Worker. Load ignores
// snapshots of older versions of the fold; they are replaced at the next multiple. Concurrent
// workers are safe, because snapshots never go back. name is the fold's name.
func SnapshotFold[S any](s *Store, name string, d Snapshotting[S]) *fold.Fold {
	if d.Every <= 0 {
		d.Every = 100
	}
	d.Fold.Cache = nil // a cached state may not be in the table
	d.Fold.Apply = marked(d.Fold.Apply)
	act := func(ctx context.Context, _ *table.Table, seen *map[ID]grown) error {
		return makeSnapshots(ctx, s, d, *seen)
	}
	return fold.Observe(name, act, fold.On(Heads, func(c fold.Typed[Head], at func(struct{}) *map[ID]grown) error {
		if c.New == nil || c.New.Type != d.Type {
			return nil
		}
		g := grown{to: c.New.Version}
		if c.Old != nil {
			g.from = c.Old.Version
		}
		if g.passed(d.Every) || d.Past > 0 && g.passed(d.Past) {
			g.note(c.New.ID, at(struct{}{}))
		}
		return nil
	}))
}

// grown says that a stream grew from one version to another.
type grown struct{ from, to int64 }

// passed reports whether the stream reached or passed a multiple of n.
func (g grown) passed(n int64) bool { return g.to/n > g.from/n }

// note adds the growth to that of earlier appends.
func (g grown) note(id ID, seen *map[ID]grown) {
	if *seen == nil {
		*seen = map[ID]grown{}
	}
	if before, ok := (*seen)[id]; ok {
		g = grown{min(before.from, g.from), max(before.to, g.to)}
	}
	(*seen)[id] = g
}

// marked distinguishes an event that cannot be applied from a store that cannot be read.
func marked[S any](apply func(S, Event) (S, error)) func(S, Event) (S, error) {
	return func(state S, e Event) (next S, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("%w: panic: %v", errUnfit, r)
			}
		}()
		if next, err = apply(state, e); err != nil {
			err = fmt.Errorf("%w: %w", errUnfit, err)
		}
		return next, err
	}
}

// snapshotters is the number of snapshots taken concurrently.
const snapshotters = 4

func makeSnapshots[S any](ctx context.Context, s *Store, d Snapshotting[S], seen map[ID]grown) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(snapshotters)
	for id, grown := range seen {
		g.Go(func() error {
			err := d.take(ctx, s, id, grown)
			for _, stays := range []error{errUnfit, ErrTooLarge, ErrHole, ErrTruncated, ErrPage, ErrInvalid} {
				if errors.Is(err, stays) {
					if d.Failed != nil {
						d.Failed(id, err)
					}
					return nil
				}
			}
			return err
		})
	}
	return g.Wait()
}

// take takes the snapshots of an aggregate that are due.
func (d *Snapshotting[S]) take(ctx context.Context, s *Store, id ID, g grown) error {
	if d.Past > 0 && g.passed(d.Past) {
		if _, err := keepPast(ctx, s, id, d.Fold, pastPolicy{d.Past, d.PastFor}, g.from, g.to); err != nil {
			return err
		}
	}
	if !g.passed(d.Every) {
		return nil
	}
	at, err := Load(ctx, s, id, d.Fold)
	if err == nil && at.Version > 0 {
		_, err = SaveSnapshot(ctx, s, d.Fold, at)
	}
	return err
}

// SnapshotCheck is the result of VerifySnapshot.
type SnapshotCheck struct {
	Found   bool    // a snapshot of the fold's version exists and can be opened
	LastSeq int64   // last event of the snapshot
	Same    bool    // the snapshot matches the events
	Have    Payload // state in the snapshot
	Want    Payload // state computed from the events
}

// VerifySnapshot recomputes the state of an aggregate from its first event up to the snapshot, and
// compares. If the stream was truncated, the archive is needed. Errors: those of Fold.Apply,
// ErrTruncated, those of the store.
func VerifySnapshot[S any](ctx context.Context, s *Store, id ID, f Fold[S]) (c SnapshotCheck, err error) {
	have := Loaded[S]{ID: id}
	if err := have.restore(ctx, s, f.Version); err != nil || have.Version == 0 {
		return c, err
	}
	want := Loaded[S]{ID: id}
	if want, err = want.catchUp(ctx, s, f, have.Version); err != nil {
		return c, err
	}
	c = SnapshotCheck{Found: true, LastSeq: have.Version}
	if c.Have, err = json.Marshal(have.State); err == nil {
		c.Want, err = json.Marshal(want.State)
	}
	if err != nil {
		return c, fmt.Errorf("eventstore: verify the snapshot of %s: %w", id, err)
	}
	c.Same = want.Version == have.Version && bytes.Equal(c.Have, c.Want)
	return c, nil
}
