package fsck_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/eventstore/fsck"
	"github.com/onefold/onefold/table"
)

type world struct {
	*testing.T
	ctx   context.Context
	db    *enginetest.DB
	table *table.Table
	store *eventstore.Store
}

var counter = eventstore.Fold[map[string]int]{Version: 1, Apply: func(m map[string]int, e eventstore.Event) (map[string]int, error) {
	next := map[string]int{e.EventType: m[e.EventType] + 1}
	for k, n := range m {
		if k != e.EventType {
			next[k] = n
		}
	}
	return next, nil
}}

// newWorld has three orders and a customer without any damage: some appends have IDs, some have
// several events, one order has tags, and there are a snapshot, a reservation, and events old enough to be in the
// index.
func newWorld(t *testing.T, o eventstore.Options, api func(dynamo.API) dynamo.API) *world {
	t.Helper()
	w := &world{T: t, ctx: t.Context(), db: enginetest.New(t)}
	w.must(eventstore.Schema.Ensure(w.ctx, w.db, "onefold"))
	w.table = table.New(api(w.db), "onefold", table.Options{Clock: w.db.Now})
	var err error
	w.store, err = eventstore.New(w.table, o)
	w.must(err)
	o.TypeShards = 4
	second, err := eventstore.New(w.table, o)
	w.must(err)
	for n := range 4 {
		for i := range 4 {
			var options []eventstore.AppendOption
			if i%2 == 1 {
				options = append(options, eventstore.CommitID(fmt.Sprint("pay-", i)))
			}
			if i == 0 && !o.PutMode {
				options = append(options, eventstore.Reserve("number", fmt.Sprint(n)))
			}
			events := []eventstore.NewEvent{{Type: "Placed"}, {Type: "Paid"}}
			if n == 3 && !o.PutMode {
				events[0].Tags, events[1].Tags = []string{"a", "b"}, []string{"a"}
			}
			_, err := []*eventstore.Store{w.store, second}[i/2%2].Append(w.ctx, orderID(n), eventstore.Any(), events, options...)
			w.must(err)
		}
	}
	at, err := eventstore.Load(w.ctx, w.store, orderID(1), counter)
	w.must(err)
	_, err = eventstore.SaveSnapshot(w.ctx, w.store, counter, at)
	w.must(err)
	w.db.Advance(time.Hour)
	return w
}

func asIs(api dynamo.API) dynamo.API { return api }

func orderID(n int) eventstore.ID { return eventstore.ID{Type: "order", ID: fmt.Sprint(n)} }

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) check(o fsck.Options) (findings []fsck.Finding) {
	w.Helper()
	o.Folds = map[string]fsck.Replay{"order": fsck.ReplayOf(counter)}
	for f, err := range fsck.Check(w.ctx, w.store, o) {
		w.must(err)
		findings = append(findings, f)
	}
	return findings
}

