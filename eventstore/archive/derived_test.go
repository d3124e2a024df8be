package archive_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/archive"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
)

// Items derived from events stay the same after a truncation, whether they were derived before it
// or after it.
func TestDerivedOfTruncated(t *testing.T) {
	for name, drainFirst := range map[string]bool{"made before": true, "made afterwards": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			type counted struct{ N int }
			p, err := projection.Define(w.table, w.store, projection.Definition[counted]{
				Name: "counted", Version: 1, Of: []string{"order"}, Apply: func(m *counted, _ *eventstore.Event) error { m.N++; return nil },
			}, projection.Options{})
			w.must(err)
			w.must(p.Start(w.ctx))
			w.orders(2)
			w.snapshot(order(0))
			w.write(archive.WriteOptions{NoParquet: true})
			if drainFirst {
				w.drain(append(p.Folds(), eventstore.Folds()...))
			}
			_, err = archive.Truncate(w.ctx, w.store, w.archive, tally, order(0), 9)
			w.must(err)
			w.drain(append(p.Folds(), eventstore.Folds()...))
			m, err := p.Get(w.ctx, order(0))
			parked, parkedErr := p.Parked(w.ctx)
			types, typesErr := w.store.ListTypes(w.ctx)
			feed, feedErr := w.store.FeedHead(w.ctx)
			if err != nil || parkedErr != nil || typesErr != nil || feedErr != nil || m.State.N != 10 || len(parked) > 0 || len(types) != 1 || types[0].Events != 20 || feed.Position != 20 {
				t.Errorf("%+v %v, parked %v %v, %+v %v, %+v %v", m.State, err, parked, parkedErr, types, typesErr, feed, feedErr)
			}
			n := 0
			for _, err := range w.store.Feed(w.ctx, 0) {
				w.must(err)
				n++
			}
			if n != 20 {
				t.Errorf("the feed tells %d events", n)
			}
			w.db.Advance(25 * time.Hour)
			w.sound()
		})
	}
}

// drain runs folds to the end of the stream.
func (w *world) drain(folds []*fold.Fold) {
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
