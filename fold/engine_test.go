package fold_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

type orderKey struct {
	ID string `dynamodbav:"id"`
}

type order struct {
	orderKey
	Region string `dynamodbav:"region"`
	Amount int    `dynamodbav:"amount"`
}

type totalKey struct {
	Region string `dynamodbav:"region"`
}

type total struct {
	totalKey
	Orders int `dynamodbav:"orders"`
	Amount int `dynamodbav:"amount"`
}

type worldKey struct {
	Name string `dynamodbav:"name"`
}

type world struct {
	worldKey
	Regions int `dynamodbav:"regions"`
	Amount  int `dynamodbav:"amount"`
}

var (
	orders = table.Define[order, orderKey]("test.order", table.Def[order]{PK: "ORDER#{id}", SK: "ORDER"})
	totals = table.Define[total, totalKey]("test.total", table.Def[total]{PK: "REGION#{region}", SK: "TOTAL"})
	worlds = table.Define[world, worldKey]("test.world", table.Def[world]{PK: "WORLD#{name}", SK: "WORLD"})
	schema = table.MustSchema("test", fold.Schema, orders, totals, worlds, smalls, customerPages, crates, crateWindows, parcelCounts)
)

// totalsFold computes a total per region. worldFold computes one total from those totals.
func totalsFold() *fold.Fold {
	return fold.New("totals", totals, func(into, d *total) {
		into.Orders += d.Orders
		into.Amount += d.Amount
	}, fold.On(orders, func(c fold.Typed[order], at func(totalKey) *total) error {
		if c.Old != nil {
			t := at(totalKey{c.Old.Region})
			t.Orders--
			t.Amount -= c.Old.Amount
		}
		if c.New != nil {
			t := at(totalKey{c.New.Region})
			t.Orders++
			t.Amount += c.New.Amount
		}
		return nil
	})).With(fold.Removable(func(t *total) bool { return t.Orders == 0 }))
}

func worldFold() *fold.Fold {
	return fold.New("world", worlds, func(into, d *world) {
		into.Regions += d.Regions
		into.Amount += d.Amount
	}, fold.On(totals, func(c fold.Typed[total], at func(worldKey) *world) error {
		w := at(worldKey{"all"})
		if c.Old != nil {
			w.Regions--
			w.Amount -= c.Old.Amount
		}
		if c.New != nil {
			w.Regions++
			w.Amount += c.New.Amount
		}
		return nil
	}))
}

// clock is a clock that a test moves forward.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanos.Store(time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time      { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *clock) add(d time.Duration) { c.nanos.Add(int64(d)) }

// bench is an engine with the table that a test uses.
type bench struct {
	db  *engine.DB
	arn string
}

func openEngine(t testing.TB, o engine.Options) *bench {
	t.Helper()
	db, err := engine.OpenMemory(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := schema.Ensure(t.Context(), db, "table"); err != nil {
		t.Fatal(err)
	}
	out, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: ptr("table")})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{db: db, arn: *out.Table.LatestStreamArn}
}

func ptr[T any](v T) *T { return &v }

func (b *bench) table() *table.Table { return table.New(b.db, "table", table.Options{}) }