// kinds returns the kinds of findings, each once, in order.
func kinds(findings []fsck.Finding) string {
	var all []string
	for _, f := range findings {
		all = append(all, string(f.Kind))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

func (w *world) put(it table.Item) {
	w.Helper()
	_, err := w.db.PutItem(w.ctx, &dynamodb.PutItemInput{TableName: aws.String("onefold"), Item: it})
	w.must(err)
}

// overwrite changes an item without the store's knowledge.
func overwrite[T, K any](w *world, e *table.Entity[T, K], k K, change func(*T)) {
	w.Helper()
	v, err := e.Get(w.ctx, w.table, k)
	w.must(err)
	change(&v)
	it, err := e.Encode(&v)
	w.must(err)
	w.put(it)
}

// rewrite changes attributes of an item.
func (w *world) rewrite(pk, sk string, change func(table.Item)) {
	w.Helper()
	key := table.Item{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
	out, err := w.db.GetItem(w.ctx, &dynamodb.GetItemInput{TableName: aws.String("onefold"), Key: key})
	w.must(err)
	change(out.Item)
	w.put(out.Item)
}

func (w *world) drop(n int, seqs ...int64) {
	w.Helper()
	eventstoretest.Remove(w, w.table, orderID(n), seqs...)
}

// tamper changes an event without the store's knowledge.
func (w *world) tamper(n int, seq int64, change func(*eventstore.Event)) {
	w.Helper()
	eventstoretest.Tamper(w, w.table, orderID(n), seq, func(e *eventstore.Event) bool { change(e); return true })
}

// garble changes a byte of the first record of order 0, wherever it is.
func garble(w *world) {
	sk := "PAGE#000000000001"
	if _, err := eventstore.Pages.Get(w.ctx, w.table, eventstore.PageKey{ID: orderID(0), First: 1}); errors.Is(err, table.ErrNotFound) {
		sk = "#METADATA"
	}
	w.rewrite("AGGREGATE#order#0", sk, func(it table.Item) {
		it["events"].(*types.AttributeValueMemberL).Value[0].(*types.AttributeValueMemberB).Value[20] ^= 1
	})
}

// All damage is found, and nothing else. Everything that can be repaired is correct afterwards.
func TestDamage(t *testing.T) {
	for size, pageBytes := range map[string]int{"one page": 0, "short pages": 1} {
		t.Run(size, func(t *testing.T) { damage(t, pageBytes) })
	}
}

func damage(t *testing.T, pageBytes int) {
	cases := damages()
	if pageBytes > 0 {
		maps.Copy(cases, damagesOfPages())
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, eventstore.Options{PageBytes: pageBytes}, asIs)
			c.damage(w)
			findings := w.check(fsck.Options{})
			if have := kinds(findings); have != c.found {
				t.Fatalf("found %q, want %q: %+v", have, c.found, findings)
			}
			for _, f := range findings {
				if f.Detail == "" || f.Item == "" {
					t.Errorf("%+v says nothing", f)
				}
				if err := f.Repair(w.ctx); (f.Plan == "") != errors.Is(err, fsck.ErrNoRepair) || f.Plan != "" && err != nil {
					t.Errorf("repair of %+v: %v", f, err)
				}
			}
			if have := kinds(w.check(fsck.Options{})); have != c.left {
				t.Errorf("after the repair: %q, want %q", have, c.left)
			}
			_, err := w.store.Append(w.ctx, orderID(2), eventstore.Exact(8), []eventstore.NewEvent{{Type: "E"}})
			w.must(err)
		})
	}
}

// damaged is a case of damage, with the kinds of findings before and after the repair.
type damaged struct {
	damage      func(*world)
	found, left string
}

// damagesOfPages are those of streams with several pages.
func damagesOfPages() map[string]damaged {
	return map[string]damaged{
		"the head": {func(w *world) { w.must(eventstore.Heads.Delete(w.ctx, w.table, orderID(0))) },
			"head-missing mark-wrong", "mark-wrong"},
		"the head of before": {func(w *world) {
			first, err := eventstore.Pages.Get(w.ctx, w.table, eventstore.PageKey{ID: orderID(0), First: 1})
			w.must(err)
			overwrite(w, eventstore.Heads, orderID(0), func(h *eventstore.Head) { h.Version, h.First, h.Records = 2, 1, first.Records })
		}, "head-behind mark-wrong", "mark-wrong"},
		"a page": {func(w *world) {
			w.must(eventstore.Pages.Delete(w.ctx, w.table, eventstore.PageKey{ID: orderID(0), First: 5}))
		}, "hole", "hole"},
		"a page that cannot be read": {func(w *world) {
			w.rewrite("AGGREGATE#order#0", "PAGE#000000000005", func(it table.Item) { it["last"] = &types.AttributeValueMemberS{Value: "x"} })
		}, "hole unreadable", "hole unreadable"},
	}
}

