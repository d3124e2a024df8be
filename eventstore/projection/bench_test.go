package projection_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
)

// benchEvents is the number of events of each aggregate.
const benchEvents = 20

// fill appends n events of 320 bytes each, benchEvents per aggregate.
func (w *world) fill(b *testing.B, n int) {
	b.Helper()
	payload := []byte(fmt.Sprintf(`{"customer":"c-1042","total":1999,"note":"%0250d"}`, 7))
	for i := 0; i < n; i += benchEvents {
		events := make([]eventstore.NewEvent, min(benchEvents, n-i))
		for j := range events {
			events[j] = eventstore.NewEvent{Type: "Paid", Payload: payload}
		}
		if _, err := w.store.Append(w.ctx, order(i), eventstore.NoStream(), events); err != nil {
			b.Fatal(err)
		}
	}
}

func counts(m *orderState, e *eventstore.Event) error {
	m.City = e.EventType
	return nil
}

// measure starts a measurement. It reports events per second, and processor time per event, which
// varies less when other programs run.
func measure(b *testing.B) (told func()) {
	begin := processorTime(b)
	b.ReportAllocs()
	b.ResetTimer()
	return func() {
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		b.ReportMetric(float64(processorTime(b)-begin)/float64(b.N)/1000, "cpu-µs/event")
	}
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLive keeps read models up to date from the change stream of an in-memory engine. One
// operation is one event.
func BenchmarkLive(b *testing.B) {
	w := newWorld(b)
	p := w.define(1, counts)
	w.must(p.Start(w.ctx))
	w.fill(b, b.N)
	worker := w.worker(p.Folds()...)
	told := measure(b)
	w.must(worker.Drain(w.ctx))
	told()
}

// BenchmarkRebuild rebuilds read models from the events in an in-memory engine, including the
// comparison. One operation is one event.
func BenchmarkRebuild(b *testing.B) {
	w := newWorld(b)
	w.fill(b, b.N)
	p := w.define(1, counts)
	told := measure(b)
	_, err := p.Rebuild(w.ctx, projection.RebuildOptions{})
	w.must(err)
	told()
}

// BenchmarkFeed reads the feed of an in-memory engine. One operation is one event.
func BenchmarkFeed(b *testing.B) {
	w := newWorld(b)
	w.fill(b, b.N)
	w.feed()
	told := measure(b)
	n := 0
	for _, err := range w.store.Feed(w.ctx, 0) {
		w.must(err)
		n++
	}
	if n != b.N {
		b.Fatalf("%d events of %d", n, b.N)
	}
	told()
}
