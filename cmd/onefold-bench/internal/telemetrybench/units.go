package telemetrybench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/telemetry"
)

const (
	steadyDevices = 1000             // each sends once a minute
	steadyFor     = 20 * time.Minute // duration of the traffic

	wantedUnits = 1.25

	linger = 250 * time.Millisecond // how long a server holds a single reading so that others share its block
)

// units measures the write units of a reading with all derived items, for several fold delays.
func (b *bench) units(ctx context.Context, dir string) (results []workbench.Result, err error) {
	for _, delay := range []time.Duration{0, time.Minute, 5 * time.Minute} { // the largest is the maximum of serve
		b.o.Progress(fmt.Sprintf("units: fold delay %s", delay))
		use, err := SteadyUse(ctx, b.o.Open, filepath.Join(dir, delay.String()), delay)
		if err != nil {
			return nil, err
		}
		results = append(results, workbench.Result{
			Name: fmt.Sprintf("a reading, %d devices once a minute, fold delay %s", steadyDevices, delay), Unit: "write units", Value: use.Writes.Total(), Goal: wantedUnits, Most: true,
		})
	}
	return results, nil
}

// SteadyUse returns the units per reading, including all derived items, for devices whose sending
// times are evenly spread over the minute. The traffic drives the clock, so the result does not
// depend on the machine.
func SteadyUse(ctx context.Context, open workbench.Open, dir string, delay time.Duration) (workbench.Use, error) {
	const total = steadyDevices * int(steadyFor/time.Minute)
	begin, random := time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC), rand.New(rand.NewPCG(3, 7))
	var collector *telemetry.Collector
	sent := 0
	traffic := workbench.Traffic{
		Open: open, Dir: dir, Delays: delays.Flags{FoldDelay: delay}, Begin: begin,
		Prepare: func(ctx context.Context, s *workbench.Store) error {
			collector = telemetry.NewCollector(s.Table, telemetry.CollectorOptions{})
			if err := addDevices(ctx, s, steadyDevices); err != nil {
				return err
			}
			return s.Worker.Drain(ctx)
		},
		Send: func(ctx context.Context, now time.Time) (more bool, err error) {
			var due []telemetry.Incoming
			for ; sent < total; sent++ {
				at := begin.Add(time.Duration(sent) * time.Minute / steadyDevices)
				if at.Add(linger).After(now.Truncate(linger)) { // readings that arrive while a server lingers are stored together
					break
				}
				in, err := incoming(random, sent%steadyDevices, at)
				if err != nil {
					return false, err
				}
				due = append(due, in)
			}
			return sent < total, ingest(ctx, collector, due)
		},
	}
	use, err := traffic.Use(ctx)
	return use.Per(float64(total)), err
}
