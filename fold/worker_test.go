package fold_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

var quiet = slog.New(slog.DiscardHandler)

func newWorker(t *testing.T, tab *table.Table, src fold.Source, o fold.Options, folds ...*fold.Fold) *fold.Worker {
	t.Helper()
	if o.Logger == nil {
		o.Logger = quiet
	}
	w, err := fold.NewWorker(tab, src, folds, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func put(t *testing.T, tab *table.Table, all ...order) {
	t.Helper()
	for i := range all {
		if err := orders.Put(t.Context(), tab, &all[i]); err != nil {
			t.Fatal(err)
		}
	}
}

func drain(t *testing.T, w *fold.Worker) {
	t.Helper()
	if err := w.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func deadLetters(t *testing.T, tab *table.Table, name string) []fold.Dead {
	t.Helper()
	var all []fold.Dead
	for d, err := range fold.DeadLettersOf.All(t.Context(), tab, fold.FoldIn{Fold: name}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

func regionOf(region string, c fold.Typed[order]) bool { return c.New != nil && c.New.Region == region }

// TestDeadLetterLeavesNoTrace makes one fold fail half-way through a change that another fold
// applies. The shard must continue.
func TestDeadLetterLeavesNoTrace(t *testing.T) {
	b := openEngine(t, engine.Options{})
	tab := b.table()
	fragile := fold.New("fragile", worlds, func(into, d *world) { into.Amount += d.Amount },
		fold.On(orders, func(c fold.Typed[order], at func(worldKey) *world) error {
			at(worldKey{"all"}).Amount += c.New.Amount
			if regionOf("bad", c) {
				panic("never heard of it")
			}
			return nil
		}))
	put(t, tab, order{orderKey{"1"}, "good", 1}, order{orderKey{"2"}, "bad", 10}, order{orderKey{"3"}, "good", 100})
	for range 2 { // the second worker starts anew and finds everything counted
		w := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, totalsFold(), fragile)
		drain(t, w)
	}
	if got, err := worlds.Get(t.Context(), tab, worldKey{"all"}); err != nil || got.Amount != 101 {
		t.Errorf("fragile fold has %+v (%v), want the amounts 1 and 100", got, err)
	}
	if got, err := totals.Get(t.Context(), tab, totalKey{"bad"}); err != nil || got.Amount != 10 {
		t.Errorf("the other fold has %+v (%v), want the amount 10", got, err)
	}
	dead := deadLetters(t, tab, "fragile")
	if len(dead) != 1 || !strings.Contains(dead[0].Reason, "never heard of it") || dead[0].ItemPK != "ORDER#2" || dead[0].Kind != "INSERT" {
		t.Errorf("dead letters are %+v, want one of ORDER#2", dead)
	}
	if len(deadLetters(t, tab, "totals")) != 0 {
		t.Error("the fold that did not fail has dead letters")
	}
}

type smallKey struct {
	Name string `dynamodbav:"name"`
}

type small struct {
	smallKey
	Text string `dynamodbav:"text"`
}

var smalls = table.Define[small, smallKey]("test.small", table.Def[small]{PK: "SMALL#{name}", SK: "SMALL", MaxBytes: 100})

// TestItemThatCannotBeWritten makes one derived item grow too large. The other items must be
// written, and the shard must continue.
func TestItemThatCannotBeWritten(t *testing.T) {
	b := openEngine(t, engine.Options{})
	tab := b.table()
	f := fold.New("texts", smalls, func(into, d *small) { into.Text += d.Text },
		fold.On(orders, func(c fold.Typed[order], at func(smallKey) *small) error {
			at(smallKey{c.New.Region}).Text += strings.Repeat("x", c.New.Amount)
			return nil
		}))
	put(t, tab, order{orderKey{"1"}, "large", 200}, order{orderKey{"2"}, "small", 3})
	w := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, f)
	drain(t, w)
	if got, err := smalls.Get(t.Context(), tab, smallKey{"small"}); err != nil || got.Text != "xxx" {
		t.Errorf("small is %+v (%v)", got, err)
	}
	dead := deadLetters(t, tab, "texts")
	if len(dead) != 1 || dead[0].ItemPK != "SMALL#large" || dead[0].Changes != 1 {
		t.Errorf("dead letters are %+v, want one of SMALL#large", dead)
	}
	put(t, tab, order{orderKey{"3"}, "large", 4})
	drain(t, w)
	if got, err := smalls.Get(t.Context(), tab, smallKey{"large"}); err != nil || got.Text != "xxxx" {
		t.Errorf("large is %+v (%v), want what fits", got, err)
	}
}

// refusing permanently refuses writes of the entities in et.
type refusing struct {
	dynamo.API
	mu sync.Mutex
	et string
}

func (r *refusing) set(et string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.et = et
}

func (r *refusing) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if et, ok := in.Item[table.AttrEntity].(*types.AttributeValueMemberS); ok && et.Value == r.et {
		return nil, &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not you"}
	}
	return r.API.PutItem(ctx, in, opts...)
}

// TestHandleIsRepeatable sends batches as an event source does: again after a failure, divided
// differently, and late.
func TestHandleIsRepeatable(t *testing.T) {
	b := openEngine(t, engine.Options{})
	api := &refusing{API: b.db}
	tab := table.New(api, "table", table.Options{})
	for i := range 6 {
		put(t, tab, order{orderKey{fmt.Sprint(i)}, "r", 1 << i})
	}
	changes := readAll(t, streamsource.New(b.db, b.arn))
	w := newWorker(t, tab, nil, fold.Options{}, totalsFold())
	handle := func(from, to int, ok bool) {
		t.Helper()
		failed, err := w.Handle(t.Context(), changes[from:to])
		if (err == nil) != ok || (len(failed) == 0) != ok || !ok && failed[0] != changes[from].Seq {
			t.Fatalf("batch %d to %d: failed %v: %v", from, to, failed, err)
		}
	}
	handle(0, 2, true)
	api.set("test.total") // nothing is written
	handle(2, 4, false)
	api.set("fold.checkpoint") // the items are written, but the checkpoint is not
	handle(2, 6, false)
	api.set("")
	handle(2, 3, true)
	handle(3, 6, true)
	handle(0, 6, true)
	w = newWorker(t, tab, nil, fold.Options{}, totalsFold()) // another instance
	handle(1, 5, true)
	if got, err := totals.Get(t.Context(), tab, totalKey{"r"}); err != nil || got.Orders != 6 || got.Amount != 63 {
		t.Errorf("total is %+v (%v), want 6 orders of 63", got, err)
	}
	if _, err := w.Handle(t.Context(), []fold.Change{{Seq: "1"}}); !errors.Is(err, fold.ErrNoShard) {
		t.Errorf("a change without a shard: %v, want ErrNoShard", err)
	}
	if err := w.Run(t.Context()); !errors.Is(err, fold.ErrNoSource) {
		t.Errorf("Run without a source: %v, want ErrNoSource", err)
	}
}

// TestReplaceState replaces the state with a rebuilt one, and continues the fold on it.
func TestReplaceState(t *testing.T) {
	b := openEngine(t, engine.Options{})
	tab := b.table()
	w := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, totalsFold())
	put(t, tab, order{orderKey{"1"}, "r", 10})
	drain(t, w)
	keys := []totalKey{{"absent"}, {"r"}}
	load := func() []fold.Stored[total] {
		t.Helper()
		got, err := fold.Load(t.Context(), tab, totals, keys)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := load()
	if got[0].Version != 0 || got[0].State.Region != "absent" || got[1].State.Amount != 10 || got[1].Version == 0 {
		t.Fatalf("loaded %+v", got)
	}
	version := got[1].Version
	mended := total{keys[1], 1, 11}
	if err := fold.ReplaceState(t.Context(), tab, totals, keys[1], mended, version); err != nil {
		t.Fatal(err)
	}
	for _, v := range []int64{version, 0} {
		if err := fold.ReplaceState(t.Context(), tab, totals, keys[1], mended, v); !errors.Is(err, table.ErrConflict) {
			t.Errorf("replacing version %d: %v, want ErrConflict", v, err)
		}
	}
	put(t, tab, order{orderKey{"2"}, "r", 100})
	drain(t, w) // this worker still has the replaced state in memory
	if got := load()[1]; got.State.Amount != 111 || got.State.Orders != 2 {
		t.Errorf("total is %+v, want 2 orders of 111", got)
	}
	if err := fold.RemoveState(t.Context(), tab, totals, keys[1], load()[1].Version); err != nil {
		t.Fatal(err)
	}
	if got := load()[1]; !got.Removed || got.State != (total{totalKey: keys[1]}) {
		t.Errorf("after its removal: %+v", got)
	}
	if _, err := totals.Get(t.Context(), tab, keys[1]); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("a removed item is read: %v", err)
	}
	if err := fold.ReplaceState(t.Context(), tab, totals, totalKey{"other"}, mended, 0); err == nil {
		t.Error("a state was put under another key")
	}
}

// TestGapsAreRecorded lets changes be trimmed before a worker reads them. The worker must
// report the gap.
func TestGapsAreRecorded(t *testing.T) {
	clock := newClock()
	b := openEngine(t, engine.Options{Clock: clock.now, TTLInterval: -1})
	tab := b.table()
	put(t, tab, order{orderKey{"1"}, "r", 1})
	drain(t, newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, totalsFold()))
	put(t, tab, order{orderKey{"2"}, "r", 10})
	if err := b.db.RollShards(t.Context(), "table"); err != nil {
		t.Fatal(err)
	}
	clock.add(30 * time.Hour)
	put(t, tab, order{orderKey{"3"}, "r", 100})
	if err := b.db.TrimStreams(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, totalsFold())
	drain(t, w)
	got, err := totals.Get(t.Context(), tab, totalKey{"r"})
	if err != nil || got.Amount != 101 {
		t.Errorf("total is %+v (%v), want 101 of what is kept", got, err)
	}
	if got := w.Status().Gaps; got != 1 {
		t.Errorf("missed changes were told %d times, want 1", got)
	}
	mended, err := fold.RepairGaps(t.Context(), tab, "main", func(_ context.Context, from, to time.Time) (string, error) {
		if begin := newClock().now(); from.Before(begin.Add(-time.Hour)) || from.After(begin) || to.Before(begin.Add(29*time.Hour)) {
			t.Errorf("missed from %s to %s", from, to)
		}
		return "done", nil
	})
	if err != nil || !mended {
		t.Errorf("mended: %v (%v)", mended, err)
	}
	misses, err := fold.GapsOf.Collect(t.Context(), tab, fold.GroupIn{Group: "main"})
	if err != nil || len(misses) != 1 || misses[0].Report != "done" || misses[0].Repaired.IsZero() {
		t.Errorf("misses are %+v (%v)", misses, err)
	}
	if mended, err := fold.RepairGaps(t.Context(), tab, "main", nil); mended || err != nil {
		t.Errorf("mended again (%v)", err)
	}
	w = newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, totalsFold())
	drain(t, w)
	if got := w.Status().Gaps; got != 0 {
		t.Errorf("missed changes were told again")
	}
}