func damages() map[string]damaged {
	return map[string]damaged{
		"nothing":        {func(*world) {}, "", ""},
		"an event":       {func(w *world) { w.drop(0, 5) }, "hole", "hole"},
		"the first":      {func(w *world) { w.drop(0, 1) }, "hole", "hole"},
		"half an append": {func(w *world) { w.drop(0, 8) }, "head-ahead mark-wrong", "head-ahead mark-wrong"},
		"the tail":       {func(w *world) { w.drop(0, 7, 8) }, "head-ahead mark-wrong", "head-ahead mark-wrong"},
		"an old head": {func(w *world) {
			overwrite(w, eventstore.Heads, orderID(0), func(h *eventstore.Head) { h.Version = 6 })
		}, "head-behind", ""},
		"a head that cannot be read": {func(w *world) {
			w.rewrite("AGGREGATE#order#0", "#METADATA", func(it table.Item) { it["currentSeqNum"] = &types.AttributeValueMemberS{Value: "x"} })
		}, "unreadable", "unreadable"},
		"events that cannot be read": {garble, "hole unreadable", "hole unreadable"},
		"an aggregate that is not listed": {func(w *world) {
			w.must(eventstore.ListOf.Delete(w.ctx, w.table, eventstore.ListKey(orderID(0))))
		}, "not-listed", ""},
		"a list entry of nothing": {func(w *world) {
			w.must(eventstore.ListOf.Put(w.ctx, w.table, &eventstore.Listed{ListedKey: eventstore.ListKey(orderID(77))}))
		}, "index-stale", ""},
		"another commit": {func(w *world) {
			w.tamper(0, 4, func(e *eventstore.Event) { e.CommitID = "other" })
		}, "mark-wrong torn-commit", "mark-wrong torn-commit"},
		"a mark": {func(w *world) {
			w.must(eventstore.Marks.Delete(w.ctx, w.table, eventstore.MarkKey{ID: orderID(0), CommitID: "pay-1"}))
		}, "mark-missing", ""},
		"a mark of nothing": {func(w *world) {
			w.must(eventstore.Marks.Create(w.ctx, w.table, &eventstore.Mark{MarkKey: eventstore.MarkKey{ID: orderID(0), CommitID: "x"}, First: 20, N: 1}))
		}, "mark-wrong", "mark-wrong"},
		"a reservation of nobody": {func(w *world) {
			w.must(eventstore.Reservations.Put(w.ctx, w.table, &eventstore.Reservation{ReservationKey: eventstore.ReservationKey{Scope: "s", Value: "v"}, Owner: "order/a/b"}))
		}, "reservation-orphan", ""},
		"a reservation without words": {func(w *world) {
			w.must(eventstore.Reservations.Put(w.ctx, w.table, &eventstore.Reservation{ReservationKey: eventstore.ReservationKey{Scope: "s", Value: "v"}}))
		}, "reservation-orphan", ""},
		"a snapshot": {func(w *world) {
			overwrite(w, eventstore.Snapshots, eventstore.SnapshotKey{ID: orderID(1)}, func(s *eventstore.Snapshot) { s.State = []byte(`{"Placed":3}`) })
		}, "snapshot-wrong", ""},
		"a snapshot that is no JSON": {func(w *world) {
			overwrite(w, eventstore.Snapshots, eventstore.SnapshotKey{ID: orderID(1)}, func(s *eventstore.Snapshot) { s.State = []byte(`{`) })
		}, "snapshot-wrong", ""},
		"a snapshot of the future": {func(w *world) {
			overwrite(w, eventstore.Snapshots, eventstore.SnapshotKey{ID: orderID(1)}, func(s *eventstore.Snapshot) { s.LastSeq = 9 })
		}, "snapshot-ahead", ""},
		"an entry of a tag": {func(w *world) {
			w.must(eventstore.TagEntries.Delete(w.ctx, w.table, eventstore.TagEntryKey{TagKey: eventstore.TagKey{Tag: "a"}, N: 2}))
		}, "tag-hole", "tag-hole"},
		"the last entry of a tag": {func(w *world) {
			w.must(eventstore.TagEntries.Delete(w.ctx, w.table, eventstore.TagEntryKey{TagKey: eventstore.TagKey{Tag: "b"}, N: 4}))
		}, "tag-hole", "tag-hole"},
		"the head of a tag": {func(w *world) {
			w.must(eventstore.TagHeads.Delete(w.ctx, w.table, eventstore.TagKey{Tag: "a"}))
		}, "tag-hole", "tag-hole"},
		"an event without its tag": {func(w *world) {
			w.tamper(3, 2, func(e *eventstore.Event) { e.Tags = []string{"c"} })
		}, "tag-stale", "tag-stale"},
		"a tag of nothing": {func(w *world) {
			overwrite(w, eventstore.TagEntries, eventstore.TagEntryKey{TagKey: eventstore.TagKey{Tag: "b"}, N: 1}, func(e *eventstore.TagEntry) { e.Events[0].Seq = 99 })
		}, "tag-stale", "tag-stale"},
		"another reducer's": {func(w *world) {
			overwrite(w, eventstore.Snapshots, eventstore.SnapshotKey{ID: orderID(1)}, func(s *eventstore.Snapshot) { s.Reducer, s.State = 9, []byte(`"x"`) })
		}, "", ""},
		"another program's item": {func(w *world) {
			w.put(table.Item{"pk": &types.AttributeValueMemberS{Value: "X"}, "sk": &types.AttributeValueMemberS{Value: "Y"}})
			w.put(table.Item{"pk": &types.AttributeValueMemberS{Value: "AGGREGATE#"}, "sk": &types.AttributeValueMemberS{Value: "Y"}, "et": &types.AttributeValueMemberS{Value: "eventstore.other"}})
		}, "", ""},
	}
}

