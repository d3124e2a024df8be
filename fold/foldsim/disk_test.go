package foldsim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// TestFoldsOnFailingDisk injects one disk fault, at a random call, while orders are written and
// folded. Whatever the fault is, every acknowledged write must still be there afterwards, and the
// derived items must be the fold of everything that is there. Nothing may hang. ONEFOLD_DISK_SEEDS
// sets the number of seeds to try, and ONEFOLD_DISK_SEED selects one seed.
func TestFoldsOnFailingDisk(t *testing.T) {
	t.Parallel()
	first, seeds := uint64(time.Now().UnixNano()), 60
	if testing.Short() {
		seeds = 10
	}
	if s := os.Getenv("ONEFOLD_DISK_SEEDS"); s != "" {
		seeds = must(strconv.Atoi(s))
	}
	if s := os.Getenv("ONEFOLD_DISK_SEED"); s != "" {
		first, seeds = must(strconv.ParseUint(s, 10, 64)), 1
	}
	met := map[enginetest.DiskFault]int{}
	for seed := first; seed < first+uint64(seeds) && !t.Failed(); seed++ {
		r := newDiskRun(t, seed)
		done := make(chan struct{})
		go func() { defer close(done); r.run() }()
		select {
		case <-done:
		case <-time.After(5 * time.Minute):
			stacks := make([]byte, 1<<20)
			t.Fatalf("%s: it hangs\n%s", r, stacks[:runtime.Stack(stacks, true)])
		}
		if hit, _ := r.disk.Hit(); hit {
			met[r.disk.Fault()]++
		}
	}
	t.Logf("%d seeds, faults met: %v", seeds, met)
}

// diskRun is one run of the test: one table on one disk.
type diskRun struct {
	*testing.T
	seed   uint64
	random *rand.Rand
	mem    *vfs.MemFS
	disk   *enginetest.Disk
	died   atomic.Bool
	full   atomic.Int64 // number of refused writes
	orders [4]written   // by writer
}

// written records what one writer did to its orders.
type written struct {
	acked map[string]*Order // nil means deleted
	sent  map[string]*Order // sent after acked, and not acknowledged
}

var diskSchema = table.MustSchema("disk", fold.Schema, orders, totals, continents, largest, mixes)

func newDiskRun(t *testing.T, seed uint64) *diskRun {
	mem := vfs.NewCrashableMem()
	r := &diskRun{T: t, seed: seed, random: rand.New(rand.NewPCG(seed, 11)), mem: mem, disk: enginetest.NewDisk(mem)}
	for w := range r.orders {
		r.orders[w] = written{map[string]*Order{}, map[string]*Order{}}
	}
	return r
}

func (r *diskRun) String() string {
	_, file := r.disk.Hit()
	return fmt.Sprintf("ONEFOLD_DISK_SEED=%d %s %s", r.seed, r.disk.Fault(), file)
}

func (r *diskRun) open(fs vfs.FS, log *bytes.Buffer) (*engine.DB, error) {
	o := engine.Options{FS: fs, StreamShards: 2, RollEvery: 60, MemTableBytes: 16 << 10, CacheBytes: 1 << 20, TTLInterval: -1,
		Logger: slog.New(slog.DiscardHandler), OnFatal: func(error) { r.died.Store(true) }}
	if log != nil {
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	return engine.Open("data", o)
}

func (r *diskRun) worker(db *engine.DB) *fold.Worker {
	d := must(db.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: new("sim")}))
	return must(fold.NewWorker(table.New(db, "sim", table.Options{}), streamsource.New(db, *d.Table.LatestStreamArn),
		[]*fold.Fold{foldTotals(), foldContinents(), foldLargest(), foldMixes()},
		fold.Options{FlushAge: time.Millisecond, Poll: time.Millisecond, FlushChanges: 1 + r.random.IntN(30), PageSize: 1 + r.random.IntN(20), Retries: 1, Logger: slog.New(slog.DiscardHandler)}))
}