// TestSecondGapAtSamePosition makes a gap at a place where a gap was reported, and repaired, days
// ago. The worker must report it again.
func TestSecondGapAtSamePosition(t *testing.T) {
	clock := newClock()
	b := openEngine(t, engine.Options{Clock: clock.now, TTLInterval: -1})
	tab := table.New(b.db, "table", table.Options{Clock: clock.now})
	put(t, tab, order{orderKey{"1"}, "r", 1})
	drain(t, newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, totalsFold()))
	begin := clock.now()
	at := checkpoints(t, tab)[0]
	old := fold.Gap{
		GapKey: fold.GapKey{Group: "main", Shard: at.Shard, After: at.Position},
		From:   begin.Add(-time.Hour), To: begin, Found: begin, Repaired: begin, Report: "done",
	}
	if err := fold.Gaps.Create(t.Context(), tab, &old); err != nil {
		t.Fatal(err)
	}
	put(t, tab, order{orderKey{"2"}, "r", 10})
	if err := b.db.RollShards(t.Context(), "table"); err != nil {
		t.Fatal(err)
	}
	clock.add(30 * time.Hour)
	if err := b.db.TrimStreams(t.Context()); err != nil {
		t.Fatal(err)
	}
	drain(t, newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, totalsFold()))
	misses, err := fold.GapsOf.Collect(t.Context(), tab, fold.GroupIn{Group: "main"})
	if err != nil || len(misses) != 1 || !misses[0].Repaired.IsZero() || misses[0].To.Before(begin.Add(29*time.Hour)) || misses[0].From.After(old.From) {
		t.Errorf("misses are %+v (%v), want one that is open and ends now", misses, err)
	}
}

