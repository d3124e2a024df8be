package analyticsbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/internal/backoff"
)

const (
	connections = 16
	batchEvents = 500
	liveSite    = "bench"
	probeSite   = "probe"
	foldFor     = 2 * time.Minute // limit for folding after the last event
)

// sender is a connection and its next request.
type sender struct {
	*workbench.Connection
	request func() []byte
	events  int // events per request
}

// single measures single events, and the delay until statistics show them.
func (b *bench) single(ctx context.Context, dir string) (results []workbench.Result, err error) {
	return b.ingest(ctx, dir, func(p *workbench.Process, _ string) ([]workbench.Result, error) {
		senders, err := newSenders(p, connections, 1, func(v *visitor) func() []byte {
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
		seen, err := b.untilSeen(ctx, p, senders, pace.Rate/2)
		return append([]workbench.Result{
			{Name: "single events, 16 connections, durable and folded", Unit: "events/s", Value: pace.Rate, Against: goatCounter, Reference: 5400, Goal: 18_000},
			{Name: "CPU time of a single event", Unit: "µs", Value: pace.Micros, Against: goatCounter, Reference: 123, Goal: 45, Most: true},
		}, seen...), err
	})
}

// batch measures batches of events that a server sends on behalf of its visitors.
func (b *bench) batch(ctx context.Context, dir string) ([]workbench.Result, error) {
	pace, err := b.batches(ctx, dir, (*visitor).batch)
	return []workbench.Result{
		{Name: "batches of 500, 4 connections, durable and folded", Unit: "events/s", Value: pace.Rate, Against: goatCounter, Reference: 44_000, Goal: 90_000},
		{Name: "CPU time of an event in a batch", Unit: "µs", Value: pace.Micros, Against: goatCounter, Reference: 32, Goal: 18, Most: true},
	}, err
}

// lines measures the same batches with one event per line.
func (b *bench) lines(ctx context.Context, dir string) ([]workbench.Result, error) {
	pace, err := b.batches(ctx, dir, (*visitor).lines)
	return []workbench.Result{
		{Name: "batches of 500 lines, 4 connections, durable and folded", Unit: "events/s", Value: pace.Rate},
		{Name: "CPU time of an event in a batch of lines", Unit: "µs", Value: pace.Micros},
	}, err
}

// batches measures batches written by write.
func (b *bench) batches(ctx context.Context, dir string, write func(v *visitor, request, body []byte, n int, key string) (_, _ []byte)) (pace workbench.Pace, err error) {
	_, err = b.ingest(ctx, dir, func(p *workbench.Process, key string) ([]workbench.Result, error) {
		senders, err := newSenders(p, 4, batchEvents, func(v *visitor) func() []byte {
			var request, body []byte
			return func() []byte { request, body = write(v, request, body, batchEvents, key); return request }
		})
		if err == nil {
			pace, err = b.turns(ctx, p, senders)
		}
		return nil, err
	})
	return pace, err
}

// ingest runs a benchmark with a server on a new table.
func (b *bench) ingest(ctx context.Context, dir string, work func(p *workbench.Process, key string) ([]workbench.Result, error)) ([]workbench.Result, error) {
	key, err := b.prepared(ctx, dir, liveSite, probeSite)
	if err != nil {
		return nil, err
	}
	p, err := b.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	results, err := work(p, key)
	return results, errors.Join(err, p.Stop())
}

func newSenders(p *workbench.Process, n, events int, request func(*visitor) func() []byte) ([]sender, error) {
	all := make([]sender, n)
	for i := range all {
		c, err := workbench.Dial(p.Address)
		if err != nil {
			return nil, err
		}
		all[i] = sender{c, request(newVisitor(uint64(i), livePages)), events}
	}
	return all, nil
}

func (b *bench) turns(ctx context.Context, p *workbench.Process, senders []sender) (workbench.Pace, error) {
	total := 0
	return p.Turns(b.o.Rounds, func() (int, error) {
		n, err := turn(ctx, senders, time.Now().Add(b.o.Turn), 0)
		if err != nil {
			return n, err
		}
		total += n
		return n, folded(ctx, p, total)
	})
}

// turn runs all senders until the given time. Each sends a request at the interval every, or as
// fast as possible if it is 0.
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
				body, err := s.Ask(s.request(), http.StatusAccepted)
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

// folded waits until the statistics show so many page views.
func folded(ctx context.Context, p *workbench.Process, want int) error {
	const between = 20 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, foldFor)
	defer cancel()
	for {
		got, err := pageViews(http.DefaultClient, p.Address, liveSite)
		if err != nil || got == want {
			return err
		}
		if got > want {
			return fmt.Errorf("%d page views were sent and %d counted", want, got)
		}
		if err := backoff.For(ctx, between); err != nil {
			return fmt.Errorf("%d of %d page views were folded: %w", got, want, err)
		}
	}
}