// run writes and folds until the disk fails for good or all orders are written. It then checks the
// contents of the table.
func (r *diskRun) run() {
	db := must(r.open(r.disk, nil))
	if err := diskSchema.Ensure(context.Background(), db, "sim"); err != nil {
		r.Error(err)
		return
	}
	r.disk.Break(enginetest.DiskFault(r.random.IntN(int(enginetest.DiskFaults))), 1+r.random.IntN(500))
	r.work(db)
	if err := db.Close(); err != nil && !r.expected(err) {
		r.Errorf("%s: close: %v", r, err)
	}
	clone := r.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.random.IntN(2) * r.random.IntN(101), RNG: r.random})
	var log bytes.Buffer
	flipped := r.disk.Fault() == enginetest.Flipped
	db, err := r.open(clone, &log)
	if err != nil {
		if !flipped || !errors.Is(err, engine.ErrCorrupt) {
			r.Errorf("%s: open what is left: %v", r, err)
		}
		return
	}
	defer func() {
		if err := db.Close(); err != nil {
			r.Errorf("%s: close what is left: %v", r, err)
		}
	}()
	var found []string
	must(db.Check(context.Background(), func(f engine.Finding) { found = append(found, f.String()) }))
	if flipped && (len(found) > 0 || strings.Contains(log.String(), "level=WARN")) {
		return // the engine reports it
	}
	for _, f := range found {
		if !strings.HasPrefix(f, "count") {
			r.Errorf("%s: found %s", r, f)
		}
	}
	if err := r.worker(db).Drain(context.Background()); err != nil {
		r.Errorf("%s: drain: %v", r, err)
	}
	r.compare(db)
}

// work runs the writers, and a worker that folds until the writers are done. A stalled write is
// released after the other writers have run into it.
func (r *diskRun) work(db *engine.DB) {
	ctx, cancel := context.WithCancel(context.Background())
	var folding, writing sync.WaitGroup
	worker := r.worker(db)
	folding.Go(func() {
		for ctx.Err() == nil && !r.died.Load() {
			_ = worker.Run(ctx) // Run continues after any error
		}
	})
	for w := range r.orders {
		random := rand.New(rand.NewPCG(r.seed, uint64(w)))
		writing.Go(func() { r.write(db, w, random) })
	}
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	select {
	case <-done:
	case <-r.disk.Waiting():
		runtime.Gosched()
		r.disk.Release()
		<-done
	case <-time.After(2 * time.Second): // a write that waits for space inside the store is not refused, so release it here
		r.disk.Heal()
		<-done
	}
	r.disk.Heal() // writes that wait for space continue
	cancel()
	folding.Wait()
}

// write changes the orders of one writer. It repeats a write that was refused because the disk is
// full. The disk has space again after a while.
func (r *diskRun) write(db *engine.DB, w int, random *rand.Rand) {
	own := r.orders[w]
	for n := 0; n < 50; {
		id := fmt.Sprintf("o%d-%d", w, random.IntN(6))
		var next *Order
		if random.IntN(5) > 0 {
			next = &Order{OrderKey: OrderKey{id}, Region: []string{"eu-1", "eu-2", "us-1", "as-1"}[random.IntN(4)], Amount: random.IntN(unlucky), Day: []string{"mon", "tue"}[random.IntN(2)]}
		}
		own.sent[id] = next
		switch err := r.put(db, id, next); {
		case err == nil:
			own.acked[id] = next
			delete(own.sent, id)
			n++
		case errors.Is(err, engine.ErrFatal), errors.Is(err, engine.ErrCorrupt):
			return
		case dynamo.IsFull(err):
			delete(own.sent, id)
			if r.full.Add(1) > 100 {
				r.disk.Heal()
			}
		case r.expected(err): // the failed request was a read
			delete(own.sent, id)
		default:
			r.Errorf("%s: write: %v", r, err)
			return
		}
	}
}

func (r *diskRun) put(db *engine.DB, id string, o *Order) error {
	if o == nil {
		_, err := db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: new("sim"), Key: must(orders.Key(OrderKey{id}))})
		return err
	}
	_, err := db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: new("sim"), Item: must(orders.Encode(o))})
	return err
}