// A head that was set to its last event can be appended to as usual.
func TestAppendAfterRepair(t *testing.T) {
	for name, c := range map[string]struct {
		damage  func(*world)
		version int64
	}{
		"missing": {func(w *world) {
			_, err := w.store.Append(w.ctx, orderID(0), eventstore.Any(), []eventstore.NewEvent{{Type: "E"}})
			w.must(err)
			w.must(eventstore.Heads.Delete(w.ctx, w.table, orderID(0)))
		}, 8},
		"behind": {func(w *world) {
			overwrite(w, eventstore.Heads, orderID(0), func(h *eventstore.Head) { h.Version, h.Hash = 2, []byte("x") })
		}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, eventstore.Options{Chain: true, PageBytes: 1}, asIs)
			c.damage(w)
			findings := w.check(fsck.Options{})
			if len(findings) != 1 {
				t.Fatal(findings)
			}
			again := findings[0]
			w.must(findings[0].Repair(w.ctx))
			_, err := w.store.Append(w.ctx, orderID(0), eventstore.Exact(c.version), []eventstore.NewEvent{{Type: "E"}})
			w.must(err)
			for _, err := range w.store.Read(w.ctx, orderID(0), eventstore.Verified()) {
				w.must(err)
			}
			if err := again.Repair(w.ctx); !errors.Is(err, fsck.ErrChanged) {
				t.Errorf("a repair of what has changed: %v", err)
			}
			w.db.Advance(time.Hour)
			if have := w.check(fsck.Options{}); len(have) > 0 {
				t.Error(have)
			}
		})
	}
}

func TestChains(t *testing.T) {
	w := newWorld(t, eventstore.Options{Chain: true}, asIs)
	if have := w.check(fsck.Options{}); len(have) > 0 {
		t.Fatal(have)
	}
	w.tamper(0, 3, func(e *eventstore.Event) { e.Payload = []byte("changed") })
	overwrite(w, eventstore.Heads, orderID(2), func(h *eventstore.Head) { h.Hash = []byte("changed") })
	if have := w.check(fsck.Options{}); kinds(have) != "chain-broken" || len(have) != 2 {
		t.Error(have)
	}
}

func TestPutMode(t *testing.T) {
	w := newWorld(t, eventstore.Options{PutMode: true}, asIs)
	if have := w.check(fsck.Options{}); len(have) > 0 {
		t.Fatal(have)
	}
	w.drop(0, 2)
	if have := kinds(w.check(fsck.Options{})); have != "hole" {
		t.Error(have)
	}
}

