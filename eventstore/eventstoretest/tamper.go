package eventstoretest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// Tamper changes a stored event without the store's knowledge, or removes it if change returns false,
// in every page that has it. Everything else stays, also in the head.
func Tamper(t enginetest.T, on *table.Table, id eventstore.ID, seq int64, change func(*eventstore.Event) (keep bool)) {
	t.Helper()
	ctx, found := context.Background(), false
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("eventstoretest: tamper with event %d of %s: %v", seq, id, err)
		}
	}
	put := func(it table.Item, err error) {
		t.Helper()
		fail(err)
		name := on.Name()
		_, err = on.API().PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: it})
		fail(err)
		found = true
	}
	if h, err := eventstore.Heads.Get(ctx, on, id); err == nil {
		records, changed, err := tampered(id, h.Records, seq, change)
		if fail(err); changed {
			h.Records = records
			put(eventstore.Heads.Encode(&h))
		}
	}
	for p, err := range eventstore.PagesFrom.All(ctx, on, eventstore.PagesIn{ID: id, From: 1, To: eventstore.EndOfStream}) {
		fail(err)
		records, changed, err := tampered(id, p.Records, seq, change)
		switch fail(err); {
		case changed && len(records) == 0:
			fail(eventstore.Pages.Delete(ctx, on, p.PageKey))
			found = true
		case changed:
			p.Records = records
			put(eventstore.Pages.Encode(&p))
		}
	}
	if !found {
		t.Fatalf("eventstoretest: %s has no event %d", id, seq)
	}
}

// Remove removes a stored event.
func Remove(t enginetest.T, on *table.Table, id eventstore.ID, seqs ...int64) {
	t.Helper()
	for _, seq := range seqs {
		Tamper(t, on, id, seq, func(*eventstore.Event) bool { return false })
	}
}

// tampered returns records with a changed event.
func tampered(id eventstore.ID, records []eventstore.Record, seq int64, change func(*eventstore.Event) bool) (all []eventstore.Record, changed bool, err error) {
	for _, r := range records {
		info, err := r.Info()
		if err != nil {
			return nil, false, err
		}
		if seq < info.First || seq > info.Last() {
			all = append(all, r)
			continue
		}
		events, err := r.Events(id, nil)
		if err != nil {
			return nil, false, err
		}
		at := int(seq - info.First)
		if changed = true; !change(&events[at]) {
			events = append(events[:at], events[at+1:]...)
		}
		for from := 0; from < len(events); {
			to := from + 1
			for to < len(events) && together(&events[to-1], &events[to]) {
				to++
			}
			all = append(all, eventstore.NewRecord(events[from:to], info))
			from = to
		}
	}
	return all, changed, nil
}

// together reports whether an event can be in the record of the one before it.
func together(a, b *eventstore.Event) bool {
	return b.Seq == a.Seq+1 && b.Nth == a.Nth+1 && b.Of == a.Of && b.CommitID == a.CommitID && b.RecordedAt.Equal(a.RecordedAt)
}
