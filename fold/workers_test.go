package fold_test

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// skewed returns a table whose owner has a clock that is off by the given duration.
func skewed(b *bench, c *clock, by time.Duration) *table.Table {
	return table.New(b.db, "table", table.Options{Clock: func() time.Time { return c.now().Add(by) }})
}

func owned(w *fold.Worker) (n int) {
	for _, s := range w.Status().Shards {
		if s.Owned {
			n++
		}
	}
	return n
}

func amountOf(t *testing.T, tab *table.Table, region string) int {
	t.Helper()
	got, err := totals.Get(t.Context(), tab, totalKey{region})
	if err != nil {
		t.Fatal(err)
	}
	return got.Amount
}

// TestBarrierCoversShardsOfOthers waits for a barrier in a worker that has no shard. The worker that
// has all shards has stopped.
func TestBarrierCoversShardsOfOthers(t *testing.T) {
	clock := newClock()
	b := openEngine(t, engine.Options{StreamShards: 4, Clock: clock.now})
	tab := table.New(b.db, "table", table.Options{Clock: clock.now})
	owner := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{Leases: true, Owner: "owner"}, totalsFold(), worldFold())
	drain(t, owner)
	leaseFree := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{Leases: true, LeaseFree: true, Owner: "aside"}, totalsFold(), worldFold())
	drain(t, leaseFree)
	if before := leaseFree.Status().Writes; before != 0 {
		t.Errorf("%d items were written though nothing was to do", before)
	}
	for i := range 40 {
		put(t, tab, order{orderKey{fmt.Sprint(i)}, "r", 1})
	}
	drain(t, leaseFree)
	if got := amountOf(t, tab, "r"); got != 40 {
		t.Errorf("after the fence the total is %d, want 40", got)
	}
	if owned(leaseFree) != 0 || owned(owner) != 4 {
		t.Errorf("the shards are %d and %d of 4 workers', want the owner's", owned(leaseFree), owned(owner))
	}
	put(t, tab, order{orderKey{"more"}, "r", 2})
	drain(t, owner)
	if got := amountOf(t, tab, "r"); got != 42 {
		t.Errorf("after the owner went on the total is %d, want 42", got)
	}
}

// TestBarrierContinuesBehindParent waits for shards whose parents were read to their last change by a
// worker that died before it could record that.
func TestBarrierContinuesBehindParent(t *testing.T) {
	clock := newClock()
	b := openEngine(t, engine.Options{RollEvery: 30, Clock: clock.now})
	tab := table.New(b.db, "table", table.Options{Clock: clock.now})
	owner := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{Leases: true, Owner: "owner"}, totalsFold())
	for i := range 50 {
		put(t, tab, order{orderKey{fmt.Sprint(i)}, "r", 1})
	}
	drain(t, owner)
	for i := range 50 {
		put(t, tab, order{orderKey{fmt.Sprint("more", i)}, "r", 1})
	}
	undone := 0
	for c, err := range fold.CheckpointsOf.All(t.Context(), tab, fold.GroupIn{Group: "main"}) {
		if err == nil && c.Done {
			undone++
			c.Done = false
			err = fold.Checkpoints.Put(t.Context(), tab, &c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if undone == 0 {
		t.Fatal("no shard has ended")
	}
	drain(t, newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{Leases: true, LeaseFree: true, Owner: "aside"}, totalsFold()))
	if got := amountOf(t, tab, "r"); got != 100 {
		t.Errorf("after the fence the total is %d, want 100", got)
	}
}

// TestBarrierWaitsForOwner waits for an owner that is running. The waiting worker writes nothing
// itself.
func TestBarrierWaitsForOwner(t *testing.T) {
	b := openEngine(t, engine.Options{StreamShards: 4})
	tab := b.table()
	owner := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{Leases: true, Owner: "owner", Poll: time.Millisecond, FlushAge: time.Millisecond}, totalsFold())
	ctx, stop := context.WithCancel(t.Context())
	var run errgroup.Group
	run.Go(func() error { return owner.Run(ctx) })
	leaseFree := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{Leases: true, LeaseFree: true, Owner: "aside"}, totalsFold())
	for i := range 20 {
		put(t, tab, order{orderKey{fmt.Sprint(i)}, "r", 1})
		drain(t, leaseFree)
		if got := amountOf(t, tab, "r"); got != i+1 {
			t.Fatalf("after fence %d the total is %d", i, got)
		}
	}
	stop()
	if err := run.Wait(); err != nil {
		t.Error(err)
	}
}

