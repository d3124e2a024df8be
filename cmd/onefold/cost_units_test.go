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
	events := func(perSecond float64, during time.Duration) func(time.Duration) (workbench.Units, error) {
		return func(delay time.Duration) (workbench.Units, error) {
			live := analyticsbench.Live{PerSecond: perSecond, During: during, Delays: delays.Flags{FoldDelay: delay}}
			return analyticsbench.LiveUnits(t.Context(), g.benchOpen(t.Output()), filepath.Join(t.TempDir(), "table"), live)
		}
	}
	appends := func(perSecond int) func(time.Duration) (workbench.Units, error) {
		return func(delay time.Duration) (workbench.Units, error) { return appendUnits(t, g, perSecond, 1, delay) }
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
