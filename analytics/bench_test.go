package analytics

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// benchWorld is a site on an in-memory engine.
type benchWorld struct {
	db        *engine.DB
	table     *table.Table
	collector *Collector
	state     *siteState
}

func newBenchWorld(b *testing.B) *benchWorld {
	db, err := engine.OpenMemory(engine.Options{NoSync: true, TTLInterval: -1})
	noError(b, err)
	b.Cleanup(func() { noError(b, db.Close()) })
	noError(b, Schema.Ensure(b.Context(), db, "bench"))
	t := table.New(db, "bench", table.Options{})
	_, err = CreateSite(b.Context(), t, NewSite{ID: "site", TimeZone: "Europe/Berlin", Domains: []string{"example.com"}})
	noError(b, err)
	c := NewCollector(t, CollectorOptions{})
	state, err := c.sites.get(b.Context(), "site")
	noError(b, err)
	return &benchWorld{db, t, c, state}
}

func noError(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// benchHits returns hits of the last hour. Each visitor makes eight.
func benchHits(n int) []Hit {
	r := rand.New(rand.NewPCG(1, 2))
	hits := make([]Hit, n)
	start := time.Now().Add(-time.Hour)
	for i := range hits {
		hits[i] = Hit{
			At: start.Add(time.Hour * time.Duration(i) / time.Duration(n)), URL: fmt.Sprintf("https://example.com/articles/%d", r.IntN(300)),
			Referrer: []string{"", "https://www.google.com/", "https://example.com/"}[r.IntN(3)],
			Address:  fmt.Sprint("192.0.2.", r.IntN(1+n/8)), UserAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
			Client: Client{Country: "DE", Region: "BE", City: "Berlin", Browser: "Firefox", OS: "Linux", Device: "desktop", Screen: "lg", Language: "de"},
		}
	}
	return hits
}

// events makes events from hits without storing them.
func (w *benchWorld) events(b *testing.B, hits []Hit) []*Event {
	events := make([]*Event, len(hits))
	for i := range hits {
		events[i] = w.event(b, &hits[i])
	}
	return events
}

func (w *benchWorld) event(b *testing.B, h *Hit) *Event {
	e, at, rejected := w.state.eventOf(h, time.Now())
	if rejected != nil {
		b.Fatal(rejected)
	}
	noError(b, w.state.addVisitor(context.Background(), w.table, h, &e, at))
	return &e
}

func BenchmarkHitToEvent(b *testing.B) {
	w, hits := newBenchWorld(b), benchHits(1000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		w.event(b, &hits[i%len(hits)])
	}
}

// BenchmarkEvents packs and reads blocks. Its times are per event.
func BenchmarkEvents(b *testing.B) {
	w := newBenchWorld(b)
	for _, n := range []int{1, 10, 100, 500} {
		hits := benchHits(n)
		events := make([]Event, n)
		for i, e := range w.events(b, hits) {
			events[i] = *e
		}
		var blocks []Block
		b.Run(fmt.Sprint("pack/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var err error
				blocks, err = Pack(events, time.Now())
				noError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
			bytes := 0
			for i := range blocks {
				bytes += len(blocks[i].Body)
			}
			b.ReportMetric(float64(bytes)/float64(n), "B/event")
		})
		b.Run(fmt.Sprint("read/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range blocks {
					_, err := blocks[i].Events()
					noError(b, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
		})
	}
}

func BenchmarkVisitorItem(b *testing.B) {
	w := newBenchWorld(b)
	v := &Visitor{}
	for _, e := range w.events(b, benchHits(8)) {
		noError(b, addToVisitor(e, func(k VisitorKey) *Visitor { v.VisitorKey = k; return v }))
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			appendVisitor(nil, v)
		}
	})
	encoded := appendVisitor(nil, v)
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			noError(b, readVisitor(encoded, &Visitor{VisitorKey: v.VisitorKey}))
		}
	})
}

// BenchmarkApply applies events to deltas, as happens between two flushes, without reading or
// writing anything.
func BenchmarkApply(b *testing.B) {
	w := newBenchWorld(b)
	const batch = 10_000
	events := w.events(b, benchHits(batch))
	b.Run("event", func(b *testing.B) {
		b.ReportAllocs()
		var d *Derived
		for i := 0; b.Loop(); i++ {
			if i%batch == 0 {
				d = NewDerived()
			}
			d.Add(events[i%batch])
		}
	})
	d := NewDerived()
	for _, e := range events {
		d.Add(e)
	}
	var visitors []*Visitor
	for _, v := range d.Visitors {
		visitors = append(visitors, v)
	}
	b.Run("visitor", func(b *testing.B) {
		b.ReportAllocs()
		var d *Derived
		for i := 0; b.Loop(); i++ {
			if i%len(visitors) == 0 {
				d = NewDerived()
			}
			v := visitors[i%len(visitors)]
			addToSessions(nil, v, d.session)
			addVisitorToStats(nil, v, &d.names, d.hour)
			addVisitorToBreakdowns(nil, v, &d.names, d.breakdown)
		}
	})
}

// BenchmarkIngest stores events in an in-memory engine, in batches of 500.
func BenchmarkIngest(b *testing.B) {
	w, hits := newBenchWorld(b), benchHits(500)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		_, err := w.collector.Ingest(b.Context(), "site", hits)
		noError(b, err)
	}
	b.ReportMetric(float64(b.N*len(hits))/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkFold stores 20,000 events and runs the folds until all of them are folded.
func BenchmarkFold(b *testing.B) {
	const n = 20_000
	for b.Loop() {
		b.StopTimer()
		w := newBenchWorld(b)
		_, err := w.collector.Ingest(b.Context(), "site", benchHits(n))
		noError(b, err)
		name := "bench"
		d, err := w.db.DescribeTable(b.Context(), &dynamodb.DescribeTableInput{TableName: &name})
		noError(b, err)
		worker, err := fold.NewWorker(w.table, streamsource.New(w.db, *d.Table.LatestStreamArn), Folds(Config{}), fold.Options{Group: FoldGroup})
		noError(b, err)
		b.StartTimer()
		noError(b, worker.Drain(b.Context()))
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "events/s")
}