// TestClocksOfOwnersDoNotMatter has workers, with clocks that are hours apart, share shards and
// take over from dead workers.
func TestClocksOfOwnersDoNotMatter(t *testing.T) {
	clock := newClock()
	b := openEngine(t, engine.Options{StreamShards: 6, Clock: clock.now})
	worker := func(name string, by time.Duration) *fold.Worker {
		return newWorker(t, skewed(b, clock, by), streamsource.New(b.db, b.arn), fold.Options{Leases: true, LeaseFor: 30 * time.Second, Owner: name}, totalsFold())
	}
	ahead, behind := worker("ahead", 3*time.Hour), worker("behind", -3*time.Hour)
	drain(t, ahead)
	drain(t, behind)
	for range 5 {
		clock.add(11 * time.Second)
		drain(t, ahead)
		drain(t, behind)
	}
	if owned(ahead) != 3 || owned(behind) != 3 {
		t.Fatalf("of 6 shards, %d and %d are owned", owned(ahead), owned(behind))
	}
	for range 3 { // behind is gone: the first look sees its last lease, which has expired 30 seconds later
		clock.add(10 * time.Second)
		drain(t, ahead)
		if owned(ahead) != 3 {
			t.Errorf("%d shards are owned: leases of 30 seconds were taken too soon", owned(ahead))
		}
	}
	clock.add(10 * time.Second)
	drain(t, ahead)
	if owned(ahead) != 6 {
		t.Errorf("%d shards of 6 were taken over from the dead", owned(ahead))
	}
}

