package recount

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/reindex"
)

// compareLabelsAndCounts compares the labels of the fleet's devices, and the fleet's counts.
func (r *recounter) compareLabelsAndCounts(ctx context.Context) error {
	compare := reindex.Compare
	if r.verb == Rebuilding {
		compare = reindex.RecountFleet
	}
	found, err := compare(ctx, r.t, r.w, r.in.Fleet)
	if err != nil {
		return err
	}
	r.found.Items += int64(found.Items)
	for i := range found.List {
		r.addDifference(describeLabelOrCount(&found.List[i]))
	}
	if more := int64(found.Labels + found.Counts - len(found.List)); more > 0 {
		r.countDifferences(Label, more)
	}
	for _, what := range found.Busy {
		r.addBusy(what)
	}
	return nil
}

func describeLabelOrCount(d *reindex.Difference) Difference {
	if k := d.Label; k.FleetID != "" {
		return Difference{Part: Label, Device: k.DeviceID, Start: string(k.Kind) + " " + k.Value, Kind: kindOf(d.Exists, !d.Exists)}
	}
	return Difference{Part: Counts, Kind: kindOf(d.Exists, true), Stored: describeCounts(&d.Stored), Want: describeCounts(&d.Want)}
}

func describeCounts(c *telemetry.FleetCounts) string {
	all := maps.Clone(c.ByStatus)
	if all == nil {
		all = make(map[string]int64)
	}
	maps.Copy(all, c.ByConnectivity)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%d %s", all[name], name))
	}
	if len(parts) == 0 {
		return "no devices"
	}
	return strings.Join(parts, ", ")
}
