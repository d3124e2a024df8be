package fsck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// aggregate is an aggregate being checked. Its items come in the order of their sort keys: head,
// snapshot, marks, pages, snapshots of the past. The last events are those of the head.
type aggregate struct {
	*checker
	id     eventstore.ID
	head   eventstore.Head // as it was before the pages were read
	found  bool            // the head exists
	unread bool            // the head does not match its entity
	first  eventstore.Event
	prev   eventstore.Event // previous event; number 0: none
	snaps  []snapshot
	marks  map[string]*mark
	later  *eventstore.Page   // last page that the head does not have before it: closed since, or the head is old
	events []eventstore.Event // whose entries in the index are not checked yet
	broken bool               // numbers or chain are known to be wrong: consequences are not reported
}

// mark is a mark whose events are being looked for.
type mark struct {
	eventstore.Mark
	seen  int    // events of its append
	wrong string // description of an event that does not match
}

func (m *mark) last() int64 { return m.First + int64(m.N) - 1 }

func (c *checker) aggregate(ctx context.Context, id eventstore.ID) error {
	a := &aggregate{checker: c, id: id, marks: map[string]*mark{}}
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
			break
		}
	}
	if a.found {
		if err := a.openPage(ctx); err != nil {
			return err
		}
	}
	return a.end(ctx)
}

// readHead reads the head before the pages, so that these and the head have all events up to its
// version.
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
		_, err := decoded(a, eventstore.Heads, it)
		return err
	case eventstore.Snapshots.Name():
		snap, err := decoded(a, eventstore.Snapshots, it)
		if snap != nil {
			a.snaps = append(a.snaps, ofPresent(snap))
		}
		return err
	case eventstore.PastSnapshots.Name():
		past, err := decoded(a, eventstore.PastSnapshots, it)
		if past != nil {
			a.snaps = append(a.snaps, ofPast(past))
		}
		return err
	case eventstore.Marks.Name():
		m, err := decoded(a, eventstore.Marks, it)
		if m != nil {
			a.marks[m.CommitID] = &mark{Mark: *m}
		}
		return err
	case eventstore.Pages.Name():
		p, err := decoded(a, eventstore.Pages, it)
		if err != nil || p == nil {
			return err
		}
		return a.page(ctx, p)
	}
	return nil
}

// decoded decodes an item. It returns nil for an unreadable item, which it reports.
func decoded[T, K any](a *aggregate, e *table.Entity[T, K], it table.Item) (*T, error) {
	v, err := e.Decode(it)
	if err != nil {
		return nil, a.report(Finding{Kind: Unreadable, ID: a.id, Item: keysOf(it), Detail: err.Error()})
	}
	return &v, nil
}

// page checks a closed page.
func (a *aggregate) page(ctx context.Context, p *eventstore.Page) error {
	switch {
	case a.found && p.First >= a.head.First:
		a.later = p
		return nil
	case a.found && p.First < a.head.FirstKept:
		return a.leftover(pageItem(p.PageKey), p.First)
	}
	if !a.found {
		a.later = p
	}
	return a.records(ctx, pageItem(p.PageKey), p.Records)
}

// openPage checks the events in the head.
func (a *aggregate) openPage(ctx context.Context) error {
	if a.head.First < a.head.FirstKept {
		if err := a.leftover(headItem(a.id), a.head.First); err != nil {
			return err
		}
	}
	return a.records(ctx, headItem(a.id), a.head.Records)
}