// TestFedGroupsRecordNoGaps delivers changes through Handle, as Lambda does. Handle does not learn
// where shards end. A day later a worker reads the stream as well.
func TestFedGroupsRecordNoGaps(t *testing.T) {
	clock := newClock()
	b := openEngine(t, engine.Options{Clock: clock.now, TTLInterval: -1})
	tab := table.New(b.db, "table", table.Options{Clock: clock.now})
	put(t, tab, order{orderKey{"1"}, "r", 1})
	fed := newWorker(t, tab, nil, fold.Options{}, totalsFold())
	if _, err := fed.Handle(t.Context(), readAll(t, streamsource.New(b.db, b.arn))); err != nil {
		t.Fatal(err)
	}
	for _, c := range checkpoints(t, tab) {
		if want := newClock().now(); !c.Fed || c.Read.Before(want.Add(-time.Minute)) || c.Read.After(want.Add(time.Minute)) {
			t.Errorf("the checkpoint is %+v, want it fed, and read to %s", c, want)
		}
	}
	for range 2 { // the second generation has no checkpoint at all, and neither has its parent
		if err := b.db.RollShards(t.Context(), "table"); err != nil {
			t.Fatal(err)
		}
		clock.add(30 * time.Hour)
		if err := b.db.TrimStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	beside := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, totalsFold())
	drain(t, beside)
	misses, err := fold.GapsOf.Collect(t.Context(), tab, fold.GroupIn{Group: "main"})
	if err != nil || len(misses) != 0 || beside.Status().Gaps != 0 {
		t.Errorf("a fed group has missed %+v (%v)", misses, err)
	}
}

