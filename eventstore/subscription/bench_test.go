package subscription_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/fold"
)

// BenchmarkThroughput passes 100,000 events to a handler that does nothing, and reports events a
// second.
func BenchmarkThroughput(b *testing.B) {
	const events = 100_000
	w, end := newWorld(b, fold.Options{})
	defer end()
	payload := []byte(`{"customer":"c-1042","total":"71.25","currency":"EUR"}`)
	for n := 0; n < events; n += 50 {
		some := make([]eventstore.NewEvent, 50)
		for i := range some {
			some[i] = eventstore.NewEvent{Type: "Added", Payload: payload}
		}
		_, err := w.store.Append(b.Context(), order(n/1000), eventstore.Any(), some)
		w.must(err)
	}
	for _, partitions := range []int{1, 4} {
		b.Run(fmt.Sprint(partitions), func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				var handled atomic.Int64
				done := make(chan struct{})
				s, err := subscription.New(w.store, subscription.Definition{Name: fmt.Sprintf("s%d-%d-%d", partitions, b.N, n), Partitions: partitions,
					Handle: func(_ context.Context, all []eventstore.FeedEvent) (int, error) {
						if handled.Add(int64(len(all))) == events {
							close(done)
						}
						return len(all), nil
					}}, subscription.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
				w.must(err)
				stop := running(b.Context(), s)
				<-done
				w.must(stop())
			}
			b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkLatency reports how long after an append its event is handled, with the worker's default
// delay of writes and with one of 10 ms.
func BenchmarkLatency(b *testing.B) {
	for _, age := range []time.Duration{0, 10 * time.Millisecond} {
		b.Run(fmt.Sprint(age), func(b *testing.B) {
			w, end := newWorld(b, fold.Options{FlushAge: age, Poll: min(age, 5*time.Millisecond)})
			defer end()
			handled := make(chan struct{}, 1)
			s, err := subscription.New(w.store, subscription.Definition{Name: "s", Handle: subscription.Each(func(context.Context, *eventstore.FeedEvent) error {
				handled <- struct{}{}
				return nil
			})}, subscription.Options{Poll: 5 * time.Millisecond})
			w.must(err)
			stop := running(b.Context(), s)
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				w.append(order(1), "A")
				<-handled
				took = append(took, time.Since(began))
			}
			w.must(stop())
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
		})
	}
}
