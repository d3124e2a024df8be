package telemetrybench

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"time"

	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/telemetry"
)

const (
	steadyDevices = 1000 // each sends once a minute
	wantedUnits   = 0.1
)

// Steady is the traffic of devices that send once a minute, evenly spread.
type Steady struct {
	Delays delays.Flags
	Linger time.Duration // how long a server holds a single reading so that others share its block; 0: the default of serve
	For    time.Duration // 0: 20 minutes
}

// steadies are the settings that are compared. Those with long delays need long traffic. The last
// has the maximum of each delay.
var steadies = []struct {
	settings string
	Steady
}{
	{"default settings", Steady{}},
	{"--fold-delay 1m", Steady{Delays: delays.Flags{FoldDelay: time.Minute}}},
	{"--fold-delay 5m", Steady{Delays: delays.Flags{FoldDelay: 5 * time.Minute}, For: time.Hour}},
	{"--fold-delay 5m --device-delay 20m", Steady{Delays: delays.Flags{FoldDelay: 5 * time.Minute, DeviceDelay: 20 * time.Minute}, For: 2 * time.Hour}},
	{"--fold-delay 5m --device-delay 20m --linger 10s", Steady{Delays: delays.Flags{FoldDelay: 5 * time.Minute, DeviceDelay: 20 * time.Minute}, Linger: 10 * time.Second, For: 2 * time.Hour}},
}

// units measures the write units of a reading with all derived items.
func (b *bench) units(ctx context.Context, dir string) (results []workbench.Result, err error) {
	for i, s := range steadies {
		b.o.Progress("units: " + s.settings)
		use, err := s.Use(ctx, b.o.Open, filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		results = append(results, workbench.Result{
			Name: fmt.Sprintf("a reading, %d devices once a minute, %s", steadyDevices, s.settings), Unit: "write units", Value: use.Writes.Total(), Goal: wantedUnits, Most: true,
		})
	}
	return results, nil
}

// Use returns the units per reading, including all derived items. The traffic drives the clock, so
// the result does not depend on the machine.
func (s Steady) Use(ctx context.Context, open workbench.Open, dir string) (workbench.Use, error) {
	linger := cmp.Or(s.Linger, 250*time.Millisecond)
	total := steadyDevices * int(cmp.Or(s.For, 20*time.Minute)/time.Minute)
	begin, random := time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC), rand.New(rand.NewPCG(3, 7))
	var collector *telemetry.Collector
	sent := 0
	traffic := workbench.Traffic{
		Open: open, Dir: dir, Delays: s.Delays, Begin: begin,
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
