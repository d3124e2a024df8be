package scalebench

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/lambdasim"
	"github.com/onefold/onefold/cmd/onefold/internal/analyticsbench"
	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
)

// A thousand events a second, for so long that there are visits that begin, go on and end at any time: a visit takes two minutes at most.
const (
	perSecond  = 1000
	during     = 3 * time.Minute
	visitDelay = 2 * time.Minute
	goal       = 2.0 // write units an event
)

// units measures the write units of an event with all that is derived from it, of a server and of functions.
func (b *bench) units(ctx context.Context, dir string) (all []workbench.Result, err error) {
	visits := visitDelay
	for i, d := range []delays.Flags{{}, {FoldDelay: 30 * time.Second}, {FoldDelay: 5 * time.Second, VisitDelay: &visits}} {
		b.o.Progress(fmt.Sprintf("units: a server, fold delay %s, visits wait %s", d.FoldDelay, d.Visits()))
		units, err := analyticsbench.LiveUnits(ctx, b.o.Open, filepath.Join(dir, fmt.Sprint(i)), analyticsbench.Live{PerSecond: perSecond, During: during, Delays: d})
		if err != nil {
			return nil, err
		}
		all = append(all, unitsOf(fmt.Sprintf("a server, %d events a second, fold delay %s, visits wait %s", perSecond, d.FoldDelay, d.Visits()), units)...)
	}
	if b.o.Lambda == "" {
		b.o.Progress("units of functions: left out, for --lambda names no onefold-lambda")
		return all, nil
	}
	for _, window := range []time.Duration{20 * time.Second, time.Minute, 5 * time.Minute} {
		b.o.Progress(fmt.Sprintf("units: functions, batching window %s", window))
		cost, err := lambdasim.Measure(ctx, lambdasim.Load{Binary: b.o.Lambda, PerSecond: perSecond, For: during, Shards: shards, Window: window})
		if err != nil {
			return nil, err
		}
		if cost.PagesCounted != int64(cost.Events) {
			return nil, fmt.Errorf("functions counted %d of %d events", cost.PagesCounted, cost.Events)
		}
		all = append(all, unitsOf(fmt.Sprintf("functions, %d events a second, %d shards, batching window %s", perSecond, shards, window), cost.Entities)...)
	}
	return all, nil
}

func unitsOf(what string, units workbench.Units) []workbench.Result {
	return units.Results(workbench.Result{Name: "an event of " + what, Goal: goal, Most: true})
}