// records checks the events of a page.
func (a *aggregate) records(ctx context.Context, item string, records []eventstore.Record) error {
	for _, r := range records {
		info, err := r.Info()
		var events []eventstore.Event
		if err == nil {
			events, err = r.Events(a.id, nil)
		}
		if err != nil {
			if err := a.report(Finding{Kind: Unreadable, ID: a.id, Item: item, Detail: fmt.Sprintf("%s: after event %d: %v", a.id, a.prev.Seq, err)}); err != nil {
				return err
			}
			continue
		}
		for i := range events {
			if events[i].Seq <= a.prev.Seq || events[i].Seq < a.head.FirstKept { // pages may overlap while a stream is truncated
				continue
			}
			a.p.Events++
			if err := a.event(ctx, item, &info, &events[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// event checks an event against the previous one.
func (a *aggregate) event(ctx context.Context, item string, info *eventstore.RecordInfo, e *eventstore.Event) error {
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
	if err := a.indexed(ctx, e); err != nil {
		return err
	}
	return a.marked(item, info, e)
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
	for _, check := range []func(context.Context) error{a.tail, a.unmarked, a.inFeed, a.listed, a.indexedRest} {
		if a.unread {
			break
		}
		if err := check(ctx); err != nil {
			return err
		}
	}
	for i := range a.snaps {
		if a.unread {
			break
		}
		if err := a.snapshot(ctx, &a.snaps[i]); err != nil {
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
		f.Kind, f.Detail = HeadMissing, fmt.Sprintf("%s has pages with events up to %d but no head; events after them are lost", a.id, last)
		a.planHead(&f, a.later.First, a.later.Records)
	case a.found && last < a.head.Version:
		f.Kind, f.Detail = HeadAhead, fmt.Sprintf("%s has version %d, but its last event is %d", a.id, a.head.Version, last)
	case a.found && last > a.head.Version:
		f.Kind, f.Detail = HeadBehind, fmt.Sprintf("%s has version %d, but its last event is %d", a.id, a.head.Version, last)
		a.planHead(&f, a.head.First, a.head.Records)
	case a.later != nil && a.later.Last > a.head.Version:
		now, err := eventstore.Heads.Get(ctx, a.t, a.id) // there may have been appends in the meantime
		if err != nil || now.Version >= a.later.Last {
			return err
		}
		f.Kind, f.Detail = HeadBehind, fmt.Sprintf("%s has version %d, but a page with events up to %d", a.id, now.Version, a.later.Last)
		if err := a.readLater(ctx); err != nil {
			return err
		}
		a.planHead(&f, a.later.First, a.later.Records)
	case a.found && last == a.head.Version && !a.broken && !bytes.Equal(a.head.Hash, a.prev.Hash):
		f.Kind, f.Detail = Broken, fmt.Sprintf("%s: the hash in the head differs from that of event %d", a.id, last)
	default:
		return nil
	}
	return a.report(f)
}

// readLater checks the pages after a head that is behind.
func (a *aggregate) readLater(ctx context.Context) error {
	for p, err := range eventstore.PagesFrom.All(ctx, a.t, eventstore.PagesIn{ID: a.id, From: a.head.First, To: eventstore.EndOfStream}) {
		if err == nil {
			err = a.records(ctx, pageItem(p.PageKey), p.Records)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// marked compares an event with the mark of its append. In put mode, appends in the open page have
// no marks yet.
func (a *aggregate) marked(item string, info *eventstore.RecordInfo, e *eventstore.Event) error {
	if m := a.marks[e.CommitID]; m != nil {
		if m.seen++; e.Seq-int64(e.Nth) != m.First || e.Of != m.N {
			m.wrong = fmt.Sprintf("event %d is number %d of %d of the append", e.Seq, e.Nth+1, e.Of)
		}
		return nil
	}
	if !info.Named || e.Nth > 0 || a.s.PutMode() && e.Seq >= a.head.First {
		return nil
	}
	m := eventstore.Mark{MarkKey: eventstore.MarkKey{ID: a.id, CommitID: e.CommitID}, First: e.Seq, N: e.Of, Digest: info.Digest, Sealed: info.Sealed}
	return a.report(Finding{
		Kind: MarkMissing, ID: a.id, Item: item, Detail: fmt.Sprintf("%s: append %q of event %d has no commit item, so repeating it would append its events again", a.id, e.CommitID, e.Seq),
		Plan: fmt.Sprintf("create the commit item of append %q, with %d events from %d on", e.CommitID, m.N, m.First),
		fix:  func(ctx context.Context) error { return changed(eventstore.Marks.Create(ctx, a.t, &m)) },
	})
}

// unmarked reports marks without their events.
func (a *aggregate) unmarked(ctx context.Context) error {
	for _, commit := range slices.Sorted(maps.Keys(a.marks)) {
		m := a.marks[commit]
		if m.last() < a.head.FirstKept || m.wrong == "" && int64(m.seen) == m.last()-max(m.First, a.head.FirstKept)+1 {
			continue
		}
		f := Finding{Kind: MarkWrong, ID: a.id, Item: fmt.Sprintf("AGGREGATE#%s#%s COMMIT#%s", a.id.Type, a.id.ID, commit)}
		f.Detail = fmt.Sprintf("%s: append %q has %d events from %d on, but ", a.id, commit, m.N, m.First)
		switch {
		case m.wrong != "":
			f.Detail += m.wrong
		case m.last() > a.prev.Seq: // it may be later than the check
			there, err := a.happened(ctx, m)
			if err != nil {
				return err
			}
			if there {
				continue
			}
			f.Detail += fmt.Sprintf("the last event is %d", a.prev.Seq)
		default:
			f.Detail += fmt.Sprintf("%d of them are there", m.seen)
		}
		if err := a.report(f); err != nil {
			return err
		}
	}
	return nil
}

// happened reports whether the events of a mark exist now.
func (a *aggregate) happened(ctx context.Context, m *mark) (bool, error) {
	n := 0
	for e, err := range a.s.Read(ctx, a.id, eventstore.From(m.First), eventstore.To(m.last()), eventstore.AsStored()) {
		if errors.Is(err, eventstore.ErrHole) || errors.Is(err, eventstore.ErrPage) || errors.Is(err, eventstore.ErrTruncated) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if e.CommitID == m.CommitID {
			n++
		}
	}
	return n == m.N, nil
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
	return fmt.Sprintf("AGGREGATE#%s#%s event %d", e.Type, e.ID.ID, e.Seq)
}

func pageItem(k eventstore.PageKey) string {
	return fmt.Sprintf("AGGREGATE#%s#%s PAGE#%012d", k.Type, k.ID.ID, k.First)
}

func headItem(id eventstore.ID) string {
	return fmt.Sprintf("AGGREGATE#%s#%s #METADATA", id.Type, id.ID)
}
