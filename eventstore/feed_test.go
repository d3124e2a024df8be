package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
)

// worker runs folds on the world's stream, continuing where the last worker of the group was. When
// it would sleep, it moves its clock forward instead.
func (w *world) worker(folds ...*fold.Fold) *fold.Worker {
	w.Helper()
	name := w.table.Name()
	described, err := w.db.DescribeTable(w.ctx, &dynamodb.DescribeTableInput{TableName: &name})
	w.must(err)
	var slept atomic.Int64
	worker, err := fold.NewWorker(w.table, streamsource.New(w.db, *described.Table.LatestStreamArn), folds, fold.Options{
		Logger: slog.New(slog.DiscardHandler),
		Clock:  func() time.Time { return w.db.Now().Add(time.Duration(slept.Load())) },
		Sleep: func(ctx context.Context, d time.Duration) error {
			slept.Add(int64(d))
			return ctx.Err()
		},
	})
	w.must(err)
	return worker
}

// fed returns the feed after a position as text: "1 a 1 Placed, 1* a 2 Paid"; * marks the last event
// of each append.
func (w *world) fed(after int64, options ...eventstore.FeedOption) string {
	w.Helper()
	var all []string
	for e, err := range w.store.Feed(w.ctx, after, options...) {
		w.must(err)
		last := ""
		if e.Last {
			last = "*"
		}
		all = append(all, fmt.Sprintf("%d%s %s %d %s", e.Position, last, e.ID.ID, e.Seq, e.EventType))
	}
	return strings.Join(all, ", ")
}

func (w *world) isFed(after int64, want string, options ...eventstore.FeedOption) {
	w.Helper()
	if have := w.fed(after, options...); have != want {
		w.Errorf("feed after %d is\n%s, want\n%s", after, have, want)
	}
}

func (w *world) drain(worker *fold.Worker) {
	w.Helper()
	w.must(worker.Drain(w.ctx))
}

func TestFeedHasAllAppendsInOneOrder(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	worker := w.worker(eventstore.FeedFold())
	w.isFed(0, "")
	w.append(order("a"), eventstore.NoStream(), "Placed", "Paid")
	w.append(order("b"), eventstore.NoStream(), "Placed")
	w.append(eventstore.ID{Type: "cart", ID: "c"}, eventstore.NoStream(), "Filled")
	w.drain(worker)
	w.append(order("a"), eventstore.Exact(2), "Sent")
	w.must(w.store.Close(w.ctx, order("a"))) // not an append
	w.drain(worker)
	w.isFed(0, "1 a 1 Placed, 1* a 2 Paid, 2* b 1 Placed, 3* c 1 Filled, 4* a 3 Sent")
	w.isFed(1, "2* b 1 Placed, 3* c 1 Filled, 4* a 3 Sent")
	w.isFed(4, "")
	w.isFed(99, "")
	w.isFed(-1, "1* a 1 Placed, 2* b 1 Placed", eventstore.OfType("Placed"))
	w.isFed(0, "3* c 1 Filled", eventstore.OfAggregateType("cart"))
	w.isFed(0, "1* a 2 Paid, 4* a 3 Sent", eventstore.OfType("Paid", "Sent", "Filled"), eventstore.OfAggregateType("order"))
	h, err := w.store.FeedHead(w.ctx)
	w.must(err)
	if h.Position != 4 {
		t.Errorf("the feed head is at %d, want 4", h.Position)
	}
	p, err := w.store.FeedPage(w.ctx, 0, 3, eventstore.OfType("Sent"))
	w.must(err)
	if len(p.Events) != 0 || p.Through != 3 || p.Tip {
		t.Errorf("a page of nothing is %+v, want through 3", p)
	}
	if p, err = w.store.FeedPage(w.ctx, p.Through, 3); err != nil || len(p.Events) != 1 || p.Through != 4 || !p.Tip {
		t.Errorf("the last page is %+v (%v)", p, err)
	}
}

func TestFeedNeedsTransactions(t *testing.T) {
	w := newWorld(t, eventstore.Options{PutMode: true})
	for _, err := range w.store.Feed(w.ctx, 0) {
		if !errors.Is(err, eventstore.ErrInvalid) {
			t.Errorf("feed: %v, want ErrInvalid", err)
		}
	}
	if _, err := w.store.RepairFeed(w.ctx, func(context.Context) error { return nil }); !errors.Is(err, eventstore.ErrInvalid) {
		t.Errorf("repair: %v, want ErrInvalid", err)
	}
}

