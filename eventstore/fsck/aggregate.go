package fsck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// aggregate is an aggregate being checked. Its items come in the order of their sort keys: head,
// snapshot, marks, events.
type aggregate struct {
	*checker
	id     eventstore.ID
	head   eventstore.Head // as it was before its events were read
	found  bool            // the head exists
	unread bool            // the head does not match its entity
	first  eventstore.Event
	prev   eventstore.Event // previous event; number 0: none
	snap   eventstore.Snapshot
	broken bool // numbers or chain are known to be wrong: consequences are not reported
}

func (c *checker) aggregate(ctx context.Context, id eventstore.ID) error {
	a := &aggregate{checker: c, id: id}
	if err := a.readHead(ctx); err != nil {
		return err
	}
	in := &dynamodb.QueryInput{
		TableName: aws.String(c.t.Name()), ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: table.Item{":pk": &types.AttributeValueMemberS{Value: "AGGREGATE#" + id.Type + "#" + id.ID}},
	}
	for {
		out, err := c.t.API().Query(ctx, in)
		if err != nil {
			return fmt.Errorf("read %s: %w", id, err)
		}
		for _, it := range out.Items {
			if err := a.item(ctx, it); err != nil {
				return err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return a.end(ctx)
		}
	}
}

// readHead reads the head before the events, so that these have at least its version.
func (a *aggregate) readHead(ctx context.Context) error {
	h, err := eventstore.Heads.Get(ctx, a.t, a.id)
	if a.head, a.found = h, err == nil; err == nil || errors.Is(err, table.ErrNotFound) {
		return nil
	}
	a.unread = true // reported when the item comes
	return storeError(ctx, err)
}

func (a *aggregate) item(ctx context.Context, it table.Item) error {
	switch text(it, table.AttrEntity) {
	case eventstore.Heads.Name():
		_, err := decoded(ctx, a, eventstore.Heads, it, a.head.CreatedAt)
		return err
	case eventstore.Snapshots.Name():
		snap, err := decoded(ctx, a, eventstore.Snapshots, it, time.Time{})
		if snap != nil {
			a.snap = *snap
		}
		return err
	case eventstore.Marks.Name():
		m, err := decoded(ctx, a, eventstore.Marks, it, time.Time{})
		if err != nil || m == nil {
			return err
		}
		return a.mark(ctx, m)
	case eventstore.Events.Name():
		a.p.Events++
		e, err := a.typed(ctx, it)
		if err != nil || e == nil {
			return err
		}
		return a.event(ctx, e)
	}
	return nil
}

// typed reads an event. An event without a type is reported; the type is not invented, and the
// index keys, which may have it, are left alone.
func (a *aggregate) typed(ctx context.Context, it table.Item) (*eventstore.Event, error) {
	if e, err := eventstore.Events.Decode(it); err == nil && e.EventType == "" {
		return &e, a.report(Finding{Kind: Unreadable, ID: a.id, Item: keysOf(it), Detail: fmt.Sprintf("event %d of %s has no type; its index key is %q", e.Seq, a.id, text(it, "gsi1pk"))})
	}
	return decoded(ctx, a, eventstore.Events, it, recordedAt(it))
}

func recordedAt(it table.Item) time.Time {
	if e, err := eventstore.Events.Decode(it); err == nil {
		return e.RecordedAt
	}
	return time.Time{}
}

// decoded decodes an item and checks its index keys. It returns nil for an unreadable item, which
// it reports.
func decoded[T, K any](ctx context.Context, a *aggregate, e *table.Entity[T, K], it table.Item, at time.Time) (*T, error) {
	v, err := e.Decode(it)
	if err != nil {
		return nil, a.report(Finding{Kind: Unreadable, ID: a.id, Item: keysOf(it), Detail: err.Error()})
	}
	should, err := e.Encode(&v)
	if err != nil {
		return nil, a.report(Finding{Kind: Unreadable, ID: a.id, Item: keysOf(it), Detail: err.Error()})
	}
	return &v, a.indexed(ctx, it, should, at)
}

// event checks an event against the previous one.
func (a *aggregate) event(ctx context.Context, e *eventstore.Event) error {
	if e.Seq < a.head.FirstKept {
		return a.leftover(e)
	}
	if a.prev.Seq == 0 {
		a.first = *e
	}
	if err := a.follows(e); err != nil {
		return err
	}
	if err := a.linked(e); err != nil {
		return err
	}
	a.prev = *e
	if e.Nth == 0 {
		return a.marked(ctx, e)
	}
	return nil
}

// follows checks the numbers of an event.
func (a *aggregate) follows(e *eventstore.Event) error {
	f := Finding{ID: a.id, Item: itemOf(e)}
	next := max(a.head.FirstKept, 1)
	if a.prev.Seq > 0 {
		next = a.prev.Seq + 1
	}
	switch {
	case e.Seq != next:
		f.Kind, f.Detail = Hole, fmt.Sprintf("%s: events from %d on are missing before event %d", a.id, next, e.Seq)
		a.broken = true
	case a.prev.Seq > 0 && (e.Nth > 0) != (a.prev.Nth+1 < a.prev.Of), a.prev.Seq > 0 && e.Nth > 0 && (e.CommitID != a.prev.CommitID || e.Nth != a.prev.Nth+1):
		f.Kind, f.Detail = Torn, fmt.Sprintf("%s: event %d is number %d of %d in its append, but event %d is number %d of %d", a.id, a.prev.Seq, a.prev.Nth+1, a.prev.Of, e.Seq, e.Nth+1, e.Of)
	default:
		return nil
	}
	return a.report(f)
}

// linked checks the hash of an event.
func (a *aggregate) linked(e *eventstore.Event) error {
	if a.broken || len(a.prev.Hash)+len(e.Hash) == 0 {
		return nil
	}
	prev := a.prev.Hash
	if a.prev.Seq == 0 && a.head.FirstKept > 1 {
		prev = a.head.KeptAfter
	}
	if bytes.Equal(e.Hash, eventstore.ChainHash(prev, e)) {
		return nil
	}
	a.broken = true
	return a.report(Finding{Kind: Broken, ID: a.id, Item: itemOf(e), Detail: fmt.Sprintf("%s: the hash of event %d does not match the event and the previous hash", a.id, e.Seq)})
}

// end checks the head against the last event, and everything derived from the events.
func (a *aggregate) end(ctx context.Context) error {
	if !a.s.PutMode() && !a.unread {
		if err := a.tail(ctx); err != nil {
			return err
		}
		if err := a.inFeed(); err != nil {
			return err
		}
	}
	if a.snap.LastSeq > 0 {
		if err := a.snapshot(ctx); err != nil {
			return err
		}
	}
	return a.models(ctx)
}

// tail checks the head against the last event.
func (a *aggregate) tail(ctx context.Context) error {
	f := Finding{ID: a.id, Item: headItem(a.id)}
	switch last := a.prev.Seq; {
	case !a.found && last > 0:
		f.Kind, f.Detail = HeadMissing, fmt.Sprintf("%s has events up to %d but no head", a.id, last)
		a.planHead(&f)
	case a.found && last < a.head.Version:
		f.Kind, f.Detail = HeadAhead, fmt.Sprintf("%s has version %d, but its last event is %d", a.id, a.head.Version, last)
	case a.found && last > a.head.Version:
		now, err := eventstore.Heads.Get(ctx, a.t, a.id) // there may have been appends in the meantime
		if err != nil || now.Version >= last {
			return err
		}
		a.head = now
		f.Kind, f.Detail = HeadBehind, fmt.Sprintf("%s has version %d, but its last event is %d", a.id, now.Version, last)
		a.planHead(&f)
	case a.found && last == a.head.Version && !a.broken && !bytes.Equal(a.head.Hash, a.prev.Hash):
		f.Kind, f.Detail = Broken, fmt.Sprintf("%s: the hash in the head differs from that of event %d", a.id, last)
	default:
		return nil
	}
	return a.report(f)
}

// mark checks that the events of a mark belong to its append.
func (a *aggregate) mark(ctx context.Context, m *eventstore.Mark) error {
	if m.First+int64(m.N) <= a.head.FirstKept {
		return nil
	}
	f := Finding{Kind: MarkWrong, ID: a.id, Item: fmt.Sprintf("AGGREGATE#%s#%s COMMIT#%s", a.id.Type, a.id.ID, m.CommitID)}
	for _, at := range []struct {
		seq int64
		nth int
	}{{m.First, 0}, {m.First + int64(m.N) - 1, m.N - 1}} {
		if at.seq < a.head.FirstKept {
			continue
		}
		e, err := eventstore.Events.Get(ctx, a.t, eventstore.EventKey{ID: a.id, Seq: at.seq})
		switch {
		case errors.Is(err, table.ErrNotFound):
			f.Detail = fmt.Sprintf("%s: append %q has %d events from %d on, but event %d is missing", a.id, m.CommitID, m.N, m.First, at.seq)
		case err != nil:
			return storeError(ctx, err)
		case e.CommitID != m.CommitID || e.Nth != at.nth || e.Of != m.N:
			f.Detail = fmt.Sprintf("%s: append %q has %d events from %d on, but event %d is number %d of %d of append %q", a.id, m.CommitID, m.N, m.First, at.seq, e.Nth+1, e.Of, e.CommitID)
		default:
			continue
		}
		return a.report(f)
	}
	return nil
}

// marked checks that an append with a caller's commit ID has a mark. Commit IDs generated by the
// store are ULIDs, and have none.
func (a *aggregate) marked(ctx context.Context, e *eventstore.Event) error {
	if _, err := ulid.ParseStrict(e.CommitID); err == nil || a.s.PutMode() {
		return nil
	}
	m := eventstore.Mark{MarkKey: eventstore.MarkKey{ID: a.id, CommitID: e.CommitID}, First: e.Seq, N: e.Of}
	_, err := eventstore.Marks.Get(ctx, a.t, m.MarkKey)
	if !errors.Is(err, table.ErrNotFound) {
		return storeError(ctx, err) // or the mark exists; it is checked separately
	}
	return a.report(Finding{
		Kind: MarkMissing, ID: a.id, Item: itemOf(e), Detail: fmt.Sprintf("%s: append %q of event %d has no commit item, so repeating it would append its events again", a.id, e.CommitID, e.Seq),
		Plan: fmt.Sprintf("create the commit item of append %q, with %d events from %d on", e.CommitID, m.N, m.First),
		fix:  func(ctx context.Context) error { return changed(eventstore.Marks.Create(ctx, a.t, &m)) },
	})
}

// storeError returns an error of the store, and nil for an item that does not match its entity,
// which is a finding of its own.
func storeError(ctx context.Context, err error) error {
	if dynamo.Code(err) != "" || ctx.Err() != nil {
		return err
	}
	return nil
}

func itemOf(e *eventstore.Event) string {
	return fmt.Sprintf("AGGREGATE#%s#%s EVENT#%012d", e.Type, e.ID.ID, e.Seq)
}

func headItem(id eventstore.ID) string {
	return fmt.Sprintf("AGGREGATE#%s#%s #METADATA", id.Type, id.ID)
}
