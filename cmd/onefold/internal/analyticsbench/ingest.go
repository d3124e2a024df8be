package analyticsbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/internal/pause"
)

const (
	connections = 16
	batchEvents = 500
	liveSite    = "bench"
	probeSite   = "probe"
	foldFor     = 2 * time.Minute // how long folding may take after the last event
)

// sender is one connection and what it sends next.
type sender struct {
	*connection
	request func() []byte
	events  int // of a request
}

// single measures single events, and how soon they are seen.
func (b *bench) single(ctx context.Context, dir string) (results []Result, err error) {
	return b.ingest(ctx, dir, func(p *process, _ string) ([]Result, error) {
		senders, err := p.senders(connections, 1, func(v *visitor) func() []byte {
			var request, body []byte
			return func() []byte { request, body = v.single(request, body); return request }
		})
		if err != nil {
			return nil, err
		}
		pace, err := b.turns(ctx, p, senders)
		if err != nil {
			return nil, err
		}
		seen, err := b.untilSeen(ctx, p, senders, pace.rate/2)
		return append([]Result{
			{Name: "single events, 16 connections, durable and folded", Unit: "events/s", Value: pace.rate, Against: goatCounter, Reference: 5400, Goal: 12_000},
			{Name: "processor time of a single event", Unit: "µs", Value: pace.micros, Against: goatCounter, Reference: 123, Goal: 50, Most: true},
		}, seen...), err
	})
}

// batch measures batches of events that a server sends for its visitors.
func (b *bench) batch(ctx context.Context, dir string) ([]Result, error) {
	return b.ingest(ctx, dir, func(p *process, key string) ([]Result, error) {
		senders, err := p.senders(4, batchEvents, func(v *visitor) func() []byte {
			var request, body []byte
			return func() []byte { request, body = v.batch(request, body, batchEvents, key); return request }
		})
		if err != nil {
			return nil, err
		}
		pace, err := b.turns(ctx, p, senders)
		return []Result{
			{Name: "batches of 500, 4 connections, durable and folded", Unit: "events/s", Value: pace.rate, Against: goatCounter, Reference: 44_000, Goal: 60_000},
			{Name: "processor time of an event in a batch", Unit: "µs", Value: pace.micros, Against: goatCounter, Reference: 32, Goal: 25, Most: true},
		}, err
	})
}

// ingest runs a server on a fresh table for a measure.
func (b *bench) ingest(ctx context.Context, dir string, work func(p *process, key string) ([]Result, error)) ([]Result, error) {
	key, err := b.prepared(ctx, dir, liveSite, probeSite)
	if err != nil {
		return nil, err
	}
	p, err := b.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	results, err := work(p, key)
	return results, errors.Join(err, p.stop())
}

func (p *process) senders(n, events int, request func(*visitor) func() []byte) ([]sender, error) {
	all := make([]sender, n)
	for i := range all {
		c, err := dial(p.address)
		if err != nil {
			return nil, err
		}
		all[i] = sender{c, request(newVisitor(uint64(i), livePages)), events}
	}
	return all, nil
}

// pace is what turns have shown: medians of events a second until all were folded, and of the server's time of each.
type pace struct{ rate, micros float64 }

func (b *bench) turns(ctx context.Context, p *process, senders []sender) (pace, error) {
	var rates, micros []float64
	total := 0
	for round := range b.o.Rounds + 1 {
		before, err := p.cpuSeconds()
		if err != nil {
			return pace{}, err
		}
		began := time.Now()
		n, err := turn(ctx, senders, began.Add(b.o.Turn), 0)
		if err != nil {
			return pace{}, err
		}
		total += n
		if err := p.folded(ctx, total); err != nil {
			return pace{}, err
		}
		took := time.Since(began).Seconds()
		after, err := p.cpuSeconds()
		if err != nil {
			return pace{}, err
		}
		if round == 0 {
			continue // the first warms up
		}
		rates, micros = append(rates, float64(n)/took), append(micros, 1e6*(after-before)/float64(n))
	}
	return pace{median(rates), median(micros)}, nil
}

// turn lets all senders send until then, each a request every so often, or one after another.
func turn(ctx context.Context, senders []sender, until time.Time, every time.Duration) (events int, err error) {
	counts := make([]int, len(senders))
	group, ctx := errgroup.WithContext(ctx)
	for i := range senders {
		group.Go(func() error {
			s := &senders[i]
			due := time.Now().Add(time.Duration(i) * every / time.Duration(len(senders)))
			for ; time.Now().Before(until) && ctx.Err() == nil; due = due.Add(every) {
				if every > 0 {
					time.Sleep(time.Until(due))
				}
				body, err := s.ask(s.request(), http.StatusAccepted)
				if err != nil {
					return err
				}
				if stored := bytes.Count(body, []byte(`"stored"`)); stored != s.events {
					return fmt.Errorf("%d of %d events were stored: %.300s", stored, s.events, body)
				}
				counts[i] += s.events
			}
			return ctx.Err()
		})
	}
	err = group.Wait()
	for _, n := range counts {
		events += n
	}
	return events, err
}

// folded waits until statistics show so many page views.
func (p *process) folded(ctx context.Context, want int) error {
	const between = 20 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, foldFor)
	defer cancel()
	for {
		got, err := pageViews(http.DefaultClient, p.address, liveSite)
		if err != nil || got == want {
			return err
		}
		if got > want {
			return fmt.Errorf("%d page views were sent and %d counted", want, got)
		}
		if err := pause.For(ctx, between); err != nil {
			return fmt.Errorf("%d of %d page views were folded: %w", got, want, err)
		}
	}
}

func median(v []float64) float64 { return percentile(v, 50) }

// percentile is the nearest rank.
func percentile(v []float64, p int) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[max((len(v)*p+99)/100-1, 0)]
}
