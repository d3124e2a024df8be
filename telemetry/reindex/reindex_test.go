package reindex_test

import (
	"testing"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/reindex"
)

// The fleets of all owners are recounted: their wrong counts and leftover labels are found and
// repaired.
func TestFleetsOfAllOwners(t *testing.T) {
	w := foldtest.NewWorld(t, foldtest.Setup{
		Schema: telemetry.Schema, Group: telemetry.FoldGroup, At: time.Date(2026, 4, 20, 14, 0, 0, 0, time.UTC),
		Folds: func(t *table.Table) []*fold.Fold {
			return telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(t)})
		},
	})
	for id, owner := range map[string]string{"north": "", "south": "ada"} {
		_, err := telemetry.CreateFleet(w.Ctx, w.Table, telemetry.NewFleet{ID: id, OwnerID: owner})
		w.Must(err)
		_, err = telemetry.CreateDevice(w.Ctx, w.Table, telemetry.NewDevice{ID: id + "-1", FleetID: id})
		w.Must(err)
	}
	w.Drain()
	if found, err := reindex.Recount(w.Ctx, w.Table, w.Worker); err != nil || found.Counts != 0 || found.Labels != 0 {
		t.Fatalf("untouched: %+v, %v", found, err)
	}
	counts := telemetry.FleetCountsKey{FleetID: "south"}
	stored, err := fold.Load(w.Ctx, w.Table, telemetry.Counts, []telemetry.FleetCountsKey{counts})
	w.Must(err)
	w.Must(fold.ReplaceState(w.Ctx, w.Table, telemetry.Counts, counts, telemetry.FleetCounts{FleetCountsKey: counts}, stored[0].Version))
	left := telemetry.LabelKey{FleetID: "south", Kind: telemetry.ByType, Value: "pump", DeviceID: "south-1"}
	w.Must(fold.ReplaceState(w.Ctx, w.Table, telemetry.Labels, left, telemetry.Label{LabelKey: left, There: true}, 0))
	if found, err := reindex.Recount(w.Ctx, w.Table, w.Worker); err != nil || found.Counts != 1 || found.Labels != 1 {
		t.Errorf("recounted: %+v, %v", found, err)
	}
	if found, err := reindex.Recount(w.Ctx, w.Table, w.Worker); err != nil || found.Counts != 0 || found.Labels != 0 {
		t.Errorf("recounted again: %+v, %v", found, err)
	}
}