// expected reports whether an error is a consequence of the injected fault.
func (r *diskRun) expected(err error) bool {
	return errors.Is(err, engine.ErrFatal) || dynamo.IsFull(err) || errors.Is(err, syscall.ENOSPC) || (r.disk.Fault() == enginetest.Flipped || r.disk.Fault() == enginetest.Unread) && (errors.Is(err, engine.ErrCorrupt) || errors.Is(err, syscall.EIO))
}

// compare checks that each order is as it was acknowledged, or as its writer last sent it. It also
// checks that the derived items are the fold of all changes.
func (r *diskRun) compare(db *engine.DB) {
	t := table.New(db, "sim", table.Options{})
	live := map[string]Order{}
	for o := range r.items(t, orders.Name()) {
		got := must(orders.Decode(o))
		live[got.ID] = got
	}
	for w := range r.orders {
		own := r.orders[w]
		for id, want := range own.acked {
			sent, was := own.sent[id]
			if is, there := live[id]; !isOrder(is, there, want) && !(was && isOrder(is, there, sent)) {
				r.Errorf("%s: order %s is %+v (%t), acknowledged was %+v", r, id, is, there, want)
			}
		}
	}
	wantTotals, wantContinents := map[string]Total{}, map[string]Continent{}
	for _, o := range live {
		s := wantTotals[o.Region]
		wantTotals[o.Region] = Total{TotalKey{o.Region}, s.Orders + 1, s.Amount + o.Amount}
	}
	for _, s := range wantTotals {
		c := wantContinents[s.Region[:1]]
		wantContinents[s.Region[:1]] = Continent{ContinentKey{s.Region[:1]}, c.Regions + 1, c.Orders + s.Orders, c.Amount + s.Amount}
	}
	wantLargest := r.seen(db)
	sameItems(r, t, totals, wantTotals, func(v Total) string { return v.Region })
	sameItems(r, t, continents, wantContinents, func(v Continent) string { return v.Continent })
	sameItems(r, t, largest, wantLargest, func(v Largest) string { return v.Day })
}

func isOrder(is Order, there bool, want *Order) bool {
	return there == (want != nil) && (want == nil || is == *want)
}

// items yields the items of one entity.
func (r *diskRun) items(t *table.Table, entity string) func(yield func(table.Item) bool) {
	return func(yield func(table.Item) bool) {
		in := &dynamodb.ScanInput{TableName: new("sim")}
		for {
			out := must(t.API().Scan(context.Background(), in))
			for _, it := range out.Items {
				if it[table.AttrEntity].(*types.AttributeValueMemberS).Value == entity && !yield(it) {
					return
				}
			}
			if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
				return
			}
		}
	}
}

// seen computes the largest order of each day from the records of the stream.
func (r *diskRun) seen(db *engine.DB) map[string]Largest {
	d := must(db.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: new("sim")}))
	stream := streamsource.New(db, *d.Table.LatestStreamArn)
	want := map[string]Largest{}
	for _, sh := range must(stream.Shards(context.Background())) {
		in := fold.ReadRequest{Shard: sh.ID, Max: 1000, Want: func(et string) bool { return et == orders.Name() }}
		for {
			b := must(stream.Read(context.Background(), in))
			for _, c := range b.Changes {
				if c.New == nil {
					continue
				}
				o := must(orders.Decode(c.New))
				l := want[o.Day]
				want[o.Day] = Largest{LargestKey{Day: o.Day}, l.Seen + 1, max(l.Amount, o.Amount)}
			}
			if in.After = b.Last; b.End || b.Tip {
				break
			}
		}
	}
	return want
}

func sameItems[S, K comparable](r *diskRun, t *table.Table, e *table.Entity[S, K], want map[string]S, key func(S) string) {
	got := map[string]S{}
	for it := range r.items(t, e.Name()) {
		v := must(e.Decode(it))
		got[key(v)] = v
	}
	if !maps.Equal(got, want) {
		r.Errorf("%s: %s: is %v, should be %v", r, e.Name(), got, want)
	}
}
