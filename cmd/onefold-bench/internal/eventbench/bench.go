// Package eventbench measures the event store in this process, on the embedded engine: appends
// alongside a raw disk sync, loads, the feed, and write units. `onefold-bench eventstore` prints the
// results.
package eventbench

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/eventstore"
)

// Options configure a run.
type Options struct {
	workbench.Setup
	Rounds int           // timed runs per benchmark
	Turn   time.Duration // duration of a timed run
	Events int           // events in the feed

	CPUSeconds func() float64 // CPU time of this process so far
}

// ErrOptions is returned if an option is out of range.
var ErrOptions = errors.New("eventbench: rounds and turn must be above 0, events at least 1,000")

type bench struct{ o Options }

// Run runs the benchmarks, each on its own table, and calls report with the results.
func Run(ctx context.Context, o Options, report func(workbench.Result)) error {
	if o.Rounds < 1 || o.Turn <= 0 || o.Events < 1000 {
		return ErrOptions
	}
	b := &bench{o}
	return o.Take(ctx, []workbench.Measure{
		{Name: "append", Take: b.alone}, {Name: "writers", Take: b.writers}, {Name: "transact", Take: b.contended}, {Name: "load", Take: b.loads},
		{Name: "feed", Take: b.feed}, {Name: "units", Take: b.units},
	}, report)
}

// opened is an event store on its own table.
type opened struct {
	*workbench.Store
	events *eventstore.Store
}

// on runs work on a new table.
func (b *bench) on(ctx context.Context, dir string, eo eventstore.Options, work func(*opened) error) error {
	s, err := b.o.Open(ctx, dir, workbench.Time{})
	if err != nil {
		return err
	}
	events, err := eventstore.New(s.Table, eo)
	if err == nil {
		err = work(&opened{s, events})
	}
	return errors.Join(err, s.DB.Close())
}

// payloadBytes is the payload size of an event.
const payloadBytes = 320

// some returns n events of the usual size.
func some(n int) []eventstore.NewEvent {
	payload, err := json.Marshal(map[string]string{"note": strings.Repeat("x", payloadBytes-len(`{"note":""}`))})
	if err != nil {
		panic(err) // a string can always be encoded
	}
	events := make([]eventstore.NewEvent, n)
	for i := range events {
		events[i] = eventstore.NewEvent{Type: "Measured", Payload: payload}
	}
	return events
}

// pace runs n workers repeatedly for the duration of a run: a warm-up, then the timed runs. It
// returns medians.
func (b *bench) pace(ctx context.Context, n int, worker func(i int) func(context.Context) error) (workbench.Pace, error) {
	var rates, micros []float64
	do := make([]func(context.Context) error, n)
	for i := range do {
		do[i] = worker(i)
	}
	for round := range b.o.Rounds + 1 {
		rate, cpu, err := b.turn(ctx, do)
		if err != nil {
			return workbench.Pace{}, err
		}
		if round > 0 {
			rates, micros = append(rates, rate), append(micros, cpu)
		}
	}
	return workbench.Pace{Rate: workbench.Median(rates), Micros: workbench.Median(micros)}, nil
}

// turn runs each function repeatedly until the run is over. It returns the calls per second and the
// CPU time per call in microseconds. An error ends the run.
func (b *bench) turn(ctx context.Context, do []func(context.Context) error) (rate, micros float64, err error) {
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	before, began := b.o.CPUSeconds(), time.Now()
	for i := range do {
		group.Go(func() error {
			for time.Since(began) < b.o.Turn {
				if err := errors.Join(ctx.Err(), do[i](ctx)); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
	}
	err = group.Wait()
	n := float64(max(done.Load(), 1))
	return n / time.Since(began).Seconds(), 1e6 * (b.o.CPUSeconds() - before) / n, err
}

// results returns the rate of an operation and its CPU time.
func results(name string, p workbench.Pace, goal float64) []workbench.Result {
	return []workbench.Result{{Name: name, Unit: "/s", Value: p.Rate, Goal: goal}, {Name: name + ": CPU time", Unit: "µs", Value: p.Micros}}
}
