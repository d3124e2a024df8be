package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

// counted returns an Explorer on the shop's table that keeps days, with its table and the gate that
// counts its reads.
func (w *shop) counted(o Options) (*Explorer, *table.Table, *gate) {
	g := &gate{API: w.db, open: make(chan struct{})}
	close(g.open)
	t := table.New(Watch(g), "shop", table.Options{Clock: w.now})
	return New(t, o), t, g
}

// same compares the answers of an Explorer with those of one that has kept nothing.
func (w *shop) same(x *Explorer, in report.Request, filters []Filter) {
	w.Helper()
	got, err := x.Report(w.ctx, in, filters)
	w.must(err)
	want, err := New(table.New(w.db, "shop", table.Options{Clock: w.now}), Options{}).Report(w.ctx, in, filters)
	w.must(err)
	if got.Totals.Figures != want.Totals.Figures || fmt.Sprint(got.Buckets) != fmt.Sprint(want.Buckets) || rowsText(in.By, got.Top) != rowsText(in.By, want.Top) {
		w.Errorf("kept days say %+v\nraw events %+v", got, want)
	}
}

var firefox = []Filter{{Dimension: analytics.ByBrowser, Op: Is, Values: []string{"Firefox"}}}

// Each day is read once, whatever the question, until one of its events is written. Then that day
// is read again.
func TestDaysAreReadOnce(t *testing.T) {
	w := newShop(t, "Europe/Berlin", utc("2026-05-10T12:00"))
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-06T00:00"), utc("2026-05-10T11:00"), 500)...)
	x, tab, g := w.counted(Options{})
	in := report.Request{Site: "shop", From: "2026-05-05", To: "2026-05-10", By: analytics.ByPage}
	shards := int64(len(analytics.EventsBetween(&w.site, utc("2026-05-06T00:00"), utc("2026-05-07T00:00"), "").Shards))
	reads := func(filters []Filter) int64 {
		before := g.queries.Load()
		w.same(x, in, filters)
		return g.queries.Load() - before
	}
	first := reads(nil)
	if first < 6*shards {
		t.Fatalf("%d queries for six days", first)
	}
	rest := first - 6*shards // queries for other things than raw events
	if n := reads(firefox); n != rest {
		t.Errorf("%d queries for days that were read", n)
	}
	if _, err := x.Journeys(w.ctx, JourneysIn{Range: w.between(in.From, in.To), Page: "/"}); err != nil || g.queries.Load() != first+2*rest {
		t.Errorf("%d queries for journeys on them: %v", g.queries.Load(), err)
	}
	late := hit(rand.New(rand.NewPCG(3, 4)), 1, utc("2026-05-07T21:59")) // the last minute of the day in Berlin
	collector := analytics.NewCollector(tab, analytics.CollectorOptions{})
	_, err := collector.Ingest(w.ctx, "shop", []analytics.Hit{late})
	w.must(err)
	w.advance(cubeLife)
	if n := reads(firefox); n != rest+shards {
		t.Errorf("%d queries after a late event, want those of one day", n)
	}
	for _, change := range []func(e *analytics.Event) (analytics.Rewrite, error){
		func(e *analytics.Event) (analytics.Rewrite, error) { e.Erased = true; return analytics.Change, nil },
		func(*analytics.Event) (analytics.Rewrite, error) { return analytics.Drop, nil },
	} {
		events, err := analytics.EventsBetween(&w.site, utc("2026-05-08T00:00"), utc("2026-05-09T00:00"), analytics.PageViewsOnly).Collect(w.ctx, tab)
		w.must(err)
		w.same(x, in, nil) // the answer is kept
		n, err := analytics.OneEvent(events[len(events)/2].EventKey).Rewrite(w.ctx, tab, change)
		if err != nil || n != 1 {
			t.Fatal(n, err)
		}
		w.same(x, in, nil) // the change is visible at once
		w.same(x, in, firefox)
	}
}