// TestManyShardsAreShared lets workers come and go.
func TestManyShardsAreShared(t *testing.T) {
	clock := newClock()
	b := openEngine(t, engine.Options{StreamShards: 64, Clock: clock.now})
	tab := table.New(b.db, "table", table.Options{Clock: clock.now})
	var workers []*fold.Worker
	settle := func() {
		for range 4 {
			clock.add(11 * time.Second)
			for _, w := range workers {
				drain(t, w)
			}
		}
	}
	for i := range 5 {
		workers = append(workers, newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{Leases: true, Owner: fmt.Sprint("w", i)}, totalsFold()))
		settle()
		sum := 0
		for _, w := range workers {
			sum += owned(w)
			if n := owned(w); n > 64/(i+1)+1 {
				t.Errorf("one of %d workers has %d shards of 64", i+1, n)
			}
		}
		if sum != 64 {
			t.Errorf("%d workers have %d shards of 64", i+1, sum)
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for _, w := range workers[:3] {
		if err := w.Run(stopped); err != nil {
			t.Fatal(err)
		}
	}
	workers = workers[3:]
	clock.add(11 * time.Second) // released shards are taken at the next look
	for _, w := range workers {
		drain(t, w)
	}
	if a, z := owned(workers[0]), owned(workers[1]); a+z != 64 {
		t.Errorf("the last two workers have %d and %d shards of 64", a, z)
	}
}

// TestDrainWithStoppedClock has workers without leases, which all read all shards, while shards roll
// over and no time passes.
func TestDrainWithStoppedClock(t *testing.T) {
	clock := newClock()
	b := openEngine(t, engine.Options{StreamShards: 2, Clock: clock.now})
	tab := table.New(b.db, "table", table.Options{Clock: clock.now})
	var group errgroup.Group
	for i := range 3 {
		w := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{Owner: fmt.Sprint("w", i), FlushChanges: 7, PageSize: 5}, totalsFold(), worldFold())
		group.Go(func() error {
			for range 10 {
				if err := w.Drain(t.Context()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for i := range 100 {
		put(t, tab, order{orderKey{fmt.Sprint(i)}, fmt.Sprint("r", i%3), 1})
		if i%10 == 0 {
			if err := b.db.RollShards(t.Context(), "table"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	drain(t, newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, totalsFold(), worldFold()))
	if got := amountOf(t, tab, "r0") + amountOf(t, tab, "r1") + amountOf(t, tab, "r2"); got != 100 {
		t.Errorf("the totals are %d, want 100", got)
	}
}

// interrupted is a table whose next write of a lease fails once, as it is told to.
type interrupted struct {
	dynamo.API
	next func(write func() error) error // nil: writes go through
}

// errInterrupted is an error that nobody tries again after, errTransient one that is retried.
var (
	errInterrupted = &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "interrupted"}
	errTransient   = &smithy.GenericAPIError{Code: "InternalServerError", Message: "again"}
)

func (i *interrupted) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (out *dynamodb.PutItemOutput, err error) {
	write := func() error {
		out, err = i.API.PutItem(context.WithoutCancel(ctx), in, opts...)
		return err
	}
	et, ok := in.Item[table.AttrEntity].(*types.AttributeValueMemberS)
	if next := i.next; next != nil && ok && et.Value == lease.Leases.Name() {
		i.next = nil
		return nil, next(write)
	}
	err = write()
	return out, err
}

// TestInterruptedRenewalsAreReleased stops a worker while it takes its first lease, renews one or releases one. The write
// is stored or lost, stored and retried, or stored only when the worker has ended. The next worker finds all leases free.
func TestInterruptedRenewalsAreReleased(t *testing.T) {
	type failure func(stop context.CancelFunc) func(write func() error) error
	var late func() error
	failures := map[string]failure{
		"stored": func(stop context.CancelFunc) func(func() error) error {
			return func(write func() error) error { stop(); return cmp.Or(write(), error(errInterrupted)) }
		},
		"lost": func(stop context.CancelFunc) func(func() error) error {
			return func(func() error) error { stop(); return errInterrupted }
		},
		"retried": func(context.CancelFunc) func(func() error) error {
			return func(write func() error) error { return cmp.Or(write(), error(errTransient)) }
		},
		"late": func(stop context.CancelFunc) func(func() error) error {
			return func(write func() error) error { stop(); late = write; return errInterrupted }
		},
	}
	for name, stop := range map[string]func(w *fold.Worker, clock *clock, interrupt func() context.Context) error{
		"first": func(w *fold.Worker, _ *clock, interrupt func() context.Context) error {
			return w.Drain(interrupt())
		},
		"renewal": func(w *fold.Worker, clock *clock, interrupt func() context.Context) error {
			drain(t, w)
			clock.add(21 * time.Minute)
			return w.Drain(interrupt())
		},
		"release": func(w *fold.Worker, _ *clock, interrupt func() context.Context) error {
			drain(t, w)
			return w.Release(interrupt())
		},
	} {
		for how, failure := range failures {
			t.Run(name+"/"+how, func(t *testing.T) {
				clock := newClock()
				b := openEngine(t, engine.Options{StreamShards: 4, Clock: clock.now})
				api := &interrupted{API: b.db}
				worker := func(name string, api dynamo.API) *fold.Worker {
					return newWorker(t, table.New(api, "table", table.Options{Clock: clock.now}), streamsource.New(b.db, b.arn),
						fold.Options{Leases: true, LeaseFor: time.Hour, Owner: name, Readers: 1}, totalsFold())
				}
				w := worker("interrupted", api)
				err := stop(w, clock, func() context.Context {
					ctx, cancel := context.WithCancel(t.Context())
					api.next = failure(cancel)
					return ctx
				})
				if api.next != nil || (err == nil) != (how == "retried") {
					t.Fatalf("it was not interrupted as it should be: %v", err)
				}
				if err := w.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				if how == "late" && late() == nil {
					t.Error("the late write was stored")
				}
				next := worker("next", b.db)
				drain(t, next)
				if owned(next) != 4 {
					t.Errorf("the next worker has %d shards of 4 that were given back", owned(next))
				}
			})
		}
	}
}
