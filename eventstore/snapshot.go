package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

func unmarshalState(p Payload, state any) error { return json.Unmarshal(p, state) }

var (
	snapshotSeq     = table.FieldOf(Snapshots, func(s *Snapshot) *int64 { return &s.LastSeq })
	snapshotReducer = table.FieldOf(Snapshots, func(s *Snapshot) *int { return &s.Reducer })
)

// SaveSnapshot stores a state as JSON, for later loads. A snapshot never goes back: if there is one
// of a later event or Fold.Version, it stays and saved is false. saved is also false if the state
// contains data that was erased since it was loaded. Errors: ErrInvalid for a fold of version 0 or
// a state without events, ErrTooLarge, ErrUnsealed, those of the store.
func SaveSnapshot[S any](ctx context.Context, s *Store, f Fold[S], at Loaded[S]) (saved bool, err error) {
	if f.Version < 1 || at.Version < 1 {
		return false, fmt.Errorf("%w: a snapshot needs an event and a fold with version 1 or higher", ErrInvalid)
	}
	state, err := json.Marshal(at.State)
	if err != nil {
		return false, fmt.Errorf("eventstore: snapshot of %s: %w", at.ID, err)
	}
	sealed, ok, err := s.sealState(ctx, at.ID, at.since, state)
	if err != nil {
		return false, fmt.Errorf("eventstore: snapshot of %s: %w", at.ID, err)
	}
	if !ok {
		return false, nil
	}
	snap := Snapshot{SnapshotKey: SnapshotKey{at.ID}, LastSeq: at.Version, Reducer: f.Version, State: sealed, MadeAt: s.t.Now().UTC()}
	err = Snapshots.Put(ctx, s.t, &snap, table.Or(
		table.Absent(),
		snapshotReducer.Lt(f.Version),
		table.And(snapshotReducer.Eq(f.Version), snapshotSeq.Lt(at.Version)),
	))
	switch {
	case errors.Is(err, table.ErrCondition):
		return false, nil
	case errors.Is(err, table.ErrTooLarge):
		return false, fmt.Errorf("%w: snapshot of %s: %w", ErrTooLarge, at.ID, err)
	case err != nil:
		return false, fmt.Errorf("eventstore: snapshot of %s: %w", at.ID, err)
	}
	return true, nil
}