// Events that are missing from the index by type are found and added; entries without their event are
// found and removed.
func TestIndex(t *testing.T) {
	w := newWorld(t, eventstore.Options{}, asIs)
	w.work(eventstore.Folds()...)
	w.db.Advance(30 * time.Hour)
	if have := w.check(fsck.Options{}); len(have) > 0 {
		t.Fatal(have)
	}
	entries, err := eventstore.EventsOfType.Collect(w.ctx, w.table, eventstore.TypeIn{EventType: "Paid", To: "~", Shards: 4})
	if err != nil || len(entries) != 16 {
		t.Fatal(len(entries), err)
	}
	ghost, other := entries[1], entries[2]
	for _, e := range entries[:3] {
		w.must(eventstore.TypeEntries.Delete(w.ctx, w.table, e.TypeEntryKey))
	}
	ghost.Seq, other.EventID = 99, "other"
	for _, e := range []eventstore.TypeEntry{ghost, other} {
		w.must(eventstore.TypeEntries.Put(w.ctx, w.table, &e))
	}
	if have := w.check(fsck.Options{NoIndex: true}); len(have) > 0 {
		t.Error(have)
	}
	have := w.check(fsck.Options{})
	if kinds(have) != "index-stale not-indexed" || len(have) != 4 {
		t.Error(have)
	}
	for range 2 { // the ghost has the place of an event that is not missing until it is removed
		for _, f := range w.check(fsck.Options{}) {
			w.must(f.Repair(w.ctx))
		}
	}
	if have := w.check(fsck.Options{}); len(have) > 0 {
		t.Error(have)
	}
}

// A check that is stopped anywhere and continues from its last cursor finds the same as one without
// a stop.
func TestResume(t *testing.T) {
	w := newWorld(t, eventstore.Options{}, func(api dynamo.API) dynamo.API { return smallPages{api} })
	for n := range 4 {
		w.drop(n, 5)
	}
	whole := len(w.check(fsck.Options{}))
	for stop := 1; ; stop++ {
		found, pages, cursor := map[string]bool{}, 0, ""
		ctx, cancel := context.WithCancel(w.ctx)
		for f, err := range fsck.Check(ctx, w.store, fsck.Options{Progress: func(p fsck.Progress) {
			if pages++; pages == stop {
				cursor = p.Cursor
				cancel()
			}
		}}) {
			if err == nil {
				found[f.Item] = true
			}
		}
		cancel()
		if pages < stop {
			break
		}
		for _, f := range w.check(fsck.Options{After: cursor}) {
			found[f.Item] = true
		}
		if len(found) != whole {
			t.Fatalf("stopped after page %d: %d findings, want %d", stop, len(found), whole)
		}
	}
	for _, bad := range []string{"x", "e30", "bnVsbA", "%"} {
		for _, err := range fsck.Check(w.ctx, w.store, fsck.Options{After: bad}) {
			if !errors.Is(err, eventstore.ErrInvalid) {
				t.Errorf("cursor %q: %v", bad, err)
			}
		}
	}
}

// smallPages scans three items at a time.
type smallPages struct{ dynamo.API }

func (s smallPages) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	in.Limit = aws.Int32(3)
	return s.API.Scan(ctx, in, o...)
}

func TestOnlySomeTypes(t *testing.T) {
	w := newWorld(t, eventstore.Options{}, asIs)
	_, err := w.store.Append(w.ctx, eventstore.ID{Type: "customer", ID: "1"}, eventstore.Any(), []eventstore.NewEvent{{Type: "E"}})
	w.must(err)
	w.drop(0, 5)
	var p fsck.Progress
	if have := w.check(fsck.Options{Types: []string{"customer"}, Progress: func(now fsck.Progress) { p = now }}); len(have) > 0 || p.Aggregates != 1 || p.Events != 1 {
		t.Errorf("%v, %+v", have, p)
	}
	if have := w.check(fsck.Options{Progress: func(now fsck.Progress) { p = now }}); len(have) != 1 || p.Aggregates != 5 || p.Snapshots != 1 || p.Findings != 1 {
		t.Errorf("%v, %+v", have, p)
	}
}

// During appends, a check reports no false findings.
func TestCheckUnderLoad(t *testing.T) {
	w := newWorld(t, eventstore.Options{Chain: true}, func(api dynamo.API) dynamo.API { return smallPages{api} })
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 150 && err == nil; i++ {
			_, err = w.store.Append(w.ctx, orderID(i%6), eventstore.Any(), []eventstore.NewEvent{{Type: "A"}, {Type: "B"}}, eventstore.CommitID(fmt.Sprint("c", i)))
		}
		done <- err
	}()
	for range 5 {
		if have := w.check(fsck.Options{}); len(have) > 0 {
			t.Error(have)
		}
	}
	w.must(<-done)
}
