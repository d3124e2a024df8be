package analytics

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
)

var rewriteGolden = flag.Bool("rewrite-block", false, "write testdata/events.block again")

// fullEvent returns an event with a value in every field.
func fullEvent(t *testing.T) Event {
	t.Helper()
	e := Event{EventKey: EventKey{"site", 3, idAt(noon)}, ExpiresAt: noon.AddDate(0, 0, 30)}
	n := 0
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		if _, groups := v.Addr().Interface().(*Traits); !groups { // the values stay those of the golden file
			n++
		}
		switch at := v.Addr().Interface().(type) {
		case *map[string]string:
			*at = map[string]string{"plan": "pro", "a": ""}
		case *[]string:
			*at = []string{"plan", "a"}
		case *visits.Conversions:
			*at = visits.Conversions{{Goal: "a", Value: "2.5", Once: true, Count: 1, Revenue: "1"}, {Goal: "b", Count: 1, Revenue: "-0.25"}}
		case **float64:
			*at = new(0.0)
		case *time.Time, *EventKey:
		case *string:
			*at = fmt.Sprint("text ", n)
		case *bool:
			*at = true
		case *int:
			*at = -n
		case *int64:
			*at = int64(n) << 40
		case *float64:
			*at = float64(n) + 0.125
		default:
			if v.Kind() != reflect.Struct {
				t.Fatalf("a field of type %T: give it a value here, and a column in eventBlocks", at)
			}
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		}
	}
	fill(reflect.ValueOf(&e).Elem())
	return e
}

// Every field of an event is stored: the test fails if a field is added to Event without a column.
func TestBlocksHoldWholeEvents(t *testing.T) {
	e := fullEvent(t)
	next := Event{EventKey: EventKey{"site", 3, idAt(noon.Add(time.Minute))}, VisitorID: "other", ExpiresAt: e.ExpiresAt}
	blocks, err := Pack([]Event{next, e}, noon)
	if err != nil || len(blocks) != 1 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	it, err := Blocks.Encode(&blocks[0])
	if err != nil {
		t.Fatal(err)
	}
	b, err := Blocks.Decode(it)
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Events()
	for i := range got {
		got[i].ExpiresAt = got[i].ExpiresAt.UTC()
	}
	if err != nil || !reflect.DeepEqual(got, []Event{e, next}) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, []Event{e, next})
	}
	if b.Count != 2 || b.Last != timeIn(next.EventID) || timeIn(b.BlockID) != timeIn(e.EventID) {
		t.Errorf("block %+v", b.BlockKey)
	}
}

// A block keeps every dimension that is a trait.
func TestTraitsAreStored(t *testing.T) {
	e := *testEvent(noon, 1, "/")
	for _, d := range TraitDefs {
		*d.Of(&e.Traits) = string(d.Name)
	}
	body, err := eventBlocks.Append(nil, []Event{e})
	if err != nil {
		t.Fatal(err)
	}
	got, err := eventBlocks.Decode(nil, body)
	if err != nil || len(got) != 1 || got[0].Traits != e.Traits {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, e.Traits)
	}
}