// Every way of writing an event is noted, and no other write is.
func TestWritesAreNoted(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	watched := Watch(w.db)
	at := utc("2026-05-08T12:30")
	key := func(sk string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "SITE#shop#SHARD#1"}, "sk": &types.AttributeValueMemberS{Value: sk}}
	}
	event := key("BLOCK#" + ulid.MustNew(ulid.Timestamp(at), nil).String())
	name := new("shop")
	for _, tc := range []struct {
		name    string
		changes uint64
		write   func(ctx context.Context, k map[string]types.AttributeValue) error
	}{
		{"put", 0, func(ctx context.Context, k map[string]types.AttributeValue) error {
			_, err := watched.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: k})
			return err
		}},
		{"puts", 0, func(ctx context.Context, k map[string]types.AttributeValue) error {
			return watched.PutItems(ctx, []*dynamodb.PutItemInput{{TableName: name, Item: k}})[0]
		}},
		{"update", 1, func(ctx context.Context, k map[string]types.AttributeValue) error {
			_, err := watched.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: name, Key: k})
			return err
		}},
		{"delete", 1, func(ctx context.Context, k map[string]types.AttributeValue) error {
			_, err := watched.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: name, Key: k})
			return err
		}},
		{"batch", 1, func(ctx context.Context, k map[string]types.AttributeValue) error {
			_, err := watched.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*name: {{PutRequest: &types.PutRequest{Item: k}}}}})
			return err
		}},
		{"batch delete", 1, func(ctx context.Context, k map[string]types.AttributeValue) error {
			_, err := watched.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*name: {{DeleteRequest: &types.DeleteRequest{Key: k}}}}})
			return err
		}},
		{"transaction", 3, func(ctx context.Context, k map[string]types.AttributeValue) error {
			for _, one := range []types.TransactWriteItem{
				{Put: &types.Put{TableName: name, Item: k}},
				{Update: &types.Update{TableName: name, Key: k, UpdateExpression: new("SET a = :a"), ExpressionAttributeValues: map[string]types.AttributeValue{":a": &types.AttributeValueMemberBOOL{}}}},
				{Delete: &types.Delete{TableName: name, Key: k}},
			} {
				if _, err := watched.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{one}}); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		state := func() [3]uint64 {
			return [3]uint64{watched.version("shop", at.Truncate(time.Hour), at.Add(time.Hour)), watched.changes("shop"), watched.version("shop", at.Add(-48*time.Hour), at.Add(-24*time.Hour))}
		}
		before := state()
		w.must(tc.write(w.ctx, event))
		after := state()
		if after[0] == before[0] || after[1]-before[1] != tc.changes || after[2] != before[2] {
			t.Errorf("%s: %v, then %v", tc.name, before, after)
		}
		w.must(tc.write(w.ctx, key("VISITOR#v#2026-05-08")))
		if state() != after {
			t.Errorf("%s of another item: %v, then %v", tc.name, after, state())
		}
	}
}

