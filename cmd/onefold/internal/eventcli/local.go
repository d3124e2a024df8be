package eventcli

import (
	"context"
	"fmt"
	"iter"

	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/eventstore/shred"
)

// local is the event store of an open table.
type local struct {
	store  *eventstore.Store
	ground *cmdenv.Store
}

func (l *local) append(ctx context.Context, id eventstore.ID, a *appending) (committed, error) {
	events, err := eventjson.NewEvents(a.Events)
	if err != nil {
		return committed{}, explain(id, err)
	}
	expected := eventstore.Any()
	switch e := a.Expected.(type) {
	case int64:
		expected = eventstore.Exact(e)
	case string:
		expected = map[string]eventstore.Expected{"none": eventstore.NoStream(), "exists": eventstore.Exists()}[e]
	}
	var options []eventstore.AppendOption
	if a.CommitID != "" {
		options = append(options, eventstore.CommitID(a.CommitID))
	}
	c, err := l.store.Append(ctx, id, expected, events, options...)
	return committed{c.CommitID, c.First, c.Version, c.Again}, explain(id, err)
}

func (l *local) read(ctx context.Context, id eventstore.ID, r reading) iter.Seq2[eventjson.Event, error] {
	return func(yield func(eventjson.Event, error) bool) {
		h, err := l.head(ctx, id)
		if err == nil && h.State == eventstore.Deleted {
			err = fmt.Errorf("deleted: %s was deleted", id)
		}
		if err != nil {
			yield(eventjson.Event{}, err)
			return
		}
		options := []eventstore.ReadOption{eventstore.From(r.from)}
		if r.to > 0 {
			options = append(options, eventstore.To(r.to))
		}
		if !r.asOf.IsZero() {
			options = append(options, eventstore.AsOf(r.asOf))
		}
		if r.backwards {
			options = append(options, eventstore.Backwards())
		}
		for e, err := range l.store.Read(ctx, id, options...) {
			shred.Redact(&e) // without keys
			if !yield(eventjson.Of(&e), explain(id, err)) || err != nil {
				return
			}
		}
	}
}

func (l *local) head(ctx context.Context, id eventstore.ID) (head, error) {
	h, err := l.store.Head(ctx, id)
	return describeHead(&h), explain(id, err)
}

func describeHead(h *eventstore.Head) head {
	return head{h.Type, h.ID.ID, h.Version, h.State, h.CreatedAt, h.UpdatedAt, h.LastTypes}
}

func (l *local) state(ctx context.Context, id eventstore.ID, version int64) (s state, err error) {
	h, err := l.head(ctx, id)
	if err == nil && version > h.Version {
		err = fmt.Errorf("bad_version: %s has %d events", id, h.Version)
	}
	if err != nil {
		return s, err
	}
	if version == 0 {
		version = h.Version
	}
	var made eventjson.State
	for e, err := range l.store.Read(ctx, id, eventstore.To(version)) {
		if err == nil {
			shred.Redact(&e)
			err = made.Add(&e)
		}
		if err != nil {
			return s, explain(id, err)
		}
		s.Version, s.At = e.Seq, e.RecordedAt
	}
	s.Silent, s.Fields = made.Silent, made.Fields
	return s, nil
}

// types folds all changes before it counts.
func (l *local) types(ctx context.Context) ([]typeCounts, error) {
	if err := l.ground.Worker.Drain(ctx); err != nil {
		return nil, err
	}
	all, err := l.store.ListTypes(ctx)
	types := make([]typeCounts, len(all))
	for i, c := range all {
		types[i] = typeCounts{c.Type, c.Aggregates, c.Closed, c.Deleted, c.Events, c.LastAt}
	}
	return types, err
}

func (l *local) aggregates(ctx context.Context, kind string) iter.Seq2[head, error] {
	return func(yield func(head, error) bool) {
		for h, err := range l.store.HeadsOfType(ctx, kind) {
			if !yield(describeHead(&h), err) || err != nil {
				return
			}
		}
	}
}

func (l *local) end(ctx context.Context, id eventstore.ID) error {
	return explain(id, l.store.Close(ctx, id))
}
