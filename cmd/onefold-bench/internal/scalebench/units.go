package scalebench

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/lambdasim"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/analyticsbench"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
)

// A thousand events per second, long enough that visits start, continue and end at any time. A
// visit takes at most two minutes.
const (
	perSecond  = 1000
	during     = 3 * time.Minute
	visitDelay = 2 * time.Minute
	goal       = 0.15 // write units per event

	// For functions that work in shifts, which run in real time. Shifts are shorter than at AWS.
	liveDuring = 2 * time.Minute
	shift      = 5 * time.Minute
)

// serverUnits measures the write units of an event with all derived items, with a server.
func (b *bench) serverUnits(ctx context.Context, dir string) (all []workbench.Result, err error) {
	visits := visitDelay
	for i, d := range []delays.Flags{{}, {FoldDelay: 30 * time.Second}, {FoldDelay: 5 * time.Second, VisitDelay: &visits}} {
		b.o.Progress(fmt.Sprintf("units: a server, fold delay %s, visit delay %s", d.FoldDelay, d.Holds().Visits))
		use, err := analyticsbench.LiveUse(ctx, b.o.Open, filepath.Join(dir, fmt.Sprint(i)), analyticsbench.Live{PerSecond: perSecond, During: during, Delays: d})
		if err != nil {
			return all, err
		}
		all = append(all, unitsOf(fmt.Sprintf("a server, %d events per second, fold delay %s, visit delay %s", perSecond, d.FoldDelay, d.Holds().Visits), use.Writes)...)
	}
	return all, nil
}

// functionUnits measures the same with functions that receive batches.
func (b *bench) functionUnits(ctx context.Context, _ string) (all []workbench.Result, err error) {
	for _, window := range []time.Duration{20 * time.Second, time.Minute, 5 * time.Minute} {
		units, err := b.functions(ctx, fmt.Sprintf("batching window %s", window), lambdasim.Load{For: during, Window: window})
		if err != nil {
			return all, err
		}
		all = append(all, units...)
	}
	return all, nil
}

// shiftUnits measures the same with functions that work in shifts.
func (b *bench) shiftUnits(ctx context.Context, _ string) ([]workbench.Result, error) {
	visits := visitDelay
	return b.functions(ctx, "consecutive shifts", lambdasim.Load{
		For: liveDuring, Shift: shift, Delays: delays.Flags{FoldDelay: 5 * time.Second, VisitDelay: &visits},
	})
}

// functions measures the writes of functions.
func (b *bench) functions(ctx context.Context, how string, l lambdasim.Load) ([]workbench.Result, error) {
	if b.o.Lambda == "" {
		b.o.Progress("units of functions: skipped, because --lambda is not set")
		return nil, nil
	}
	b.o.Progress("units: functions, " + how)
	l.Binary, l.PerSecond, l.Shards = b.o.Lambda, perSecond, shards
	cost, err := lambdasim.Measure(ctx, l)
	if err != nil {
		return nil, err
	}
	if cost.PagesCounted != int64(cost.Events) {
		return nil, fmt.Errorf("functions counted %d of %d events", cost.PagesCounted, cost.Events)
	}
	return unitsOf(fmt.Sprintf("functions, %d events per second, %d shards, %s", perSecond, shards, how), cost.Entities), nil
}

func unitsOf(what string, units workbench.Units) []workbench.Result {
	return units.Results(workbench.Result{Name: "an event of " + what, Goal: goal, Most: true})
}
