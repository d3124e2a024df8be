package eventstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Appended is an event from the change stream.
type Appended struct {
	Event
	Page int64 // first event of its page
}

// approximate memory of a decoded event
const appendedBytes = 1 << 10

// Appends are the events that changes of heads add, for folds. An append that was too large for the
// head only adds its last events there; DirectAppends has the others.
var Appends = fold.Each(Heads, appendedBytes, ofHead)

func ofHead(c fold.Typed[Head]) (iter.Seq2[int, Appended], error) {
	if c.New == nil {
		return nothing, nil
	}
	after := int64(0)
	if c.Old != nil {
		after = c.Old.Version
	}
	return appendedBy(c.New.ID, c.New.First, c.New.Records, after)
}

// DirectAppends are the events of appends that were too large for the head, except the last ones.
var DirectAppends = fold.Each(Pages, appendedBytes, ofPage)

func ofPage(c fold.Typed[Page]) (iter.Seq2[int, Appended], error) {
	if c.New == nil || c.Old != nil || !c.New.Direct {
		return nothing, nil
	}
	return appendedBy(c.New.ID, c.New.First, c.New.Records, 0)
}

func nothing(func(int, Appended) bool) {}

// appendedBy yields the events of records after a number.
func appendedBy(id ID, page int64, records []Record, after int64) (iter.Seq2[int, Appended], error) {
	var events []Event
	for _, r := range records {
		info, err := r.Info()
		if err != nil {
			return nil, err
		}
		if info.Last() <= after {
			continue
		}
		if events, err = r.decode(id, events); err != nil {
			return nil, err
		}
	}
	return func(yield func(int, Appended) bool) {
		for i := range events {
			if events[i].Seq > after && !yield(int(events[i].Seq-page), Appended{events[i], page}) {
				return
			}
		}
	}, nil
}

// EventsOfChange decodes the events that a change of a head or page adds, as Appends and
// DirectAppends, for readers of the change stream that are no folds. Other changes have none. Errors:
// ErrPage, those of decoding the images.
func EventsOfChange(c *fold.Change) (events []Event, err error) {
	var added iter.Seq2[int, Appended]
	switch entity, _ := c.New[table.AttrEntity].(*types.AttributeValueMemberS); {
	case entity == nil:
		return nil, nil
	case entity.Value == Heads.Name():
		added, err = decoded(Heads, c, ofHead)
	case entity.Value == Pages.Name():
		added, err = decoded(Pages, c, ofPage)
	}
	if err != nil || added == nil {
		return nil, err
	}
	for _, a := range added {
		events = append(events, a.Event)
	}
	return events, nil
}

func decoded[T, K any](e *table.Entity[T, K], c *fold.Change, split func(fold.Typed[T]) (iter.Seq2[int, Appended], error)) (iter.Seq2[int, Appended], error) {
	typed := fold.Typed[T]{Change: c, New: new(T)}
	if err := e.DecodeInto(c.New, typed.New); err != nil {
		return nil, err
	}
	if len(c.Old) > 0 {
		typed.Old = new(T)
		if err := e.DecodeInto(c.Old, typed.Old); err != nil {
			return nil, err
		}
	}
	return split(typed)
}

// TypeIndexFold returns the fold that writes the index by event type, for a fold.Worker in any number
// of processes. An entry is a function of its event, so it may be written again.
//
// It writes an entry, one write unit, for each event. An entry for all events of a type in an append
// would save units for appends with several events of one type alone. But EventsOfType has ranges of
// event IDs and pages of a number of events, and both may end between two events of an append: a
// reader of such an entry would miss or repeat events, or get more than it asked for.
func TypeIndexFold() *fold.Fold {
	add := func(a *Appended, at func(struct{}) *[]TypeEntry) error {
		into := at(struct{}{})
		*into = append(*into, a.entry())
		return nil
	}
	return fold.Observe("eventstore.typeindex", func(ctx context.Context, t *table.Table, seen *[]TypeEntry) error {
		return putEntries(ctx, t, *seen)
	}, fold.OnEach(Appends, add), fold.OnEach(DirectAppends, add))
}

const (
	entryBatch   = 100 // entries that RepairIndex compares at once
	entryWriters = 64  // entries written concurrently to a store that takes them one by one
)

// putEntries writes entries. Existing ones are the same.
func putEntries(ctx context.Context, t *table.Table, entries []TypeEntry) error {
	for _, err := range TypeEntries.CreateMany(ctx, t, entries, entryWriters) {
		if err != nil && !errors.Is(err, table.ErrExists) {
			return err
		}
	}
	return nil
}

func (a *Appended) entry() TypeEntry {
	e := EntryOf(&a.Event)
	e.Page = a.Page
	return e
}

// EntryOf returns the entry of an event in the index by type, without its page.
func EntryOf(e *Event) TypeEntry {
	return TypeEntry{TypeEntryKey: TypeEntryKey{e.EventType, e.Shard, e.EventID}, ID: e.ID, Seq: e.Seq}
}

// RepairIndex adds the entries that are missing from the index by event type, for all aggregates of
// ListTypes and of the given types, and returns their number. They are missing if no worker ran while
// the change stream kept the appends, or if the index is younger than the store. It reads all events.
// Errors: those of the store.
func (s *Store) RepairIndex(ctx context.Context, types ...string) (added int, err error) {
	listed, err := s.ListTypes(ctx)
	if err != nil {
		return 0, err
	}
	for _, t := range listed {
		types = append(types, t.Type)
	}
	slices.Sort(types)
	var entries []TypeEntry
	flush := func() error {
		n, err := s.addEntries(ctx, entries)
		added, entries = added+n, entries[:0]
		return err
	}
	for _, t := range slices.Compact(types) {
		for l, err := range AggregatesOfType.All(ctx, s.t, AggregatesIn{t}) {
			if err != nil {
				return added, fmt.Errorf("eventstore: repair the index: %w", err)
			}
			for e, err := range s.Read(ctx, l.ID, AsStored(), Kept()) {
				if err != nil {
					return added, fmt.Errorf("eventstore: repair the index: %w", err)
				}
				if entries = append(entries, EntryOf(&e)); len(entries) == entryBatch {
					if err := flush(); err != nil {
						return added, err
					}
				}
			}
		}
	}
	return added, flush()
}

// addEntries writes the entries that do not exist.
func (s *Store) addEntries(ctx context.Context, entries []TypeEntry) (added int, err error) {
	keys, missing := make([]TypeEntryKey, len(entries)), map[TypeEntryKey]TypeEntry{}
	for i, e := range entries {
		keys[i], missing[e.TypeEntryKey] = e.TypeEntryKey, e
	}
	found, err := TypeEntries.GetMany(ctx, s.t, keys)
	if err == nil {
		for _, e := range found {
			delete(missing, e.TypeEntryKey)
		}
		err = putEntries(ctx, s.t, slices.Collect(maps.Values(missing)))
	}
	if err != nil {
		return 0, fmt.Errorf("eventstore: repair the index: %w", err)
	}
	return len(missing), nil
}
