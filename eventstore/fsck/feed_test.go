package fsck_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/fsck"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
)

// feed adds everything that was appended to the feed.
func (w *world) feed() {
	w.Helper()
	w.work(eventstore.FeedFold())
}

// work passes everything that was appended to folds.
func (w *world) work(folds ...*fold.Fold) {
	w.Helper()
	described, err := w.db.DescribeTable(w.ctx, &dynamodb.DescribeTableInput{TableName: aws.String("onefold")})
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
	w.must(worker.Drain(w.ctx))
}

// chunk changes the first chunk of the feed.
func (w *world) chunk(change func(*eventstore.FeedChunk)) {
	w.Helper()
	chunk, err := eventstore.FeedFrom.First(w.ctx, w.table, eventstore.FeedIn{After: 1, To: eventstore.EndOfStream})
	w.must(err)
	overwrite(w, eventstore.FeedChunks, chunk.FeedChunkKey, change)
}

func TestFeed(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(*world)
		found  string
	}{
		"nothing": {func(*world) {}, ""},
		"a chunk": {func(w *world) {
			chunk, err := eventstore.FeedFrom.First(w.ctx, w.table, eventstore.FeedIn{After: 1, To: eventstore.EndOfStream})
			w.must(err)
			w.must(eventstore.FeedChunks.Delete(w.ctx, w.table, chunk.FeedChunkKey))
			_, err = w.store.Append(w.ctx, orderID(0), eventstore.Any(), []eventstore.NewEvent{{Type: "E"}})
			w.must(err)
			w.feed()
		}, "feed-hole"},
		"an append twice": {func(w *world) {
			w.chunk(func(c *eventstore.FeedChunk) { c.Commits[3] = c.Commits[0] })
			w.db.Advance(25 * time.Hour)
		}, "feed-twice"},
		"an append that never was": {func(w *world) { w.chunk(func(c *eventstore.FeedChunk) { c.Commits[len(c.Commits)-1].Parts[0].N += 3 }) }, "feed-ahead"},
		"an aggregate that never was": {func(w *world) {
			w.chunk(func(c *eventstore.FeedChunk) { c.Commits[len(c.Commits)-1].Parts[0].ID = orderID(99) })
		}, "feed-ahead"},
		"an append that is too young": {func(w *world) {
			_, err := w.store.Append(w.ctx, orderID(0), eventstore.Any(), []eventstore.NewEvent{{Type: "E"}})
			w.must(err)
			w.db.Advance(time.Hour)
		}, ""},
		"an append that was missed": {func(w *world) {
			_, err := w.store.Append(w.ctx, orderID(0), eventstore.Any(), []eventstore.NewEvent{{Type: "E"}})
			w.must(err)
			w.db.Advance(25 * time.Hour)
		}, "feed-behind"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, eventstore.Options{}, asIs)
			w.feed()
			c.damage(w)
			if findings := w.check(fsck.Options{}); kinds(findings) != c.found {
				t.Errorf("found %q, want %q: %+v", kinds(findings), c.found, findings)
			}
		})
	}
}

// A repaired feed delivers the missing events late, and each once.
func TestRepairedFeed(t *testing.T) {
	w := newWorld(t, eventstore.Options{}, asIs)
	w.db.Advance(25 * time.Hour)
	for n := range 2 {
		_, err := w.store.Append(w.ctx, orderID(n), eventstore.Any(), []eventstore.NewEvent{{Type: "E"}})
		w.must(err)
	}
	w.feed()
	w.db.Advance(25 * time.Hour)
	if have := kinds(w.check(fsck.Options{})); have != "feed-behind" {
		t.Errorf("before: %s", have)
	}
	_, err := w.store.RepairFeed(w.ctx, func(context.Context) error { return nil }, "order")
	w.must(err)
	if have := w.check(fsck.Options{}); len(have) > 0 {
		t.Errorf("after: %+v", have)
	}
}