func checkpoints(t *testing.T, tab *table.Table) []fold.Checkpoint {
	t.Helper()
	all, err := fold.CheckpointsOf.Collect(t.Context(), tab, fold.GroupIn{Group: "main"})
	if err != nil || len(all) == 0 {
		t.Fatalf("checkpoints are %+v (%v)", all, err)
	}
	return all
}

func TestFaultyDefinitionsAreRejected(t *testing.T) {
	on := fold.On(orders, func(fold.Typed[order], func(totalKey) *total) error { return nil })
	merge := func(into, d *total) {}
	loop := fold.New("loop", orders, func(into, d *order) {}, fold.On(totals, func(fold.Typed[total], func(orderKey) *order) error { return nil }))
	for what, folds := range map[string][]*fold.Fold{
		"none":          nil,
		"one name":      {totalsFold(), fold.New("totals", worlds, func(into, d *world) {}, fold.On(orders, func(fold.Typed[order], func(worldKey) *world) error { return nil }))},
		"one entity":    {totalsFold(), fold.New("again", totals, merge, on)},
		"a circle":      {totalsFold(), loop},
		"a bad name":    {fold.New("f#1", totals, merge, on)},
		"no merge":      {fold.New("f", totals, nil, on)},
		"no source":     {fold.New("f", totals, merge)},
		"other state":   {fold.New("f", totals, merge, on).With(fold.Removable(func(*world) bool { return false }))},
		"no partials":   {fold.New("f", totals, merge, on).With(fold.Partials(0, func(k totalKey, _ int) totalKey { return k }))},
		"no projection": {fold.Project("f", orders, totals, fold.Projection[order, total, totalKey]{})},
		"a long hold":   {totalsFold().With(fold.Hold(31 * time.Minute))},
		"no hold":       {totalsFold().With(fold.Hold(-1))},
	} {
		_, err := fold.NewWorker(table.New(nil, "table", table.Options{}), nil, folds, fold.Options{})
		if !errors.Is(err, fold.ErrDefinition) {
			t.Errorf("%s: %v, want ErrDefinition", what, err)
		}
	}
}

// TestLeasesAreShared starts a second worker next to a worker that has all shards.
func TestLeasesAreShared(t *testing.T) {
	clock := newClock()
	b := openEngine(t, engine.Options{StreamShards: 4, Clock: clock.now})
	tab := table.New(b.db, "table", table.Options{Clock: clock.now})
	worker := func(name string) *fold.Worker {
		return newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{Leases: true, LeaseFor: 30 * time.Second, Owner: name}, totalsFold())
	}
	a, other := worker("a"), worker("b")
	drain(t, a)
	if owned(a) != 4 {
		t.Fatalf("the only worker has %d shards of 4", owned(a))
	}
	for range 6 {
		clock.add(11 * time.Second)
		drain(t, other)
		drain(t, a)
	}
	if owned(a) != 2 || owned(other) != 2 {
		t.Errorf("two workers have %d and %d shards of 4", owned(a), owned(other))
	}
	for range 2 { // a has stopped, and its leases expire
		clock.add(31 * time.Second)
		drain(t, other)
	}
	if owned(other) != 4 {
		t.Errorf("the last worker has %d shards of 4", owned(other))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := other.Run(ctx); err != nil { // returning releases its leases
		t.Fatal(err)
	}
	third := worker("c")
	drain(t, third)
	if owned(third) != 4 {
		t.Errorf("the next worker has %d shards of 4 that were given back", owned(third))
	}
}

// TestPartials spreads one derived item over the workers of several shards.
func TestPartials(t *testing.T) {
	b := openEngine(t, engine.Options{StreamShards: 6})
	tab := b.table()
	f := totalsFold().With(fold.Partials(3, func(k totalKey, n int) totalKey { return totalKey{fmt.Sprint(k.Region, "-", n)} }))
	for i := range 40 {
		put(t, tab, order{orderKey{fmt.Sprint(i)}, "r", 1})
	}
	drain(t, newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, f))
	parts, sum := 0, 0
	for i := range 3 {
		got, err := totals.Get(t.Context(), tab, totalKey{fmt.Sprint("r-", i)})
		if err == nil {
			parts++
			sum += got.Amount
		} else if !errors.Is(err, table.ErrNotFound) {
			t.Fatal(err)
		}
	}
	if parts < 2 || sum != 40 {
		t.Errorf("%d partials come to %d, want several that come to 40", parts, sum)
	}
}