// Stored blocks stay readable. docs/format/events.md specifies their bytes.
func TestGoldenBlock(t *testing.T) {
	const name = "testdata/events.block"
	e := fullEvent(t)
	body, err := eventBlocks.Append(nil, []Event{e})
	if err != nil {
		t.Fatal(err)
	}
	if *rewriteGolden {
		if err := os.WriteFile(name, []byte(hex.Dump(body)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(stored) != hex.Dump(body) {
		t.Errorf("%s has other bytes. If the format is meant to change, write it again with -rewrite-block and say so in docs/format/events.md.", name)
	}
}

// Pack makes one block per shard and span, regardless of the order of the events.
func TestPackDividesByShardAndSpan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var events []Event
	for i := range 3000 {
		at := noon.Add(time.Duration(r.IntN(20)) * time.Minute)
		e := testEvent(at, i, "/")
		e.Shard = i % 3
		events = append(events, *e)
	}
	blocks, err := Pack(events, noon)
	if err != nil || len(blocks) != 3*4 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	n := 0
	for i := range blocks {
		all, err := blocks[i].Events()
		if err != nil || len(all) != blocks[i].Count || len(blocks[i].Body) > blockBytes {
			t.Errorf("%d of %d events in %d bytes, %v", len(all), blocks[i].Count, len(blocks[i].Body), err)
		}
		n += len(all)
	}
	if n != len(events) {
		t.Errorf("%d events", n)
	}
}

// A damaged block affects only itself: folds count all other blocks and continue, and readers
// report its key.
func TestDamagedBlockAffectsOnlyItself(t *testing.T) {
	w := newWorld(t, noon)
	s := w.site("site", "UTC")
	for i := range 10 {
		w.ingest("site", Hit{At: noon.Add(-time.Duration(i) * time.Minute), Path: "/", Address: "192.0.2.1"}, Hit{At: noon.Add(-time.Duration(i)*time.Minute + time.Second), Path: "/", Address: "192.0.2.2"})
	}
	bad := Block{BlockKey: BlockKey{"site", 0, blockID(noon.Add(-30*time.Second).UnixMilli(), noon)}, Count: 2, Last: noon.UnixMilli()}
	e1, e2 := testEvent(noon.Add(-30*time.Second), 1, "/x"), testEvent(noon.Add(-20*time.Second), 2, "/x")
	var err error
	bad.Body, err = eventBlocks.Append(nil, []Event{*e1, *e2})
	w.Must(err)
	bad.Body[len(bad.Body)/2] ^= 0x10
	w.Must(Blocks.Put(w.Ctx, w.Table, &bad))
	w.Drain()
	views := int64(0)
	for _, h := range w.hours(s) {
		views += h.PageViews
	}
	if views != 20 {
		t.Errorf("%d page views are counted", views)
	}
	letters, err := fold.DeadLettersOf.Collect(w.Ctx, w.Table, fold.FoldIn{Fold: "analytics.stats"})
	w.Must(err)
	if len(letters) != 1 || letters[0].ItemSK != "BLOCK#"+bad.BlockID || !strings.Contains(letters[0].Reason, "damaged block") {
		t.Errorf("dead letters: %+v", letters)
	}
	in := EventsBetween(&s, noon.Add(-time.Hour), noon.Add(time.Hour), "")
	if _, err := in.Collect(w.Ctx, w.Table); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), bad.BlockID) {
		t.Errorf("a reader says %v", err)
	}
	var told []error
	in.Damaged = func(err error) { told = append(told, err) }
	if all, err := in.Collect(w.Ctx, w.Table); err != nil || len(all) != 20 || len(told) != 1 || !errors.Is(told[0], ErrDamaged) {
		t.Errorf("%d events, %v, told %v", len(all), err, told)
	}
}