// TestFeedReportsMissingEvent deletes an event without the store's knowledge.
func TestFeedReportsMissingEvent(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.append(order("a"), eventstore.NoStream(), "Placed", "Paid")
	w.drain(w.worker(eventstore.FeedFold()))
	eventstoretest.Remove(w, w.table, order("a"), 1)
	var last error
	for _, err := range w.store.Feed(w.ctx, 0) {
		last = err
	}
	if !errors.Is(last, eventstore.ErrHole) {
		t.Errorf("feed: %v, want ErrHole", last)
	}
}

// TestFeedAfterAMissedStream stops the worker in the middle of an aggregate, for longer than the
// stream keeps records.
func TestFeedAfterAMissedStream(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.append(order("a"), eventstore.NoStream(), "A1")
	w.drain(w.worker(eventstore.FeedFold()))
	w.append(order("a"), eventstore.Exact(1), "A2", "A3")
	w.append(order("a"), eventstore.Exact(3), "A4")
	w.append(eventstore.ID{Type: "cart", ID: "c"}, eventstore.NoStream(), "C1")
	w.db.Advance(30 * time.Hour)
	w.append(order("a"), eventstore.Exact(4), "A5")
	w.append(order("b"), eventstore.NoStream(), "B1")
	worker := w.worker(eventstore.FeedFold())
	w.drain(worker)
	w.isFed(1, "2* a 5 A5, 3* b 1 B1")
	w.append(order("b"), eventstore.Exact(1), "B2") // in the stream, so not part of the repair
	r, err := w.store.RepairFeed(w.ctx, worker.Drain, "order", "cart", "none")
	w.must(err)
	if r.Aggregates != 2 || r.Commits != 3 || r.Position != 7 {
		t.Errorf("repaired %+v, want 3 appends of 2 aggregates", r)
	}
	w.isFed(3, "4* b 2 B2, 5 a 2 A2, 5* a 3 A3, 6* a 4 A4, 7* c 1 C1")
	if r, err = w.store.RepairFeed(w.ctx, worker.Drain, "order"); err != nil || r.Commits != 0 {
		t.Errorf("repaired again: %+v (%v)", r, err)
	}
}

// TestRepairsAreExclusive starts a second repair while the first one waits.
func TestRepairsAreExclusive(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.append(order("a"), eventstore.NoStream(), "A1")
	w.db.Advance(30 * time.Hour) // the feed is younger than the store
	worker := w.worker(eventstore.FeedFold())
	_, err := w.store.RepairFeed(w.ctx, func(ctx context.Context) error {
		_, err := w.store.RepairFeed(ctx, worker.Drain, "order")
		return err
	}, "order")
	w.must(err) // it found nothing to do
	w.isFed(0, "1* a 1 A1")
}

// TestFeedIsReadWhileItGrows reads continuously while others append and a worker writes the feed:
// nothing is missed, and nothing is read twice.
func TestFeedIsReadWhileItGrows(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	worker := w.worker(eventstore.FeedFold())
	const writers, each = 4, 40
	ctx, stop := context.WithCancel(w.ctx)
	var appending, running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			if err := worker.Drain(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range writers {
		appending.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for range each {
				id := order(fmt.Sprint(r.IntN(7)))
				if _, err := w.store.Append(w.ctx, id, eventstore.Any(), said("X", "Y")[:1+r.IntN(2)]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	version, at, seen := map[eventstore.ID]int64{}, int64(0), 0
	read := func() {
		for e, err := range w.store.Feed(w.ctx, at) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Seq != version[e.ID]+1 {
				t.Fatalf("event %d of %s at %d follows %d", e.Seq, e.ID, e.Position, version[e.ID])
			}
			version[e.ID]++
			if e.Last {
				seen++
				if at++; at != e.Position {
					t.Fatalf("position %d where %d should be", e.Position, at)
				}
			}
		}
	}
	for seen < writers*each && !t.Failed() {
		read()
	}
	appending.Wait()
	stop()
	running.Wait()
	w.drain(w.worker(eventstore.FeedFold()))
	if read(); seen != writers*each {
		t.Errorf("%d appends were told of %d", seen, writers*each)
	}
}
