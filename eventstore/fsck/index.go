package fsck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// settled is the age of an aggregate in the list of its type at which its first append, which may be
// written later, must have happened.
const settled = time.Minute

// indexBatch is the number of events whose index entries are read together.
const indexBatch = 100

// readIndexed finds out whether a worker has written an index by event type.
func (c *checker) readIndexed(ctx context.Context) error {
	_, err := eventstore.AllTypes.First(ctx, c.t, struct{}{})
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	c.index = err == nil && !c.o.NoIndex
	return err
}

// listed checks that the aggregate is in the list of its type.
func (a *aggregate) listed(ctx context.Context) error {
	if a.prev.Seq == 0 {
		return nil
	}
	key := eventstore.ListKey(a.id)
	_, err := eventstore.ListOf.Get(ctx, a.t, key)
	if !errors.Is(err, table.ErrNotFound) {
		return storeError(ctx, err)
	}
	l := eventstore.Listed{ListedKey: key, CreatedAt: a.first.RecordedAt}
	return a.report(Finding{
		Kind: NotListed, ID: a.id, Item: headItem(a.id), Detail: fmt.Sprintf("%s is not in the list of its type", a.id),
		Plan: "add it to the list", fix: func(ctx context.Context) error { return changed(eventstore.ListOf.Create(ctx, a.t, &l)) },
	})
}

// listEntry checks that a listed aggregate exists.
func (c *checker) listEntry(ctx context.Context, it table.Item) error {
	l, err := eventstore.ListOf.Decode(it)
	if err != nil {
		return c.report(Finding{Kind: Unreadable, Item: keysOf(it), Detail: err.Error()})
	}
	if !c.wanted(l.Type) || c.t.Now().Sub(l.CreatedAt) < settled {
		return nil
	}
	if there, err := c.exists(ctx, l.ID); err != nil || there {
		return err
	}
	return c.report(Finding{
		Kind: IndexStale, ID: l.ID, Item: keysOf(it), Detail: fmt.Sprintf("%s is in the list of its type, but has no events", l.ID),
		Plan: "remove it from the list", fix: func(ctx context.Context) error { return eventstore.ListOf.Delete(ctx, c.t, l.ListedKey) },
	})
}

// indexed notes an event whose entry in the index by type is checked later, with others.
func (a *aggregate) indexed(ctx context.Context, e *eventstore.Event) error {
	if !a.index || a.t.Now().Sub(e.RecordedAt) < unfed { // it may still come with the change stream
		return nil
	}
	if a.events = append(a.events, *e); len(a.events) < indexBatch {
		return nil
	}
	return a.indexedRest(ctx)
}

// indexedRest checks that events are in the index by type.
func (a *aggregate) indexedRest(ctx context.Context) error {
	keys := make([]eventstore.TypeEntryKey, len(a.events))
	for i := range a.events {
		keys[i] = eventstore.EntryOf(&a.events[i]).TypeEntryKey
	}
	found, err := eventstore.TypeEntries.GetMany(ctx, a.t, keys)
	if err != nil {
		return storeError(ctx, err)
	}
	for i := range a.events {
		e := eventstore.EntryOf(&a.events[i])
		if slices.ContainsFunc(found, func(f eventstore.TypeEntry) bool { return f.TypeEntryKey == e.TypeEntryKey }) {
			continue
		}
		err := a.report(Finding{
			Kind: NotIndexed, ID: a.id, Item: itemOf(&a.events[i]), Detail: fmt.Sprintf("event %d of %s is missing from the index of events of type %s", e.Seq, a.id, e.EventType),
			Plan: "add it to the index", fix: func(ctx context.Context) error { return eventstore.TypeEntries.Put(ctx, a.t, &e) },
		})
		if err != nil {
			return err
		}
	}
	a.events = a.events[:0]
	return nil
}

// indexEntry checks that an event in the index by type exists, unless it was truncated.
func (c *checker) indexEntry(ctx context.Context, it table.Item) error {
	if c.o.NoIndex {
		return nil
	}
	e, err := eventstore.TypeEntries.Decode(it)
	if err != nil {
		return c.report(Finding{Kind: Unreadable, Item: keysOf(it), Detail: err.Error()})
	}
	if !c.wanted(e.Type) {
		return nil
	}
	f := Finding{Kind: IndexStale, ID: e.ID, Item: keysOf(it), Detail: fmt.Sprintf("event %d of %s is in the index of events of type %s, but does not exist", e.Seq, e.ID, e.EventType)}
	for is, err := range c.s.Read(ctx, e.ID, eventstore.From(e.Seq), eventstore.To(e.Seq), eventstore.AsStored()) {
		switch {
		case errors.Is(err, eventstore.ErrHole) || errors.Is(err, eventstore.ErrPage):
			return nil // reported with its aggregate
		case errors.Is(err, eventstore.ErrTruncated):
			return nil
		case err != nil:
			return storeError(ctx, err)
		case eventstore.EntryOf(&is).TypeEntryKey == e.TypeEntryKey:
			return nil
		}
		f.Detail = fmt.Sprintf("event %d of %s is in the index of events of type %s, but has type %s or another ID", e.Seq, e.ID, e.EventType, is.EventType)
	}
	f.Plan, f.fix = "remove it from the index", func(ctx context.Context) error { return eventstore.TypeEntries.Delete(ctx, c.t, e.TypeEntryKey) }
	return c.report(f)
}
