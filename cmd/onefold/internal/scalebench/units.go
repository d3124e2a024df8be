package scalebench

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/onefold/onefold/cmd/internal/lambdasim"
	"github.com/onefold/onefold/cmd/onefold/internal/analyticsbench"
	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
)

// A thousand events a second.
const (
	perSecond = 1000
	during    = 20 * time.Second
	goal      = 2.0 // write units an event
)

// units measures the write units of an event with all that is derived from it, of a server and of functions.
func (b *bench) units(ctx context.Context, dir string) (all []workbench.Result, err error) {
	for _, delay := range []time.Duration{0, 30 * time.Second} {
		units, err := analyticsbench.LiveUnits(ctx, b.o.Open, filepath.Join(dir, delay.String()), analyticsbench.Live{PerSecond: perSecond, During: during, FoldDelay: delay})
		if err != nil {
			return nil, err
		}
		all = append(all, unitsOf(fmt.Sprintf("a server, %d events a second, fold delay %s", perSecond, delay), units))
	}
	if b.o.Lambda == "" {
		b.o.Progress("units of functions: left out, for --lambda names no onefold-lambda")
		return all, nil
	}
	for _, window := range []time.Duration{20 * time.Second, time.Minute} {
		cost, err := lambdasim.Measure(ctx, lambdasim.Load{Binary: b.o.Lambda, PerSecond: perSecond, For: during, Shards: 1, Window: window})
		if err != nil {
			return nil, err
		}
		if cost.PagesCounted != int64(cost.Events) {
			return nil, fmt.Errorf("functions counted %d of %d events", cost.PagesCounted, cost.Events)
		}
		all = append(all, unitsOf(fmt.Sprintf("functions, %d events a second, batching window %s", perSecond, window), cost.WriteUnits))
	}
	return all, nil
}

func unitsOf(what string, units float64) workbench.Result {
	return workbench.Result{Name: "an event of " + what, Unit: "write units", Value: units, Goal: goal, Most: true}
}
