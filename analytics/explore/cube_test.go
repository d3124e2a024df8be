package explore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// gate counts queries and can make them wait.
type gate struct {
	dynamo.API
	queries atomic.Int64
	asked   chan struct{} // receives a value for each query, unless nil
	open    chan struct{} // queries wait until it is closed
}

func (g *gate) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	g.queries.Add(1)
	select {
	case g.asked <- struct{}{}:
	default:
	}
	select {
	case <-g.open:
		return g.API.Query(ctx, in, o...)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Many breakdowns with the same filters, asked at once, read the events once and give the same
// answers as when each is asked alone.
func TestConcurrentQueriesShareOneRead(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-08T00:00"), utc("2026-05-10T11:00"), 300)...)
	g := &gate{API: w.db, asked: make(chan struct{}, 1), open: make(chan struct{})}
	x := New(table.New(g, "shop", table.Options{Clock: w.now}), Options{})
	filters := []Filter{{Dimension: analytics.ByBrowser, Op: Is, Values: []string{"Firefox"}}, {Dimension: analytics.ByPage, Op: IsNot, Values: []string{"/a"}}}
	swapped := []Filter{filters[1], filters[0]}
	ask := report.Request{Site: "shop", From: "2026-05-08", To: "2026-05-10"}
	got := make([]Report, len(analytics.Dimensions))
	var all sync.WaitGroup
	for i, by := range analytics.Dimensions {
		all.Go(func() {
			in, f := ask, filters
			if in.By = by; i%2 == 0 {
				in.Period, f = analytics.Hour, swapped
			}
			var err error
			if got[i], err = x.Report(w.ctx, in, f); err != nil {
				t.Error(err)
			}
		})
	}
	<-g.asked
	close(g.open)
	all.Wait()
	if most := int64(3 * 4); g.queries.Load() > most { // days times shards
		t.Errorf("%d queries, want at most %d", g.queries.Load(), most)
	}
	for i, by := range analytics.Dimensions {
		in := ask
		in.By = by
		want, err := w.x.Report(w.ctx, in, filters)
		w.must(err)
		if fmt.Sprintf("%+v", got[i].Totals.Figures) != fmt.Sprintf("%+v", want.Totals.Figures) || rowsText(by, got[i].Top) != rowsText(by, want.Top) {
			t.Errorf("by %s: %+v, alone %+v", by, got[i], want)
		}
	}
	before := g.queries.Load()
	w.advance(cubeLife)
	_, err := x.Report(w.ctx, ask, filters)
	w.must(err)
	if g.queries.Load() == before {
		t.Error("what was counted is never counted again")
	}
}

// A question that waits for another's answer computes its own if the other one gives up.
func TestLeadingQueryIsCanceled(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-10T00:00"), utc("2026-05-10T11:00"), 50)...)
	g := &gate{API: w.db, asked: make(chan struct{}, 1), open: make(chan struct{})}
	x := New(table.New(g, "shop", table.Options{Clock: w.now}), Options{AtOnce: 1})
	ask := report.Request{Site: "shop", From: "2026-05-10", To: "2026-05-10"}
	ctx, cancel := context.WithCancel(w.ctx)
	var first, second error
	var both sync.WaitGroup
	both.Go(func() { _, first = x.Report(ctx, ask, nil) })
	select {
	case <-g.asked:
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing was asked")
	}
	both.Go(func() { _, second = x.Report(w.ctx, ask, nil) })
	cancel()
	close(g.open)
	both.Wait()
	if first != nil && !errors.Is(first, context.Canceled) || second != nil {
		t.Errorf("errors %v and %v", first, second)
	}
	if len(x.flights) != 0 || len(x.cubes) != 1 {
		t.Errorf("%d are being made, %d are kept", len(x.flights), len(x.cubes))
	}
}

// The number of kept cubes is limited.
func TestCubesAreBounded(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	for i := range 3 * maxCubes {
		_, err := w.x.Report(w.ctx, report.Request{Site: "shop", From: "2026-05-10", To: "2026-05-10"}, []Filter{{Dimension: analytics.ByCity, Op: Is, Values: []string{fmt.Sprint(i)}}})
		w.must(err)
	}
	if len(w.x.cubes) != maxCubes {
		t.Errorf("%d are kept, want %d", len(w.x.cubes), maxCubes)
	}
	big := &cube{made: w.now(), sums: sums{values: map[analytics.Dimension]*valueCounter{analytics.ByPage: {values: map[string]*valueCount{}}}}}
	for i := range maxCubeEntries + 1 {
		big.values[analytics.ByPage].values[fmt.Sprint(i)] = nil
	}
	w.advance(cubeLife)
	w.x.keep("big", big)
	if len(w.x.cubes) != 0 {
		t.Errorf("%d are kept", len(w.x.cubes))
	}
}

// While a question is being answered, its progress can be read.
func TestProgress(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	g := &gate{API: w.db, asked: make(chan struct{}, 1), open: make(chan struct{})}
	x := New(table.New(g, "shop", table.Options{Clock: w.now}), Options{})
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := x.Report(w.ctx, report.Request{Site: "shop", From: "2026-05-08", To: "2026-05-10"}, firefox); err != nil {
			t.Error(err)
		}
	})
	<-g.asked
	if done, of := x.Progress("shop"); done != 0 || of != 3 {
		t.Errorf("%d of %d days before the first was read", done, of)
	}
	if done, of := x.Progress("other"); done != 0 || of != 0 {
		t.Errorf("%d of %d days of another site", done, of)
	}
	close(g.open)
	all.Wait()
	if done, of := x.Progress("shop"); done != 0 || of != 0 || len(x.asked) != 0 {
		t.Errorf("%d of %d days when nobody asks", done, of)
	}
}