// Blocks with a valid body but invalid events are rejected without a panic.
func TestInvalidBlocksAreRejected(t *testing.T) {
	first, second := testEvent(noon, 1, "/"), testEvent(noon.Add(time.Second), 2, "/")
	far, bare := testEvent(noon.Add(time.Hour), 3, "/"), testEvent(noon.Add(time.Second), 4, "/")
	bare.EventID = ""
	for name, events := range map[string][]Event{
		"in another order": {*second, *first}, "twice": {*first, *first}, "of another span": {*first, *far}, "without an ID": {*bare, *first},
	} {
		body, err := eventBlocks.Append(nil, events)
		if err != nil {
			t.Fatal(err)
		}
		b := Block{BlockKey: BlockKey{"site", 0, blockID(noon.UnixMilli(), noon)}, Body: body, Count: len(events)}
		if _, err := b.Events(); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// OneEvent finds an event whose ID sorts before or after that of its block.
func TestOneEventIsFound(t *testing.T) {
	w := newWorld(t, noon)
	w.site("site", "UTC")
	for n, high := range []uint64{0, 1, 1 << 40, 1 << 62, 1<<64 - 1} {
		e := testEvent(noon.Add(time.Duration(n)*time.Second), 0, "/")
		e.EventID = newULID(uint64(noon.UnixMilli())+1000*uint64(n), high, uint16(n)).String()
		blocks, err := Pack([]Event{*e}, noon)
		w.Must(err)
		w.Must(Blocks.Put(w.Ctx, w.Table, &blocks[0]))
		if got, err := OneEvent(e.EventKey).Collect(w.Ctx, w.Table); err != nil || len(got) != 1 || got[0].EventID != e.EventID {
			t.Errorf("%s: %v, %v", e.EventID, got, err)
		}
	}
}

func FuzzBlock(f *testing.F) {
	e := *testEvent(noon, 1, "/")
	body, err := eventBlocks.Append(nil, []Event{e})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body, blockID(noon.UnixMilli(), noon))
	f.Add([]byte{1, 'e', 0, 1, 0, 0, 0, 0, 0}, "")
	f.Fuzz(func(t *testing.T, body []byte, id string) {
		b := Block{BlockKey: BlockKey{"site", 0, id}, Body: body}
		events, err := b.Events() // must not panic
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%v", err)
			}
			return
		}
		if !slices.IsSortedFunc(events, func(a, b Event) int { return strings.Compare(a.EventID, b.EventID) }) {
			t.Error("out of order")
		}
	})
}

// Many requests send the same events at once. Meanwhile the collector forgets what it can, and is
// sometimes replaced by a new one. For each event, exactly one outcome says that it was stored, and
// it counts once.
func TestEachEventIsStoredOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newWorld(t, noon)
	s := w.site("site", "UTC")
	hits := drawHits(rand.New(rand.NewPCG(seed, 0)), 300, 20, noon.Add(-3*time.Hour), noon)
	var mu sync.Mutex
	stored := map[string]int{}
	for round := range 6 {
		w.collector = NewCollector(w.Table, CollectorOptions{})
		w.collector.known = newKnownEvents(w.Table, w.collector.sites, 200)
		var senders sync.WaitGroup
		for sender := range 4 {
			senders.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(10*round+sender+1)))
				for range 5 {
					part := make([]Hit, 60)
					for i := range part {
						part[i] = hits[r.IntN(len(hits))]
					}
					outcomes, err := w.collector.Ingest(w.Ctx, "site", part)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					for _, o := range outcomes {
						if o.Status == Stored {
							stored[o.EventID]++
						} else if o.Status != Duplicate {
							t.Errorf("%+v", o)
						}
					}
					mu.Unlock()
				}
			})
		}
		senders.Wait()
		w.Set(w.Now().Add(time.Minute))
	}
	for id, n := range stored {
		if n != 1 {
			t.Errorf("event %s was stored %d times", id, n)
		}
	}
	if n := len(w.events(s, noon.Add(-4*time.Hour), noon.Add(time.Hour))); n != len(stored) {
		t.Errorf("%d events are there, %d were stored", n, len(stored))
	}
	w.Drain()
	want := expectedOf(t, w.events(s, noon.Add(-4*time.Hour), noon.Add(time.Hour)))
	for start, h := range w.hours(s) {
		if !equalStats(plainStats(h), want.stats[start]) {
			t.Errorf("%s: got %+v, want %+v", start, plainStats(h), want.stats[start])
		}
	}
}

// Several independent servers store the same event. It is read once and counts once, regardless of
// which worker reads which block and how often workers restart.
func TestEventInSeveralBlocksCountsOnce(t *testing.T) {
	w := newWorld(t, noon.Add(-2*time.Hour))
	s := w.site("site", "UTC")
	servers := make([]*Collector, 4)
	for i := range servers {
		servers[i] = NewCollector(table.New(plain{w.DB}, foldtest.TableName, table.Options{Clock: w.Now}), CollectorOptions{})
	}
	w.Set(noon)
	hits := drawHits(rand.New(rand.NewPCG(5, 5)), 100, 10, noon.Add(-time.Hour), noon)
	stored := 0
	for _, server := range servers {
		w.collector = server
		for _, o := range append(w.ingest("site", hits...), w.ingest("site", hits...)...) {
			if o.Status == Stored {
				stored++
			}
		}
		w.Restart()
		w.Drain()
		w.Set(w.Now().Add(time.Second))
	}
	if stored != len(servers)*len(hits) {
		t.Errorf("%d were stored: this test is about events in several blocks", stored)
	}
	events := w.events(s, noon.Add(-2*time.Hour), noon.Add(time.Hour))
	if len(events) != len(hits) {
		t.Errorf("%d events are read", len(events))
	}
	want := expectedOf(t, events)
	for start, h := range w.hours(s) {
		if !equalStats(plainStats(h), want.stats[start]) {
			t.Errorf("%s: got %+v, want %+v", start, plainStats(h), want.stats[start])
		}
	}
}

