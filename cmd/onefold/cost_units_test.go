package main

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/cost"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/onefold/internal/analyticsbench"
	"github.com/onefold/onefold/cmd/onefold/internal/telemetrybench"
	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// What `onefold cost` says that a fact takes to write is what the engine meters, within a tenth: as onefold serve runs without flags, and
// with --fold-delay 30s.
func TestCostIsWhatIsMetered(t *testing.T) {
	g := &globals{Data: t.TempDir()}
	events := func(delay time.Duration) (workbench.Units, error) {
		live := analyticsbench.Live{PerSecond: 1, During: 10 * time.Minute, Delays: delays.Flags{FoldDelay: delay}}
		return analyticsbench.LiveUnits(t.Context(), g.benchOpen(t.Output()), filepath.Join(t.TempDir(), "table"), live)
	}
	readings := func(delay time.Duration) (workbench.Units, error) {
		return telemetrybench.SteadyUnits(t.Context(), g.benchOpen(t.Output()), filepath.Join(t.TempDir(), "table"), delay)
	}
	for _, c := range []struct {
		name   string
		schema *table.Schema
		perDay float64
		meter  func(delay time.Duration) (workbench.Units, error)
	}{
		{"events", analytics.Schema, 86_400, events},
		{"readings", telemetry.Schema, 1_440_000, readings},
		{"appends", eventstore.Schema, 86_400, func(delay time.Duration) (workbench.Units, error) { return appendUnits(t, g, 1, 1, delay) }},
		{"appends, 20 a second", eventstore.Schema, 20 * 86_400, func(delay time.Duration) (workbench.Units, error) { return appendUnits(t, g, 20, 1, delay) }},
	} {
		for _, delay := range []time.Duration{0, 30 * time.Second} {
			units, err := c.meter(delay)
			if err != nil {
				t.Fatal(err)
			}
			said := unitsOfFact(t, c.schema, c.perDay, delay > 0)
			t.Logf("%s, fold delay %s: %.3f write units metered, %.3f said; metered %.3v", c.name, delay, units.Total(), said, units)
			if off := said/units.Total() - 1; math.Abs(off) > 0.1 {
				t.Errorf("%s, fold delay %s: %.3f write units are said, %.3f metered: %+.0f %%", c.name, delay, said, units.Total(), 100*off)
			}
		}
	}
}

// unitsOfFact are the write units that a fact takes by what its schema declares.
func unitsOfFact(t *testing.T, s *table.Schema, perDay float64, delayed bool) float64 {
	t.Helper()
	d, err := blueprint.New(t.Context(), s, blueprint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for events, sign := range map[float64]float64{perDay: 1, 0: -1} { // what is written without facts is not of them
		w, err := cost.Declared(d, events, 1, delayed)
		if err != nil {
			t.Fatal(err)
		}
		for i := range w.Lines {
			sum += sign * w.Lines[i].WriteUnits
		}
	}
	return sum / (perDay * 730 / 24)
}