func (b *bench) worker(t testing.TB, api dynamo.API, o fold.Options) *fold.Worker {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	w, err := fold.NewWorker(table.New(api, "table", table.Options{}), streamsource.New(b.db, b.arn), []*fold.Fold{totalsFold(), worldFold()}, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// model is the state that a test's writes should produce.
type model struct {
	mu     sync.Mutex
	orders map[string]order
}

// write makes n random writes of orders whose IDs begin with prefix.
func (m *model) write(ctx context.Context, t *table.Table, r *rand.Rand, prefix string, n int) error {
	for range n {
		o := order{orderKey: orderKey{fmt.Sprint(prefix, r.IntN(20))}, Region: fmt.Sprint("r", r.IntN(5)), Amount: r.IntN(100)}
		var err error
		m.mu.Lock()
		if r.IntN(5) == 0 {
			delete(m.orders, o.ID)
			err = orders.Delete(ctx, t, o.orderKey)
		} else {
			m.orders[o.ID] = o
			err = orders.Put(ctx, t, &o)
		}
		m.mu.Unlock()
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (m *model) check(t *testing.T, tab *table.Table) {
	t.Helper()
	want := make(map[string]total)
	all := world{worldKey: worldKey{"all"}}
	for _, o := range m.orders {
		w := want[o.Region]
		w.Region = o.Region
		w.Orders++
		w.Amount += o.Amount
		want[o.Region] = w
		all.Amount += o.Amount
	}
	all.Regions = len(want)
	for i := range 5 {
		k := totalKey{fmt.Sprint("r", i)}
		got, err := totals.Get(t.Context(), tab, k)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			t.Fatal(err)
		}
		if got.Region = k.Region; got.Orders != want[k.Region].Orders || got.Amount != want[k.Region].Amount {
			t.Errorf("%s is %+v, want %+v", k.Region, got, want[k.Region])
		}
	}
	got, err := worlds.Get(t.Context(), tab, worldKey{"all"})
	if err != nil || got != all {
		t.Errorf("world is %+v (%v), want %+v", got, err, all)
	}
}

func TestFoldsOverTheEngine(t *testing.T) {
	b := openEngine(t, engine.Options{StreamShards: 3, RollEvery: 40})
	w := b.worker(t, b.db, fold.Options{FlushAge: 5 * time.Millisecond, Poll: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	var run errgroup.Group
	run.Go(func() error { return w.Run(ctx) })
	m := &model{orders: make(map[string]order)}
	var writers errgroup.Group
	for i := range 3 {
		writers.Go(func() error {
			return m.write(ctx, b.table(), rand.New(rand.NewPCG(uint64(i), 1)), fmt.Sprintf("w%d-", i), 300)
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := w.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	m.check(t, b.table())
	cancel()
	if err := run.Wait(); err != nil {
		t.Fatal(err)
	}
	s := w.Status()
	if s.Gaps != 0 || s.DeadLetters != 0 || s.Waiting != 0 || s.Changes == 0 {
		t.Errorf("status %+v", s)
	}
	t.Logf("%+v", s)
}

// unreliable is an API whose requests fail now and then, before or after they take effect. All
// requests fail once dead is set.
type unreliable struct {
	dynamo.API
	dead atomic.Bool
	mu   sync.Mutex
	rand *rand.Rand
}

var errFlaky = errors.New("connection reset")

func (u *unreliable) fails() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch n := u.rand.IntN(100); {
	case u.dead.Load():
		return errFlaky
	case n == 0:
		u.dead.Store(u.rand.IntN(4) == 0)
		return errFlaky
	case n < 4:
		return &types.ProvisionedThroughputExceededException{}
	}
	return nil
}

func (u *unreliable) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := u.fails(); err != nil {
		return nil, err
	}
	out, err := u.API.PutItem(ctx, in, opts...)
	if lost := u.fails(); lost != nil {
		return nil, errFlaky
	}
	return out, err
}

func (u *unreliable) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	if err := u.fails(); err != nil {
		return nil, err
	}
	return u.API.BatchGetItem(ctx, in, opts...)
}

// TestCrashingWorkersOverTheEngine runs several concurrent workers that fold one stream over an
// unreliable connection, and cuts each of them off. At the end one undisturbed worker drains the
// stream.
func TestCrashingWorkersOverTheEngine(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			b := openEngine(t, engine.Options{StreamShards: 2, RollEvery: 50})
			m := &model{orders: make(map[string]order)}
			var g errgroup.Group
			for i := range 2 {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				g.Go(func() error { return m.write(t.Context(), b.table(), r, fmt.Sprintf("w%d-", i), 200) })
			}
			for i := range 3 {
				r := rand.New(rand.NewPCG(seed, 100+uint64(i)))
				g.Go(func() error {
					for range 4 {
						u := &unreliable{API: b.db, rand: r}
						w := b.worker(t, u, fold.Options{
							FlushChanges: 1 + r.IntN(100), PageSize: 1 + r.IntN(50), Retries: 2, Leases: i == 0, Owner: fmt.Sprint("w", i),
							Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
						})
						if err := w.Drain(t.Context()); err != nil && !errors.Is(err, errFlaky) && !dynamo.IsThrottle(err) {
							return err
						}
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
			if err := b.worker(t, b.db, fold.Options{}).Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.check(t, b.table())
		})
	}
}