// If the store is behind a network, single events that arrive while another is being stored share a
// block.
func TestSingleEventsShareBlocks(t *testing.T) {
	w := newWorld(t, noon)
	s := w.site("site", "UTC")
	w.ingest("site", Hit{Path: "/", Address: "192.0.2.1"}) // creates the salt
	api := &slow{API: w.DB, entered: make(chan struct{}), free: make(chan struct{})}
	c := NewCollector(table.New(api, foldtest.TableName, table.Options{Clock: w.Now}), CollectorOptions{})
	const n = 50
	var senders sync.WaitGroup
	send := func() {
		senders.Go(func() {
			if o, err := c.Ingest(w.Ctx, "site", []Hit{{Path: "/", Address: "192.0.2.1"}}); err != nil || o[0].Status != Stored {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	for range batchRuns {
		send()
		<-api.entered
	}
	for range n {
		send()
	}
	for c.Waiting() != n {
		runtime.Gosched()
	}
	close(api.free)
	senders.Wait()
	blocks := 0
	for _, err := range EventsBetween(&s, noon.Add(-time.Hour), noon.Add(time.Hour), "").Blocks(w.Ctx, w.Table) {
		w.Must(err)
		blocks++
	}
	if most := 1 + batchRuns + s.Sharding.At(noon); blocks > most {
		t.Errorf("%d events alone and %d together are in %d blocks, want at most %d", 1+batchRuns, n, blocks, most)
	}
}

// Windows have parts, because a window of five minutes, in which thousands of events arrived one by
// one, each in its own block, is larger than an item may be.
func TestManyBlocksInAWindow(t *testing.T) {
	w := &world{World: foldtest.NewWorld(t, foldtest.Setup{
		Schema: Schema, Group: FoldGroup, At: noon,
		Folds: func(*table.Table) []*fold.Fold { return Folds(Config{Wait: 30 * time.Minute}) }, // all windows are flushed at once
	})}
	s := w.site("site", "UTC")
	const n = 6000
	for i := range n {
		blocks, err := Pack([]Event{*testEvent(noon.Add(time.Duration(i)*time.Millisecond), i%1000, "/")}, noon)
		w.Must(err)
		w.Must(Blocks.Put(w.Ctx, w.Table, &blocks[0]))
	}
	for range 2 {
		w.Drain()
		views := int64(0)
		for _, h := range w.hours(s) {
			views += h.PageViews
		}
		if views != n {
			t.Fatalf("%d page views are counted", views)
		}
		w.Restart()
		again := []Event{*testEvent(noon, 0, "/"), *testEvent(noon.Add(3*time.Second), 0, "/"), *testEvent(noon.Add(5999*time.Millisecond), 999, "/")}
		blocks, err := Pack(again, noon)
		w.Must(err)
		w.Must(Blocks.Put(w.Ctx, w.Table, &blocks[0]))
	}
}

// slow is an API without the additional methods of the embedded engine. Its first writes block
// until they are released.
type slow struct {
	dynamo.API
	entered, free chan struct{}
}

func (a *slow) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	select {
	case a.entered <- struct{}{}:
		<-a.free
	case <-a.free:
	}
	return a.API.PutItem(ctx, in, opts...)
}

// plain is an API without the additional methods of the embedded engine.
type plain struct{ dynamo.API }
