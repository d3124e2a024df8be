package fsck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/onefold/onefold/eventstore"
)

// Replay recomputes the state that a snapshot should have. It returns how the snapshot's state
// differs from it, or "" if it does not differ. ok is false if the states cannot be compared.
type Replay func(context.Context, *eventstore.Store, eventstore.Snapshot) (differs string, ok bool, err error)

// ReplayOf returns a Replay that uses a fold. It does not compare snapshots of other versions of
// the fold, because loads do not use them.
func ReplayOf[S any](f eventstore.Fold[S]) Replay {
	return func(ctx context.Context, s *eventstore.Store, snap eventstore.Snapshot) (string, bool, error) {
		if snap.Reducer != f.Version {
			return "", false, nil
		}
		var have, want S
		state, ok, err := s.OpenState(ctx, snap.ID, snap.State)
		if err != nil {
			return fmt.Sprintf("its state cannot be decrypted: %v", err), true, nil
		}
		if !ok {
			return "", false, nil
		}
		if err := json.Unmarshal(state, &have); err != nil {
			return fmt.Sprintf("its state cannot be read: %v", err), true, nil
		}
		for e, err := range s.Read(ctx, snap.ID, eventstore.To(snap.LastSeq)) {
			if err != nil {
				return "", false, err
			}
			if want, err = f.Apply(want, e); err != nil {
				return "", false, fmt.Errorf("apply event %d of %s: %w", e.Seq, e.EventKey.ID, err)
			}
		}
		a, err := json.Marshal(have)
		if err != nil {
			return "", false, err
		}
		b, err := json.Marshal(want)
		if err != nil || bytes.Equal(a, b) {
			return "", true, err
		}
		return fmt.Sprintf("it is %s, but its events give %s", clip(a), clip(b)), true, nil
	}
}

// clip shortens a state for a finding.
func clip(b []byte) string {
	const most = 200
	if len(b) > most {
		return string(bytes.ToValidUTF8(b[:most], nil)) + "…"
	}
	return string(b)
}

// snapshot is a snapshot of the present or the past.
type snapshot struct {
	eventstore.Snapshot
	item   string
	remove func(context.Context, *aggregate) error
}

func ofPresent(s *eventstore.Snapshot) snapshot {
	return snapshot{*s, "#SNAPSHOT", func(ctx context.Context, a *aggregate) error {
		return eventstore.Snapshots.Delete(ctx, a.t, s.SnapshotKey, snapSeq.Eq(s.LastSeq))
	}}
}

func ofPast(s *eventstore.PastSnapshot) snapshot {
	of := eventstore.Snapshot{SnapshotKey: eventstore.SnapshotKey{ID: s.ID}, LastSeq: s.LastSeq, Reducer: s.Reducer, State: s.State, MadeAt: s.MadeAt}
	return snapshot{of, fmt.Sprintf("SNAPSHOT#%012d", s.LastSeq), func(ctx context.Context, a *aggregate) error {
		return eventstore.PastSnapshots.Delete(ctx, a.t, s.PastSnapshotKey)
	}}
}

// snapshot checks a snapshot against the events.
func (a *aggregate) snapshot(ctx context.Context, snap *snapshot) error {
	f := Finding{Kind: SnapAhead, ID: a.id, Item: fmt.Sprintf("AGGREGATE#%s#%s %s", a.id.Type, a.id.ID, snap.item)}
	f.Plan = "delete the snapshot; loads work without it, and it is created again"
	f.fix = func(ctx context.Context) error { return changed(snap.remove(ctx, a)) }
	if snap.LastSeq > a.prev.Seq {
		f.Detail = fmt.Sprintf("%s has a snapshot of event %d, but its last event is %d", a.id, snap.LastSeq, a.prev.Seq)
		return a.report(f)
	}
	replay := a.o.Folds[a.id.Type]
	if replay == nil || a.broken {
		a.p.Unchecked++
		return nil
	}
	differs, ok, err := replay(ctx, a.s, snap.Snapshot)
	if err != nil && !errors.Is(err, eventstore.ErrTruncated) {
		return fmt.Errorf("replay %s: %w", a.id, err)
	}
	if !ok {
		a.p.Unchecked++
		return nil
	}
	a.p.Snapshots++
	if differs == "" {
		return nil
	}
	f.Kind, f.Detail = SnapWrong, fmt.Sprintf("the snapshot of %s after event %d: %s", a.id, snap.LastSeq, differs)
	return a.report(f)
}
