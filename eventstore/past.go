package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
)

// PastSnapshotKey names a snapshot of the past by the last event in it.
type PastSnapshotKey struct {
	ID
	LastSeq int64 `dynamodbav:"lastSeqNum"`
}

// PastSnapshot is the state of an aggregate after an event of the past, so that LoadAt and LoadAsOf
// need not replay a long stream.
type PastSnapshot struct {
	PastSnapshotKey
	Reducer    int       `dynamodbav:"reducer"` // version of the fold that computed it
	State      Payload   `dynamodbav:"state"`
	RecordedAt time.Time `dynamodbav:"recordedAt"` // the latest of its events
	MadeAt     time.Time `dynamodbav:"madeAt"`
	Expires    time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// PastSnapshots holds states of the past, which can be recomputed.
var PastSnapshots = table.Define[PastSnapshot, PastSnapshotKey]("eventstore.pastsnapshot", table.Def[PastSnapshot]{
	PK: aggregatePK, SK: "SNAPSHOT#{lastSeqNum:012}", MaxBytes: maxItemBytes,
	Example: examplePastSnapshot,
	Doc:     "The state of an aggregate after an event of the past.",
})

// PastSnapshotsIn selects the snapshots of an aggregate after events in [From, To).
type PastSnapshotsIn struct {
	ID
	From int64 `dynamodbav:"from"`
	To   int64 `dynamodbav:"to"`
}

// PastSnapshotsBackwards queries the snapshots of the past of an aggregate, last first.
var PastSnapshotsBackwards = table.NewQuery(PastSnapshots, table.QueryDef[PastSnapshotsIn]{
	ID: "E17", Question: "the last snapshot of an aggregate before an event of the past", Desc: true,
	From: "SNAPSHOT#{from:012}", To: "SNAPSHOT#{to:012}",
	Load: table.Load{PerSecond: 0.1, Items: 1, ItemBytes: 2000},
})

var pastReducer = table.FieldOf(PastSnapshots, func(s *PastSnapshot) *int { return &s.Reducer })

// PastSnapshotAt returns the last snapshot of the past that has no event after a version; ok is false
// if there is none. Its state may be sealed, see OpenState.
func (s *Store) PastSnapshotAt(ctx context.Context, id ID, version int64) (snap PastSnapshot, ok bool, err error) {
	snap, err = PastSnapshotsBackwards.First(ctx, s.t, PastSnapshotsIn{id, 1, min(version, EndOfStream-1) + 1})
	switch {
	case errors.Is(err, table.ErrNotFound):
		return snap, false, nil
	case err != nil:
		return snap, false, fmt.Errorf("eventstore: snapshot of %s: %w", id, err)
	}
	return snap, true, nil
}

// LoadAt returns the state of an aggregate after one of its events, or its present state if it has
// fewer. It starts with a snapshot of the past, see Snapshotting.Past, or the snapshot, whichever is
// nearer. Errors: those of Load; ErrInvalid for a version below 1.
func LoadAt[S any](ctx context.Context, s *Store, id ID, f Fold[S], version int64) (Loaded[S], error) {
	if version < 1 || version > EndOfStream {
		return Loaded[S]{ID: id}, fmt.Errorf("%w: version %d of %s: use 1 to %d", ErrInvalid, version, id, EndOfStream)
	}
	f.Cache = nil // it has later states
	at := Loaded[S]{ID: id, since: s.t.Now()}
	if f.Version > 0 {
		if err := at.restore(ctx, s, f.Version); err != nil {
			return at, err
		}
		if at.Version > version {
			at = Loaded[S]{ID: id, since: at.since}
		}
		past, ok, err := s.PastSnapshotAt(ctx, id, version)
		if err == nil && ok && past.LastSeq > at.Version {
			err = at.restorePast(ctx, s, &past, f.Version)
		}
		if err != nil {
			return at, err
		}
	}
	return at.catchUp(ctx, s, f, version)
}

// LoadAsOf returns the state of an aggregate after the events that were recorded up to a time. It
// starts with a snapshot of the past, which takes up to 40 requests to find in a long stream. An
// aggregate without such events has the zero state and version 0. Errors: those of Load.
func LoadAsOf[S any](ctx context.Context, s *Store, id ID, f Fold[S], asOf time.Time) (Loaded[S], error) {
	f.Cache = nil // it has later states
	at := Loaded[S]{ID: id, since: s.t.Now()}
	if f.Version > 0 {
		past, ok, err := s.pastAsOf(ctx, id, asOf)
		if err == nil && ok {
			err = at.restorePast(ctx, s, &past, f.Version)
		}
		if err != nil {
			return at, err
		}
	}
	for e, err := range s.Read(ctx, id, From(at.Version+1), AsOf(asOf)) {
		if err == nil {
			err = at.apply(f, &e)
		}
		if err != nil {
			return at, err
		}
	}
	return at, nil
}

// pastAsOf searches for the last snapshot of the past without an event recorded after a time.
func (s *Store) pastAsOf(ctx context.Context, id ID, asOf time.Time) (best PastSnapshot, found bool, err error) {
	low, high := int64(0), int64(EndOfStream) // there is none after high; best is the last up to low
	for next := high; low < high; next = low + (high-low+1)/2 {
		snap, ok, err := s.PastSnapshotAt(ctx, id, next)
		switch {
		case err != nil:
			return best, false, err
		case !ok || snap.LastSeq <= low:
			low = next
		case snap.RecordedAt.After(asOf):
			high = snap.LastSeq - 1
		default:
			best, found, low = snap, true, next
		}
	}
	return best, found, nil
}

// restorePast starts with a snapshot of the past, if it can be used.
func (l *Loaded[S]) restorePast(ctx context.Context, s *Store, snap *PastSnapshot, version int) error {
	if snap.Reducer != version {
		return nil
	}
	state, ok, err := s.OpenState(ctx, l.ID, snap.State)
	if err != nil || !ok {
		return err
	}
	var restored S
	if err := unmarshalState(state, &restored); err != nil {
		return fmt.Errorf("eventstore: snapshot of %s after event %d: %w", l.ID, snap.LastSeq, err)
	}
	l.State, l.Version = restored, snap.LastSeq
	return nil
}

// KeepPast stores a snapshot of the past after each event whose number is a multiple of every, and
// returns how many it stored. Those of the fold's version stay. SnapshotFold does so for new events;
// KeepPast is for events from before the fold ran, and for a new Fold.Version. The snapshots expire
// after the given time; 0: never. Errors: ErrInvalid for a fold of version 0, ErrTooLarge, those of Load.
func KeepPast[S any](ctx context.Context, s *Store, id ID, f Fold[S], every int64, expire time.Duration) (kept int, err error) {
	if f.Version < 1 || every < 1 {
		return 0, fmt.Errorf("%w: a snapshot needs a fold with version 1 or higher, and an interval", ErrInvalid)
	}
	return keepPast(ctx, s, id, f, pastPolicy{every, expire}, 0, EndOfStream)
}

type pastPolicy struct {
	every  int64
	expire time.Duration // 0: never
}

// keepPast stores the snapshots of the past after events in (after, through].
func keepPast[S any](ctx context.Context, s *Store, id ID, f Fold[S], p pastPolicy, after, through int64) (kept int, err error) {
	at, latest := Loaded[S]{ID: id, since: s.t.Now()}, time.Time{}
	if after > 0 {
		past, ok, err := s.PastSnapshotAt(ctx, id, after)
		if err == nil && ok {
			err = at.restorePast(ctx, s, &past, f.Version)
		}
		if err != nil {
			return 0, err
		}
		if at.Version > 0 {
			latest = past.RecordedAt
		}
	}
	for e, err := range s.Read(ctx, id, From(at.Version+1), To(through/p.every*p.every)) {
		if err == nil {
			err = at.apply(f, &e)
		}
		if err != nil {
			return kept, err
		}
		if e.RecordedAt.After(latest) {
			latest = e.RecordedAt
		}
		if at.Version <= after || at.Version%p.every != 0 {
			continue
		}
		saved, err := savePast(ctx, s, f.Version, &at, p, latest)
		if err != nil {
			return kept, err
		}
		if saved {
			kept++
		}
	}
	return kept, nil
}

func savePast[S any](ctx context.Context, s *Store, version int, at *Loaded[S], p pastPolicy, latest time.Time) (saved bool, err error) {
	wrap := func(err error) error {
		return fmt.Errorf("eventstore: snapshot of %s after event %d: %w", at.ID, at.Version, err)
	}
	state, err := json.Marshal(at.State)
	if err != nil {
		return false, wrap(err)
	}
	sealed, ok, err := s.sealState(ctx, at.ID, at.since, state)
	if err != nil {
		return false, wrap(err)
	}
	if !ok {
		return false, nil
	}
	now := s.t.Now().UTC()
	snap := PastSnapshot{PastSnapshotKey: PastSnapshotKey{at.ID, at.Version}, Reducer: version, State: sealed, RecordedAt: latest, MadeAt: now}
	if p.expire > 0 {
		snap.Expires = now.Add(p.expire)
	}
	switch err := PastSnapshots.Put(ctx, s.t, &snap, table.Or(table.Absent(), pastReducer.Lt(version))); {
	case errors.Is(err, table.ErrCondition):
		return false, nil
	case errors.Is(err, table.ErrTooLarge):
		return false, wrap(fmt.Errorf("%w: %w", ErrTooLarge, err))
	case err != nil:
		return false, wrap(err)
	}
	return true, nil
}
