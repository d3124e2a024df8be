package fsck_test

import (
	"context"
	"errors"
	"fmt"
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
// several events, and there are a snapshot, a reservation, and events old enough to be in the
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
			if o.PutMode {
				events = events[:1]
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

func event(n int, seq int64) eventstore.EventKey {
	return eventstore.EventKey{ID: orderID(n), Seq: seq}
}

func (w *world) drop(n int, seqs ...int64) {
	for _, seq := range seqs {
		w.must(eventstore.Events.Delete(w.ctx, w.table, event(n, seq)))
	}
}

// All damage is found, and nothing else. Everything that can be repaired is correct afterwards.
func TestDamage(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(*world)
		found  string
		left   string // after the repair
	}{
		"nothing":        {func(*world) {}, "", ""},
		"an event":       {func(w *world) { w.drop(0, 5) }, "hole", "hole"},
		"the first":      {func(w *world) { w.drop(0, 1) }, "hole", "hole"},
		"half an append": {func(w *world) { w.drop(0, 8) }, "head-ahead mark-wrong", "head-ahead mark-wrong"},
		"the tail":       {func(w *world) { w.drop(0, 7, 8) }, "head-ahead mark-wrong", "head-ahead mark-wrong"},
		"the head": {func(w *world) { w.must(eventstore.Heads.Delete(w.ctx, w.table, orderID(0))) },
			"head-missing", ""},
		"an old head": {func(w *world) {
			overwrite(w, eventstore.Heads, orderID(0), func(h *eventstore.Head) { h.Version = 6 })
		}, "head-behind", ""},
		"a head that cannot be read": {func(w *world) {
			w.rewrite("AGGREGATE#order#0", "#METADATA", func(it table.Item) { it["currentSeqNum"] = &types.AttributeValueMemberS{Value: "x"} })
		}, "unreadable", "unreadable"},
		"an event that cannot be read": {func(w *world) {
			w.rewrite("AGGREGATE#order#0", "EVENT#000000000002", func(it table.Item) { delete(it, "pay"); it["nth"] = &types.AttributeValueMemberBOOL{} })
		}, "hole unreadable", "hole unreadable"},
		"an event without a type": {func(w *world) {
			w.rewrite("AGGREGATE#order#0", "EVENT#000000000002", func(it table.Item) { delete(it, "eventType") })
		}, "unreadable", "unreadable"},
		"an event's index keys": {func(w *world) {
			w.rewrite("AGGREGATE#order#0", "EVENT#000000000002", func(it table.Item) { it["gsi1pk"] = &types.AttributeValueMemberS{Value: "EVENT_TYPE#Other"} })
		}, "index-keys", ""},
		"a head that is not listed": {func(w *world) {
			w.rewrite("AGGREGATE#order#0", "#METADATA", func(it table.Item) { delete(it, "gsi1pk") })
		}, "index-keys", ""},
		"another commit": {func(w *world) {
			overwrite(w, eventstore.Events, event(0, 4), func(e *eventstore.Event) { e.CommitID = "other" })
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
		"another reducer's": {func(w *world) {
			overwrite(w, eventstore.Snapshots, eventstore.SnapshotKey{ID: orderID(1)}, func(s *eventstore.Snapshot) { s.Reducer, s.State = 9, []byte(`"x"`) })
		}, "", ""},
		"another program's item": {func(w *world) {
			w.put(table.Item{"pk": &types.AttributeValueMemberS{Value: "X"}, "sk": &types.AttributeValueMemberS{Value: "Y"}})
			w.put(table.Item{"pk": &types.AttributeValueMemberS{Value: "AGGREGATE#"}, "sk": &types.AttributeValueMemberS{Value: "Y"}, "et": &types.AttributeValueMemberS{Value: "eventstore.other"}})
		}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, eventstore.Options{}, asIs)
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

// A head that was set to its last event can be appended to as usual.
func TestAppendAfterRepair(t *testing.T) {
	for name, damage := range map[string]func(*world){
		"missing": func(w *world) { w.must(eventstore.Heads.Delete(w.ctx, w.table, orderID(0))) },
		"behind": func(w *world) {
			overwrite(w, eventstore.Heads, orderID(0), func(h *eventstore.Head) { h.Version, h.Hash = 2, []byte("x") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, eventstore.Options{Chain: true}, asIs)
			damage(w)
			findings := w.check(fsck.Options{})
			if len(findings) != 1 {
				t.Fatal(findings)
			}
			again := findings[0]
			w.must(findings[0].Repair(w.ctx))
			_, err := w.store.Append(w.ctx, orderID(0), eventstore.Exact(8), []eventstore.NewEvent{{Type: "E"}})
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
	overwrite(w, eventstore.Events, event(0, 3), func(e *eventstore.Event) { e.Payload = []byte("changed") })
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

// brokenIndex is a store whose index lacks one entry, and still has one of a deleted item.
type brokenIndex struct{ dynamo.API }

func (b brokenIndex) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := b.API.Query(ctx, in, o...)
	if err == nil && in.IndexName != nil {
		out.Items = slices.DeleteFunc(out.Items, func(it table.Item) bool {
			return it["sk"].(*types.AttributeValueMemberS).Value == "EVENT#000000000003"
		})
	}
	return out, err
}

func (b brokenIndex) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	out, err := b.API.Scan(ctx, in, o...)
	if err == nil && in.IndexName != nil {
		ghost := table.Item{}
		for name, v := range out.Items[0] {
			ghost[name] = v
		}
		ghost["sk"] = &types.AttributeValueMemberS{Value: "EVENT#000000000099"}
		out.Items = append(out.Items, ghost)
	}
	return out, err
}

func TestIndex(t *testing.T) {
	w := newWorld(t, eventstore.Options{}, func(api dynamo.API) dynamo.API { return brokenIndex{api} })
	have := w.check(fsck.Options{})
	if kinds(have) != "index-stale not-indexed" || len(have) != 5 {
		t.Error(have)
	}
	if have := w.check(fsck.Options{NoIndex: true}); len(have) > 0 {
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
