package eventstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Snapshotting says of which aggregates snapshots are made, and when.
type Snapshotting[S any] struct {
	Type  string // of the aggregates
	Fold  Fold[S]
	Every int64 // a snapshot is made when an append brings the version to a multiple of this, or beyond; default 100
	// Failed is told of what no snapshot can be made of, for an event cannot be applied, say: it is loaded as before. nil:
	// nobody is.
	Failed func(ID, error)
}

// errUnfit marks why no snapshot can be made, however often it is tried.
var errUnfit = errors.New("eventstore: no snapshot can be made")

// SnapshotFold makes snapshots beside the appends, which do not wait for them: give it to a fold.Worker. A snapshot of an older
// Fold.Version is not used by Load, and replaced at the next multiple. Workers that meet do not harm each other: a snapshot never
// goes back. Names are as those of folds. Without transactions it looks at events in place of heads.
func SnapshotFold[S any](s *Store, name string, d Snapshotting[S]) *fold.Fold {
	if d.Every <= 0 {
		d.Every = 100
	}
	d.Fold.Cache = nil // it has what others have loaded: snapshots are of what is in the table
	d.Fold.Apply = marked(d.Fold.Apply)
	act := func(ctx context.Context, _ *table.Table, due *map[ID]bool) error {
		return makeSnapshots(ctx, s, d, *due)
	}
	note := func(id ID, before, version int64, at func(struct{}) *map[ID]bool) {
		if id.Type != d.Type || version/d.Every == before/d.Every {
			return
		}
		due := at(struct{}{})
		if *due == nil {
			*due = map[ID]bool{}
		}
		(*due)[id] = true
	}
	if s.o.OneByOne {
		return fold.Observe(name, act, fold.On(Events, func(c fold.Typed[Event], at func(struct{}) *map[ID]bool) error {
			if c.New != nil {
				note(c.New.ID, c.New.Seq-1, c.New.Seq, at)
			}
			return nil
		}))
	}
	return fold.Observe(name, act, fold.On(Heads, func(c fold.Typed[Head], at func(struct{}) *map[ID]bool) error {
		if c.New == nil {
			return nil
		}
		before := int64(0)
		if c.Old != nil {
			before = c.Old.Version
		}
		note(c.New.ID, before, c.New.Version, at)
		return nil
	}))
}

// marked lets an event that cannot be applied be told from a store that cannot be read.
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

// snapshotters is how many snapshots are made at once.
const snapshotters = 4

func makeSnapshots[S any](ctx context.Context, s *Store, d Snapshotting[S], due map[ID]bool) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(snapshotters)
	for id := range due {
		g.Go(func() error {
			at, err := Load(ctx, s, id, d.Fold)
			if err == nil && at.Version > 0 {
				_, err = SaveSnapshot(ctx, s, d.Fold, at)
			}
			for _, stays := range []error{errUnfit, ErrTooLarge, ErrHole, ErrTruncated, ErrInvalid} {
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

// SnapshotCheck is what VerifySnapshot found.
type SnapshotCheck struct {
	Found   bool    // there is a snapshot, of the fold's version, that can be opened
	LastSeq int64   // the event after which it was made
	Same    bool    // it is what the events come to
	Have    Payload // the state in the snapshot
	Want    Payload // the state that the events come to
}

// VerifySnapshot makes the state of an aggregate anew from its first event to that of the snapshot, and compares. Where the
// stream was truncated the archive has to be at hand. Errors: those of Fold.Apply, ErrTruncated, those of the store.
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
