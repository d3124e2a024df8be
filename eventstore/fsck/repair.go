package fsck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

var (
	headVersion = table.FieldOf(eventstore.Heads, func(h *eventstore.Head) *int64 { return &h.Version })
	headUpdated = table.FieldOf(eventstore.Heads, func(h *eventstore.Head) *time.Time { return &h.UpdatedAt })
	headHash    = table.FieldOf(eventstore.Heads, func(h *eventstore.Head) *[]byte { return &h.Hash })
	headFirst   = table.FieldOf(eventstore.Heads, func(h *eventstore.Head) *int64 { return &h.First })
	headBytes   = table.FieldOf(eventstore.Heads, func(h *eventstore.Head) *int { return &h.Bytes })
	headRecords = table.FieldOf(eventstore.Heads, func(h *eventstore.Head) *[]eventstore.Record { return &h.Records })
	headTypes   = table.FieldOf(eventstore.Heads, func(h *eventstore.Head) *[]string { return &h.LastTypes })
	snapSeq     = table.FieldOf(eventstore.Snapshots, func(s *eventstore.Snapshot) *int64 { return &s.LastSeq })
	owner       = table.FieldOf(eventstore.Reservations, func(r *eventstore.Reservation) *string { return &r.Owner })
)

// changed returns ErrChanged for an error which shows that a repair found something other than what
// the check had found. Other errors are returned as they are.
func changed(err error) error {
	if errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrNotFound) || dynamo.Code(err) == "ConditionalCheckFailedException" {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}

// planHead plans to set a head to its last event, with an open page from an event on. What the events
// do not say, for example that a stream was closed, stays as it was, or is lost if the head is lost.
// If an event is missing, nothing is planned, because the version is then unknown.
func (a *aggregate) planHead(f *Finding, first int64, records []eventstore.Record) {
	if a.broken {
		f.Detail += "; its events are damaged as well"
		return
	}
	h, last := a.head, a.prev
	if !a.found {
		h = eventstore.Head{ID: a.id, CreatedAt: a.first.RecordedAt}
		f.Plan = fmt.Sprintf("create a head with version %d, open for appends, because it is unknown whether it was closed", last.Seq)
	} else {
		f.Plan = fmt.Sprintf("set the version from %d to %d", h.Version, last.Seq)
	}
	was := h.Version
	h.Version, h.UpdatedAt, h.Hash, h.LastTypes = last.Seq, last.RecordedAt, last.Hash, []string{last.EventType}
	h.First, h.Records, h.Bytes = first, records, 0
	for _, r := range records {
		h.Bytes += len(r)
	}
	f.fix = func(ctx context.Context) error {
		if was == 0 {
			return changed(eventstore.Heads.Create(ctx, a.t, &h))
		}
		_, err := eventstore.Heads.Patch(ctx, a.t, a.id, headVersion.Set(h.Version), headUpdated.Set(h.UpdatedAt), headHash.Set(h.Hash), headTypes.Set(h.LastTypes),
			headFirst.Set(h.First), headBytes.Set(h.Bytes), headRecords.Set(h.Records), table.If[eventstore.Head](headVersion.Eq(was)))
		return changed(err)
	}
}

// leftover reports a page with events that a truncation did not delete.
func (a *aggregate) leftover(item string, first int64) error {
	return a.report(Finding{
		Kind: Leftover, ID: a.id, Item: item, Detail: fmt.Sprintf("%s is truncated before event %d, but event %d still exists", a.id, a.head.FirstKept, first),
		Plan: fmt.Sprintf("delete the events before %d", a.head.FirstKept),
		fix: func(ctx context.Context) error {
			_, err := a.s.Trim(ctx, a.id)
			return err
		},
	})
}

// reservation checks that a value is reserved for an existing aggregate.
func (c *checker) reservation(ctx context.Context, it table.Item) error {
	who := text(it, "owner")
	for i, r := range who {
		id := eventstore.ID{Type: who[:i], ID: who[min(i+1, len(who)):]}
		if r != '/' || id.Type == "" || id.ID == "" { // both may contain slashes: any split that gives an existing aggregate counts
			continue
		}
		if there, err := c.exists(ctx, id); err != nil || there {
			return err
		}
	}
	f := Finding{Kind: Orphan, Item: keysOf(it), Detail: fmt.Sprintf("the value is reserved for %q, which never existed", who)}
	scope, value, ok := strings.Cut(strings.TrimPrefix(text(it, table.AttrPK), "UNIQUE#"), "#")
	if ok {
		f.Plan = "release the value"
		f.fix = func(ctx context.Context) error {
			return changed(eventstore.Reservations.Delete(ctx, c.t, eventstore.ReservationKey{Scope: scope, Value: value}, owner.Eq(who)))
		}
	}
	return c.report(f)
}

// exists reports whether an aggregate was ever appended to, with or without a head.
func (c *checker) exists(ctx context.Context, id eventstore.ID) (bool, error) {
	_, err := eventstore.HeadByID.Get(ctx, c.t, id)
	if errors.Is(err, table.ErrNotFound) {
		_, err = eventstore.PagesFrom.First(ctx, c.t, eventstore.PagesIn{ID: id, From: 1, To: eventstore.EndOfStream})
	}
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return false, nil
	}
	return storeError(ctx, err) == nil, storeError(ctx, err) // an item that cannot be decoded exists
}