// A question asked after a write was acknowledged sees the write, while others write, erase and
// ask.
func TestKeptDaysAmongWriters(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	x, tab, _ := w.counted(Options{AtOnce: 4, KeepBytes: 60_000}) // enough for only some of the days
	collector := analytics.NewCollector(tab, analytics.CollectorOptions{})
	in := report.Request{Site: "shop", From: "2026-05-06", To: "2026-05-10", By: analytics.ByPage}
	erase := func(e *analytics.Event) (analytics.Rewrite, error) { e.Erased = true; return analytics.Change, nil }
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			path := fmt.Sprintf("/writer/%d", n)
			mine := []Filter{{Dimension: analytics.ByPage, Op: Is, Values: []string{path}}}
			there := []analytics.EventsIn{}
			for range 25 {
				h := analytics.Hit{At: utc("2026-05-06T00:00").Add(time.Duration(random.Int64N(int64(100 * time.Hour)))), Imported: true, Address: path + fmt.Sprint(random.Uint64()), UserAgent: "test", Path: path}
				if len(there) > 0 && random.IntN(3) == 0 {
					i := random.IntN(len(there))
					if n, err := there[i].Rewrite(w.ctx, tab, erase); err != nil || n != 1 {
						t.Error(n, err)
					}
					there = append(there[:i], there[i+1:]...)
				} else {
					outcomes, err := collector.Ingest(w.ctx, "shop", []analytics.Hit{h})
					if err != nil {
						t.Error(err)
						return
					}
					one := analytics.OneEvent(analytics.EventKey{SiteID: "shop", EventID: outcomes[0].EventID})
					one.Shards = w.site.Sharding.Over(h.At, h.At)
					there = append(there, one)
				}
				ask := mine
				ask = append(ask, Filter{Dimension: analytics.ByCity, Op: IsNot, Values: []string{fmt.Sprint(random.Uint64())}}) // unique, so no kept cube answers it
				got, err := x.Report(w.ctx, in, ask)
				if err != nil || got.Totals.PageViews != int64(len(there)) {
					t.Errorf("%d page views, want %d: %v", got.Totals.PageViews, len(there), err)
				}
			}
		})
	}
	all.Wait()
	if x.recent.bytes > 60_000 {
		t.Errorf("%d bytes are kept", x.recent.bytes)
	}
}

// The size of the recent is limited, and the days that were not used for the longest time are
// dropped first.
func TestShelf(t *testing.T) {
	s := dayCache{most: 100, days: map[dayKey]*cachedDay{}, claims: map[dayKey]chan struct{}{}}
	key := func(n int64) dayKey { return dayKey{site: "shop", from: n, to: n + 1} }
	for n := range int64(3) {
		s.put(key(n), 1, &columns{bytes: 40})
		s.get(key(0), 1)
	}
	s.put(key(9), 1, &columns{bytes: 101})
	for n, want := range map[int64]bool{0: true, 1: false, 2: true, 9: false} {
		if got := s.get(key(n), 1) != nil; got != want {
			t.Errorf("day %d is kept: %t", n, got)
		}
	}
	s.put(key(0), 2, &columns{bytes: 30})
	if s.get(key(0), 1) != nil || s.bytes != 40 || len(s.days) != 1 {
		t.Errorf("%d bytes, %d days", s.bytes, len(s.days))
	}
}

// Prepared days are not read again. The current day is not prepared.
func TestPreparedDays(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-06T00:00"), utc("2026-05-10T11:00"), 300)...)
	x, _, g := w.counted(Options{})
	days := w.between("2026-05-06", "2026-05-10")
	w.must(x.Prepare(w.ctx, days))
	if len(x.recent.days) != 4 || len(x.recent.claims) != 0 {
		t.Fatalf("%d days are kept, %d claimed", len(x.recent.days), len(x.recent.claims))
	}
	before := g.queries.Load()
	w.must(x.Prepare(w.ctx, days)) // within a minute of the first time
	if g.queries.Load() != before {
		t.Error("prepared twice")
	}
	w.same(x, report.Request{Site: "shop", From: "2026-05-06", To: "2026-05-10", By: analytics.ByPage}, firefox)
	w.advance(prepareEvery)
	w.must(x.Prepare(w.ctx, w.between("2025-05-06", "2025-05-10"))) // their events have expired
	few, _, _ := w.counted(Options{Events: 150})
	w.must(few.Prepare(w.ctx, days))
	if n := len(few.recent.days); n == 0 || n == 4 {
		t.Errorf("%d days are kept of more events than one may read", n)
	}
}

// A watch offers the additional read methods that its API has, and no others.
func TestWatchOffersValues(t *testing.T) {
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if dynamo.ValuesOf(Watch(Watch(db))) != dynamo.ValuesReader(db) {
		t.Error("the engine's is not offered")
	}
	if dynamo.ValuesOf(Watch(&gate{API: db})) != nil {
		t.Error("something is offered that the API does not have")
	}
}
