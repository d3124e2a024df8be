package main

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/cost"
	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/analyticsbench"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/telemetrybench"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// readPrice is the price of a read unit in write units, on demand, in every Region.
const readPrice = 0.2

// The estimates of `onefold cost` for a fact match the engine's meters within a tenth: the write
// units alone, and with the read units of folds at their price; without flags of onefold serve, and
// with --fold-delay 30s.
func TestCostIsWhatIsMetered(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	g := new(globals)
	events := func(perSecond float64, during time.Duration) func(time.Duration) (workbench.Use, error) {
		return func(delay time.Duration) (workbench.Use, error) {
			live := analyticsbench.Live{PerSecond: perSecond, During: during, Delays: delays.Flags{FoldDelay: delay}}
			return analyticsbench.LiveUse(t.Context(), g.opener(t.Output()), filepath.Join(t.TempDir(), "table"), live)
		}
	}
	appends := func(perSecond int) func(time.Duration) (workbench.Use, error) {
		return func(delay time.Duration) (workbench.Use, error) { return appendUse(t, g, perSecond, 1, delay) }
	}
	readings := func(delay time.Duration) (workbench.Use, error) {
		steady := telemetrybench.Steady{Delays: delays.Flags{FoldDelay: delay}}
		return steady.Use(t.Context(), g.opener(t.Output()), filepath.Join(t.TempDir(), "table"))
	}
	for _, c := range []struct {
		name   string
		schema *table.Schema
		perDay float64
		meter  func(delay time.Duration) (workbench.Use, error)
	}{
		{"events, 6 a minute", analytics.Schema, 8_640, events(0.1, 30*time.Minute)},
		{"events, 1 a second", analytics.Schema, 86_400, events(1, 10*time.Minute)},
		{"events, 10 a second", analytics.Schema, 864_000, events(10, 4*time.Minute)},
		{"events, 50 a second", analytics.Schema, 50 * 86_400, events(50, 2*time.Minute)},
		{"readings", telemetry.Schema, 1_440_000, readings},
		{"appends, 1 a second", eventstore.Schema, 86_400, appends(1)},
		{"appends, 5 a second", eventstore.Schema, 5 * 86_400, appends(5)},
		{"appends, 20 a second", eventstore.Schema, 20 * 86_400, appends(20)},
	} {
		for _, delay := range []time.Duration{0, 30 * time.Second} {
			t.Run(fmt.Sprintf("%s, fold delay %s", c.name, delay), func(t *testing.T) {
				t.Parallel()
				use, err := c.meter(delay)
				if err != nil {
					t.Fatal(err)
				}
				sameUnits(t, c.schema, c.perDay, delay, use)
			})
		}
	}
}

// sameUnits compares the metered units of a fact with those of its schema, within a tenth.
func sameUnits(t *testing.T, schema *table.Schema, perDay float64, delay time.Duration, use workbench.Use) {
	t.Helper()
	writes, reads := unitsOfFact(t, schema, perDay, delay > 0)
	t.Logf("%.3f write and %.3f read units metered, %.3f and %.3f said; metered %.3v", use.Writes.Total(), use.Reads, writes, reads, use.Writes)
	for kind, units := range map[string][2]float64{
		"write units":            {writes, use.Writes.Total()},
		"units with their reads": {writes + readPrice*reads, use.Writes.Total() + readPrice*use.Reads},
	} {
		if off := units[0]/units[1] - 1; math.Abs(off) > 0.1 {
			t.Errorf("%.3f %s are said, %.3f metered: %+.0f %%", units[0], kind, units[1], 100*off)
		}
	}
}

// unitsOfFact returns the write units and read units of a fact according to its schema.
func unitsOfFact(t *testing.T, s *table.Schema, perDay float64, delayed bool) (writes, reads float64) {
	t.Helper()
	d, err := blueprint.New(t.Context(), s, blueprint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for events, sign := range map[float64]float64{perDay: 1, 0: -1} { // subtract the units that are used without facts
		w, err := cost.Declared(d, events, cost.Options{Months: 1, Delayed: delayed})
		if err != nil {
			t.Fatal(err)
		}
		for i := range w.Lines {
			writes, reads = writes+sign*w.Lines[i].WriteUnits, reads+sign*w.Lines[i].ReadUnits
		}
	}
	facts := perDay * 730 / 24
	return writes / facts, reads / facts
}
