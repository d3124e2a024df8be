package eventstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// span is the time during which an append was in progress, by a counter that all writers share.
type span struct{ began, ended int64 }

// ordering is a store on a stream of several shards, with its appends and the workers that write
// its feed.
type ordering struct {
	*world
	ticks    atomic.Int64
	appended chan bool // tells a worker that there was an append

	mu      sync.Mutex
	appends map[string]span // by event type, which names the append
	parts   map[string]int  // number of its events
}

func newOrdering(t *testing.T, o engine.Options) *ordering {
	db := enginetest.New(t, enginetest.With(o))
	w := &world{T: t, ctx: t.Context(), db: db, table: table.New(db, "onefold", table.Options{Clock: db.Now})}
	w.must(eventstore.Schema.Ensure(w.ctx, db, "onefold"))
	var err error
	w.store, err = eventstore.New(w.table, eventstore.Options{})
	w.must(err)
	return &ordering{world: w, appended: make(chan bool, 1), appends: map[string]span{}, parts: map[string]int{}}
}

// do makes a named append to 1 to 4 aggregates, and records when it was in progress.
func (o *ordering) do(name string, r *rand.Rand) {
	var parts []eventstore.AppendTo
	events := 0
	for _, n := range r.Perm(40)[:1+r.IntN(4)] {
		part := to(order(fmt.Sprint(n)), eventstore.Any(), []string{name, name}[:1+r.IntN(2)]...)
		parts, events = append(parts, part), events+len(part.Events)
	}
	began := o.ticks.Add(1)
	_, err := o.store.AppendAll(o.ctx, parts, eventstore.CommitID(name))
	for err != nil && o.ctx.Err() == nil { // others kept appending: repeat the same append
		_, err = o.store.AppendAll(o.ctx, parts, eventstore.CommitID(name))
	}
	o.noError(err)
	ended := o.ticks.Add(1)
	select {
	case o.appended <- true:
	default: // the worker has work already
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.appends[name], o.parts[name] = span{began, ended}, events
}

// run runs one of several workers until the context ends.
func (o *ordering) run(ctx context.Context, owner string) error {
	worker, err := o.sharing(owner)
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return worker.Release(context.WithoutCancel(ctx))
		case <-o.appended:
		}
		if err := worker.Drain(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func (o *ordering) sharing(owner string) (*fold.Worker, error) {
	name := o.table.Name()
	described, err := o.db.DescribeTable(o.ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return nil, err
	}
	var slept atomic.Int64
	return fold.NewWorker(o.table, streamsource.New(o.db, *described.Table.LatestStreamArn), []*fold.Fold{eventstore.FeedFold()}, fold.Options{
		Logger: slog.New(slog.DiscardHandler), Owner: owner,
		Clock: func() time.Time { return o.db.Now().Add(time.Duration(slept.Load())) },
		Sleep: func(ctx context.Context, d time.Duration) error {
			slept.Add(int64(d))
			return ctx.Err()
		},
	})
}

// follower reads the feed repeatedly, up to its end.
type follower struct {
	*ordering
	at     int64
	names  []string // of the appends, in feed order
	events int      // of the last append
}

// read reads what is new, and fails if an append is incomplete.
func (f *follower) read() {
	f.Helper()
	for e, err := range f.store.Feed(f.ctx, f.at) {
		f.must(err)
		if f.events == 0 {
			f.names = append(f.names, e.EventType)
		}
		if name := f.names[len(f.names)-1]; e.EventType != name || e.Position != f.at+1 {
			f.Fatalf("position %d has an event of append %s, in the midst of %s at %d", e.Position, e.EventType, name, f.at+1)
		}
		if f.events++; e.Last {
			f.at, f.events = e.Position, 0
		}
	}
	if f.events != 0 {
		f.Fatalf("the feed ends in the midst of append %s", f.names[len(f.names)-1])
	}
}

// check compares the order of the feed with that of the appends: an append that ended before
// another began must come before it.
func (f *follower) check() {
	f.Helper()
	latest, of, seen := int64(0), "", map[string]bool{}
	for at, name := range f.names {
		s, ok := f.appends[name]
		switch {
		case !ok || seen[name]:
			f.Fatalf("append %s at %d was not made, or is there twice", name, at+1)
		case s.ended < latest:
			f.Fatalf("append %s at %d had ended before %s began, which is before it", name, at+1, of)
		}
		if seen[name] = true; s.began > latest {
			latest, of = s.began, name
		}
	}
	if len(seen) != len(f.appends) {
		f.Fatalf("the feed has %d appends of %d", len(seen), len(f.appends))
	}
}

// TestFeedIsInTheOrderOfCauseAndEffect appends to one and to several aggregates from many writers,
// over streams of one to sixteen shards that roll, with several workers, while a follower reads.
func TestFeedIsInTheOrderOfCauseAndEffect(t *testing.T) {
	for _, o := range []engine.Options{{}, {StreamShards: 2}, {StreamShards: 8}, {StreamShards: 3, RollEvery: 50}, {StreamShards: 16, RollEvery: 100}} {
		for workers := 1; workers <= 3; workers += 2 {
			t.Run(fmt.Sprintf("%d shards, rolled after %d, %d workers", max(o.StreamShards, 1), o.RollEvery, workers), func(t *testing.T) {
				seeds.Run(t, 1, func(t *testing.T, seed uint64) { feedInOrder(t, o, workers, seed) })
			})
		}
	}
}

func feedInOrder(t *testing.T, options engine.Options, workers int, seed uint64) {
	o := newOrdering(t, options)
	ctx, stop := context.WithCancel(o.ctx)
	var writing, running sync.WaitGroup
	for n := range workers {
		running.Go(func() { o.noError(o.run(ctx, fmt.Sprint("worker-", n))) })
	}
	const writers, each = 4, 25
	for n := range writers {
		writing.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			for i := range each {
				o.do(fmt.Sprintf("W%d-%d", n, i), r)
			}
		})
	}
	f := &follower{ordering: o}
	written := make(chan bool)
	go func() {
		defer close(written)
		writing.Wait()
	}()
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		f.read()
	}
	stop()
	running.Wait()
	last, err := o.sharing("last")
	o.must(err)
	o.must(last.Drain(o.ctx))
	f.read()
	f.check()
}
