// Package supervise runs the optional parts of a server: a part that fails is restarted after a
// delay, and the failure shows in health checks and metrics.
package supervise

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/server"
)

// Delays before a restart. They double while a part keeps failing, and start again after it has run
// for long.
const (
	firstPause = time.Second
	mostPause  = time.Minute
)

// Parts are the supervised parts. The zero value has none. Parts is a prometheus.Collector.
type Parts struct {
	Logger *slog.Logger                               // default: discards
	Sleep  func(context.Context, time.Duration) error // default: a timer
	Clock  func() time.Time                           // default: time.Now

	mu    sync.Mutex
	parts []*part
}

// part is a supervised part.
type part struct {
	name     string
	failures int64
	err      error // nil: running
	since    time.Time
}

// Keep returns a service that runs a part until its context ends, and never fails. If an error has
// a method Pause() time.Duration, that is the delay before the restart. Parts with expensive
// attempts use it to wait longer.
func (p *Parts) Keep(name string, run func(context.Context) error) func(context.Context) error {
	own := &part{name: name}
	p.mu.Lock()
	p.parts = append(p.parts, own)
	p.mu.Unlock()
	return func(ctx context.Context) error {
		wait := firstPause
		for {
			began := p.now()
			p.note(own, nil)
			err := run(ctx)
			if err == nil || ctx.Err() != nil {
				return nil
			}
			// A part that ran for long has recovered, so the delays start again.
			if p.now().Sub(began) > mostPause {
				wait = firstPause
			}
			p.note(own, err)
			now := wait
			var chosen interface{ Pause() time.Duration }
			if errors.As(err, &chosen) {
				now = chosen.Pause()
			}
			p.logger().Error("an optional part of the server failed and will be restarted", "part", name, "error", err, "pause", now)
			if p.sleep(ctx, now) != nil {
				return nil
			}
			wait = min(2*wait, mostPause)
		}
	}
}

// note records the state of a part.
func (p *Parts) note(of *part, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of.err = err; err == nil {
		return
	}
	of.failures++
	of.since = p.now()
}

// Failing returns the parts that have failed and were not restarted yet.
func (p *Parts) Failing() (all []server.Part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.parts {
		if of.err != nil {
			all = append(all, server.Part{Name: of.name, Since: of.since.UTC()})
		}
	}
	return all
}

var (
	up       = prometheus.NewDesc("onefold_part_up", "1 while an optional part of the server runs, 0 while it has failed and waits for its restart.", []string{"part"}, nil)
	failures = prometheus.NewDesc("onefold_part_failures_total", "Number of failures of an optional part of the server.", []string{"part"}, nil)
)

// Describe implements prometheus.Collector.
func (p *Parts) Describe(out chan<- *prometheus.Desc) {
	out <- up
	out <- failures
}

// Collect implements prometheus.Collector. Parts with the same name are added up.
func (p *Parts) Collect(out chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	runs, failed := map[string]float64{}, map[string]float64{}
	for _, of := range p.parts {
		if !slices.Contains(names, of.name) {
			names = append(names, of.name)
			runs[of.name] = 1
		}
		if of.err != nil {
			runs[of.name] = 0
		}
		failed[of.name] += float64(of.failures)
	}
	for _, name := range names {
		out <- prometheus.MustNewConstMetric(up, prometheus.GaugeValue, runs[name], name)
		out <- prometheus.MustNewConstMetric(failures, prometheus.CounterValue, failed[name], name)
	}
}

func (p *Parts) now() time.Time {
	if p.Clock == nil {
		return time.Now()
	}
	return p.Clock()
}

func (p *Parts) logger() *slog.Logger {
	if p.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return p.Logger
}

func (p *Parts) sleep(ctx context.Context, d time.Duration) error {
	if p.Sleep == nil {
		return backoff.For(ctx, d)
	}
	return p.Sleep(ctx, d)
}
