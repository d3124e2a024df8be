package presence_test

import (
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/presence"
)

// world is an in-memory installation with the fleet plant.
type world struct {
	*foldtest.World
	c *telemetry.Collector
}

var start = time.Date(2026, 4, 20, 14, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: foldtest.NewWorld(t, foldtest.Setup{
		Schema: telemetry.Schema, Group: telemetry.FoldGroup, At: start, Engine: engine.Options{StreamShards: 3, RollEvery: 300},
		Folds: func(t *table.Table) []*fold.Fold {
			return telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(t)})
		},
	})}
	w.c = telemetry.NewCollector(w.Table, telemetry.CollectorOptions{})
	w.fleet("plant")
	return w
}

func (w *world) fleet(id string) {
	w.Helper()
	_, err := telemetry.CreateFleet(w.Ctx, w.Table, telemetry.NewFleet{ID: id, Limits: telemetry.Limits{PerMinute: 1_000_000}})
	w.Must(err)
}

func (w *world) devices(fleet string, ids ...string) {
	w.Helper()
	for _, id := range ids {
		_, err := telemetry.CreateDevice(w.Ctx, w.Table, telemetry.NewDevice{ID: id, FleetID: fleet})
		w.Must(err)
	}
}

// beat makes devices send a reading of the current time.
func (w *world) beat(ids ...string) {
	w.Helper()
	for _, id := range ids {
		w.ingest(reading(id, w.Now()))
	}
}

func (w *world) ingest(in ...telemetry.Incoming) {
	w.Helper()
	outcomes, err := w.c.Ingest(w.Ctx, in)
	w.Must(err)
	for _, o := range outcomes {
		if o.Status == telemetry.Rejected {
			w.Fatalf("a reading is rejected: %+v", o)
		}
	}
}

func reading(id string, at time.Time) telemetry.Incoming {
	return telemetry.Incoming{DeviceID: id, At: at, Values: telemetry.Values{"up": telemetry.Bool(true)}}
}

func (w *world) sweep() presence.Swept {
	w.Helper()
	return w.sweepSince(time.Time{})
}

func (w *world) sweepSince(listening time.Time) presence.Swept {
	w.Helper()
	w.Drain()
	did, err := presence.Sweep(w.Ctx, w.Table, listening)
	w.Must(err)
	w.Drain()
	return did
}

// status returns the stored status of a device, empty for a device without readings.
func (w *world) status(id string) telemetry.Status {
	w.Helper()
	all, err := telemetry.Statuses.GetMany(w.Ctx, w.Table, []telemetry.StatusKey{{DeviceID: id}})
	w.Must(err)
	if len(all) == 0 {
		return telemetry.Status{}
	}
	return all[0]
}

func (w *world) counts() map[string]int64 {
	w.Helper()
	counts, err := telemetry.CountsOfFleet.Get(w.Ctx, w.Table, telemetry.FleetIn{FleetID: "plant"})
	w.Must(err)
	return counts.ByConnectivity
}

func (w *world) silent() bool {
	w.Helper()
	all, err := telemetry.Silences.GetMany(w.Ctx, w.Table, []telemetry.SilenceKey{{FleetID: "plant"}})
	w.Must(err)
	return len(all) == 1
}
