package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/fsck"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/table"
)

// Errors of truncation. After each of them nothing was deleted.
var (
	// ErrNoSnapshot is returned when an aggregate has no snapshot of the fold's version that covers
	// the events to delete.
	ErrNoSnapshot = errors.New("archive: there is no snapshot of the events to delete")
	// ErrWrongSnapshot is returned when the snapshot does not match the events.
	ErrWrongSnapshot = errors.New("archive: the snapshot differs from its events")
	// ErrNotArchived is returned when the archive lacks the events, or has different ones.
	ErrNotArchived = errors.New("archive: the archive does not have the events as they are in the table")
	// ErrPersonal is returned when truncating without an archive an aggregate with personal data:
	// erasing a person deletes the snapshot, which could then not be recomputed.
	ErrPersonal = errors.New("archive: the aggregate has personal data and must be archived first")
)

var (
	headVersion = table.FieldOf(eventstore.Heads, func(h *eventstore.Head) *int64 { return &h.Version })
	firstKept   = table.FieldOf(eventstore.Heads, func(h *eventstore.Head) *int64 { return &h.FirstKept })
	keptAfter   = table.FieldOf(eventstore.Heads, func(h *eventstore.Head) *[]byte { return &h.KeptAfter })
	snapSeq     = table.FieldOf(eventstore.Snapshots, func(s *eventstore.Snapshot) *int64 { return &s.LastSeq })
	snapReducer = table.FieldOf(eventstore.Snapshots, func(s *eventstore.Snapshot) *int { return &s.Reducer })
)

// Truncated is the result of Truncate.
type Truncated struct {
	FirstKept int64 // first event in the table
	Deleted   int   // events deleted by this call
}

// Truncate deletes the events of an aggregate before number keep. First it replays the snapshot,
// which must be of event keep-1 or later, and compares each event with the archive. Then it records
// keep in the head, in a transaction that checks the snapshot, and deletes the events. Readers use
// the archive from that moment on, so a crash only leaves events that the next call deletes. With a
// nil archive the events are lost for good, and other versions of the fold cannot be computed.
// Errors: table.ErrNotFound, eventstore.ErrInvalid for a number outside the stream or a store in
// put mode, ErrNoSnapshot, ErrWrongSnapshot, ErrNotArchived, ErrPersonal, ErrDamaged, those of the
// store.
func Truncate[S any](ctx context.Context, s *eventstore.Store, a *Archive, f eventstore.Fold[S], id eventstore.ID, keep int64) (Truncated, error) {
	c := &cut{s: s, t: s.Table(), a: a, id: id, keep: keep, reducer: f.Version}
	err := c.prepare(ctx)
	if err == nil && c.head.FirstKept < keep {
		if err = c.verify(ctx, fsck.ReplayOf(f)); err == nil {
			err = c.commit(ctx)
		}
	}
	deleted := int64(0)
	if err == nil {
		deleted, err = s.Trim(ctx, id)
	}
	if err != nil {
		return Truncated{FirstKept: c.head.FirstKept, Deleted: int(deleted)}, fmt.Errorf("truncate %s before event %d: %w", id, keep, err)
	}
	return Truncated{FirstKept: c.head.FirstKept, Deleted: int(deleted)}, nil
}

// cut is a truncation in progress.
type cut struct {
	s       *eventstore.Store
	t       *table.Table
	a       *Archive
	id      eventstore.ID
	keep    int64
	reducer int
	head    eventstore.Head
	hash    []byte // of the last event to delete
}

func (c *cut) prepare(ctx context.Context) (err error) {
	if c.s.PutMode() {
		return fmt.Errorf("%w: streams cannot be truncated in put mode", eventstore.ErrInvalid)
	}
	if c.head, err = c.s.Head(ctx, c.id); err != nil {
		return err
	}
	if c.keep < 2 || c.keep > c.head.Version {
		return fmt.Errorf("%w: the stream has events 1 to %d; truncate at least one and keep the last", eventstore.ErrInvalid, c.head.Version)
	}
	return nil
}

// verify checks that the events can be deleted.
func (c *cut) verify(ctx context.Context, replay fsck.Replay) error {
	snap, err := eventstore.SnapshotByID.Get(ctx, c.t, eventstore.SnapshotKey{ID: c.id})
	switch {
	case errors.Is(err, table.ErrNotFound):
		return ErrNoSnapshot
	case err != nil:
		return err
	case snap.Reducer != c.reducer || snap.LastSeq < c.keep-1:
		return fmt.Errorf("%w: the snapshot is of event %d and version %d of the fold", ErrNoSnapshot, snap.LastSeq, snap.Reducer)
	}
	differs, ok, err := replay(ctx, c.s, snap)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("%w: the snapshot cannot be decrypted any more", ErrNoSnapshot)
	case differs != "":
		return fmt.Errorf("%w: %s", ErrWrongSnapshot, differs)
	case c.a == nil:
		return c.impersonal(ctx)
	}
	return c.archived(ctx)
}

// impersonal checks that no person is in the aggregate, and reads the events to verify their chain.
func (c *cut) impersonal(ctx context.Context) error {
	_, err := shred.SubjectsOf.First(ctx, c.t, c.id)
	if errors.Is(err, table.ErrNotFound) {
		return c.each(ctx, func(e *eventstore.Event) error { return nil })
	}
	if err != nil {
		return err
	}
	return ErrPersonal
}

// archived compares the events to delete with the archive.
func (c *cut) archived(ctx context.Context) error {
	begin := max(c.head.FirstKept, 1)
	if has := c.a.Has(c.id, begin); has < c.keep-1 {
		return fmt.Errorf("%w: events %d to %d are needed, it has events up to %d", ErrNotArchived, begin, c.keep-1, has)
	}
	next, stop := iter.Pull2(c.a.Read(ctx, c.id, begin, c.keep-1))
	defer stop()
	return c.each(ctx, func(e *eventstore.Event) error {
		kept, err, ok := next()
		if err != nil {
			return err
		}
		equal, err := same(e, &kept)
		if err == nil && (!ok || !equal) {
			err = fmt.Errorf("%w: event %d", ErrNotArchived, e.Seq)
		}
		return err
	})
}

// each calls do with the events to delete, as they are stored.
func (c *cut) each(ctx context.Context, do func(*eventstore.Event) error) error {
	for e, err := range c.s.Read(ctx, c.id, eventstore.From(max(c.head.FirstKept, 1)), eventstore.To(c.keep-1), eventstore.AsStored(), eventstore.Verified()) {
		if err == nil {
			err = do(&e)
		}
		if err != nil {
			return err
		}
		c.hash = e.Hash
	}
	return nil
}

// commit records the truncation in the head, on condition that the snapshot still exists.
func (c *cut) commit(ctx context.Context) error {
	tx := table.NewTx(c.t, "")
	changes := []table.Change[eventstore.Head]{
		firstKept.Set(c.keep), table.If[eventstore.Head](headVersion.Ge(c.keep)), table.If[eventstore.Head](table.Or(firstKept.Missing(), firstKept.Lt(c.keep))),
	}
	if len(c.hash) > 0 {
		changes = append(changes, keptAfter.Set(c.hash))
	}
	eventstore.Heads.TxPatch(tx, c.id, changes...)
	eventstore.Snapshots.TxCheck(tx, eventstore.SnapshotKey{ID: c.id}, snapSeq.Ge(c.keep-1), snapReducer.Eq(c.reducer))
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	c.head.FirstKept = c.keep
	return nil
}
