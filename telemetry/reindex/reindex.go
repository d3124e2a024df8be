// Package reindex recounts the devices of all fleets, and repairs labels and counts that folds
// missed.
package reindex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Recounted is the result of a recount.
type Recounted struct {
	Items  int          // labels and counts compared
	Labels int          // labels that were missing, or that the device should not have
	Counts int          // fleets with wrong counts
	List   []Difference // the first hundred differences
	Busy   []string     // fleets and devices that kept being written; retry when there is less traffic
}

// Difference is a label that is missing or should not exist, or a fleet with wrong counts.
type Difference struct {
	Label        telemetry.LabelKey // zero for counts
	Exists       bool               // whether the label, or the counts, are stored
	Stored, Want telemetry.FleetCounts
}

// Compare compares the labels and counts of a fleet with its devices and statuses, without changing
// anything. See Recount.
func Compare(ctx context.Context, t *table.Table, w telemetry.Folded, fleetID string) (Recounted, error) {
	return run(ctx, &recounter{t: t, w: w, fleetID: fleetID, dryRun: true})
}

// RecountFleet is Recount for one fleet.
func RecountFleet(ctx context.Context, t *table.Table, w telemetry.Folded, fleetID string) (Recounted, error) {
	return run(ctx, &recounter{t: t, w: w, fleetID: fleetID})
}

// Recount compares the labels and counts of all fleets with their devices and statuses, and repairs
// differences, which folds missed. Devices may be written at the same time: an item is replaced on
// condition that it is still the one that was compared, and that everything that was read is
// folded. It may be interrupted and repeated.
func Recount(ctx context.Context, t *table.Table, w telemetry.Folded) (Recounted, error) {
	return run(ctx, &recounter{t: t, w: w})
}

func run(ctx context.Context, r *recounter) (Recounted, error) {
	for _, do := range []func(context.Context) error{r.w.Drain, r.checkMissingLabels, r.checkStoredLabels, r.compareCounts} {
		if err := do(ctx); err != nil {
			return r.result, fmt.Errorf("reindex: recount: %w", err)
		}
	}
	return r.result, nil
}

type recounter struct {
	t       *table.Table
	w       telemetry.Folded
	fleetID string // "": all fleets
	dryRun  bool   // only report differences
	result  Recounted
}

const (
	recountChunk = 500 // labels compared at once
	maxTries     = 6   // attempts on items that keep being written
	maxListed    = 100
)

// checkMissingLabels checks the labels that devices should have.
func (r *recounter) checkMissingLabels(ctx context.Context) error {
	var keys []telemetry.LabelKey
	for d, err := range telemetry.EachDevice(ctx, r.t) {
		if err != nil {
			return err
		}
		if r.fleetID != "" && d.FleetID != r.fleetID {
			continue
		}
		if keys = slices.AppendSeq(keys, maps.Keys(telemetry.LabelsOf(&d))); len(keys) >= recountChunk {
			if err := r.compareLabels(ctx, keys); err != nil {
				return err
			}
			keys = keys[:0]
		}
	}
	return r.compareLabels(ctx, keys)
}

// fleets yields the fleets to compare.
func (r *recounter) fleets(ctx context.Context) iter.Seq2[telemetry.Fleet, error] {
	if r.fleetID == "" {
		return telemetry.EveryFleet(ctx, r.t, "")
	}
	return func(yield func(telemetry.Fleet, error) bool) { yield(telemetry.GetFleet(ctx, r.t, r.fleetID)) }
}

// checkStoredLabels checks the stored labels, which may be left over.
func (r *recounter) checkStoredLabels(ctx context.Context) error {
	for f, err := range r.fleets(ctx) {
		if err != nil {
			return err
		}
		var keys []telemetry.LabelKey
		for l, err := range telemetry.LabelsOfFleet.All(ctx, r.t, f.FleetKey) {
			if err != nil {
				return err
			}
			if keys = append(keys, l.LabelKey); len(keys) >= recountChunk {
				if err := r.compareLabels(ctx, keys); err != nil {
					return err
				}
				keys = keys[:0]
			}
		}
		if err := r.compareLabels(ctx, keys); err != nil {
			return err
		}
	}
	return nil
}

// compareLabels compares labels with their devices and repairs differences. It is correct while devices
// are written, because a label must differ again after a drain, at an unchanged version.
func (r *recounter) compareLabels(ctx context.Context, keys []telemetry.LabelKey) error {
	r.result.Items += len(keys)
	keys, before, err := r.findDifferences(ctx, keys)
	for try := 0; err == nil && len(keys) > 0; try++ {
		if try == maxTries {
			r.addBusy(keys[0].DeviceID)
			return nil
		}
		if err = r.w.Drain(ctx); err != nil {
			return err
		}
		var after []fold.Stored[telemetry.Label]
		var still []telemetry.LabelKey
		if still, after, err = r.findDifferences(ctx, keys); err != nil {
			return err
		}
		versions := make(map[telemetry.LabelKey]int64, len(keys))
		for i, k := range keys {
			versions[k] = before[i].Version
		}
		keys, before, err = r.repairLabels(ctx, still, after, versions)
	}
	return err
}

// findDifferences returns the labels that are missing or should not exist.
func (r *recounter) findDifferences(ctx context.Context, keys []telemetry.LabelKey) (differ []telemetry.LabelKey, found []fold.Stored[telemetry.Label], err error) {
	stored, err := fold.Load(ctx, r.t, telemetry.Labels, keys)
	if err != nil {
		return nil, nil, err
	}
	var ids []telemetry.DeviceKey
	for _, k := range keys {
		ids = append(ids, telemetry.DeviceKey{DeviceID: k.DeviceID})
	}
	slices.SortFunc(ids, func(a, b telemetry.DeviceKey) int { return cmp.Compare(a.DeviceID, b.DeviceID) })
	devices, err := telemetry.Devices.GetMany(ctx, r.t, slices.Compact(ids))
	if err != nil {
		return nil, nil, err
	}
	should := make(map[telemetry.LabelKey]bool)
	for i := range devices {
		maps.Copy(should, telemetry.LabelsOf(&devices[i]))
	}
	for i, k := range keys {
		if there := stored[i].Version != 0 && !stored[i].Removed; there != should[k] {
			differ, found = append(differ, k), append(found, stored[i])
		}
	}
	return differ, found, nil
}

// repairLabels repairs labels that still differ and were not written in between. It returns the others.
func (r *recounter) repairLabels(ctx context.Context, keys []telemetry.LabelKey, stored []fold.Stored[telemetry.Label], versions map[telemetry.LabelKey]int64) (left []telemetry.LabelKey, found []fold.Stored[telemetry.Label], err error) {
	for i, k := range keys {
		s := &stored[i]
		err := table.ErrConflict
		switch there := s.Version != 0 && !s.Removed; {
		case s.Version != versions[k]:
		case r.dryRun:
			err = nil
		case there:
			err = fold.RemoveState(ctx, r.t, telemetry.Labels, k, s.Version)
		default:
			err = fold.ReplaceState(ctx, r.t, telemetry.Labels, k, telemetry.Label{LabelKey: k, There: true}, s.Version)
		}
		switch {
		case errors.Is(err, table.ErrConflict):
			left, found = append(left, k), append(found, *s)
		case err != nil:
			return nil, nil, err
		default:
			r.result.Labels++
			r.addDifference(Difference{Label: k, Exists: s.Version != 0 && !s.Removed})
		}
	}
	return left, found, nil
}

func (r *recounter) addDifference(d Difference) {
	if len(r.result.List) < maxListed {
		r.result.List = append(r.result.List, d)
	}
}

func (r *recounter) addBusy(what string) {
	if len(r.result.Busy) < maxListed {
		r.result.Busy = append(r.result.Busy, what)
	}
}

// compareCounts compares the counts of fleets with their devices and statuses. Everything is read before
// and after the drain, because the index may lag behind; only equal results are used.
func (r *recounter) compareCounts(ctx context.Context) error {
	var keys []telemetry.FleetCountsKey
	for f, err := range r.fleets(ctx) {
		if err != nil {
			return err
		}
		keys = append(keys, telemetry.FleetCountsKey{FleetID: f.FleetID})
	}
	r.result.Items += len(keys)
	for try := 0; len(keys) > 0; try++ {
		if try == maxTries {
			for _, k := range keys {
				r.addBusy(k.FleetID)
			}
			return nil
		}
		before, err := fold.Load(ctx, r.t, telemetry.Counts, keys)
		if err != nil {
			return err
		}
		want, err := r.computeCounts(ctx)
		if err != nil {
			return err
		}
		if err := r.w.Drain(ctx); err != nil {
			return err
		}
		again, err := r.computeCounts(ctx)
		if err != nil {
			return err
		}
		if keys, err = r.replaceCounts(ctx, keys, before, want, again); err != nil {
			return err
		}
	}
	return nil
}

// computeCounts computes the counts of all fleets from devices and statuses.
func (r *recounter) computeCounts(ctx context.Context) (map[telemetry.FleetCountsKey]*telemetry.FleetCounts, error) {
	all := make(map[telemetry.FleetCountsKey]*telemetry.FleetCounts)
	at := func(fleetID string) *telemetry.FleetCounts {
		k := telemetry.FleetCountsKey{FleetID: fleetID}
		if all[k] == nil {
			all[k] = &telemetry.FleetCounts{FleetCountsKey: k, ByStatus: map[string]int64{}, ByConnectivity: map[string]int64{}}
		}
		return all[k]
	}
	for d, err := range telemetry.EachDevice(ctx, r.t) {
		if err != nil {
			return nil, err
		}
		if d.DeletedAt.IsZero() {
			at(d.FleetID).ByStatus[string(d.Status)]++
		}
	}
	for _, c := range []telemetry.Connectivity{telemetry.Online, telemetry.Offline} {
		for s, err := range telemetry.StatusesByConnectivity.All(ctx, r.t, telemetry.ConnectivityIn{Connectivity: c}) {
			if err != nil {
				return nil, err
			}
			at(s.FleetID).ByConnectivity[string(s.Connectivity)]++
		}
	}
	return all, nil
}

// replaceCounts repairs counts that differ, and returns those that are not settled.
func (r *recounter) replaceCounts(ctx context.Context, keys []telemetry.FleetCountsKey, before []fold.Stored[telemetry.FleetCounts], want, again map[telemetry.FleetCountsKey]*telemetry.FleetCounts) (left []telemetry.FleetCountsKey, err error) {
	after, err := fold.Load(ctx, r.t, telemetry.Counts, keys)
	if err != nil {
		return nil, err
	}
	same := func(a, b *telemetry.FleetCounts) bool {
		return maps.Equal(a.ByStatus, b.ByStatus) && maps.Equal(a.ByConnectivity, b.ByConnectivity)
	}
	of := func(all map[telemetry.FleetCountsKey]*telemetry.FleetCounts, k telemetry.FleetCountsKey) *telemetry.FleetCounts {
		if c := all[k]; c != nil {
			return c
		}
		return &telemetry.FleetCounts{FleetCountsKey: k}
	}
	for i, k := range keys {
		is := of(want, k)
		err := table.ErrConflict
		switch {
		case before[i].Version != after[i].Version || !same(is, of(again, k)):
		case same(&after[i].State, is):
			continue
		case r.dryRun:
			err = nil
		default:
			err = fold.ReplaceState(ctx, r.t, telemetry.Counts, k, *is, after[i].Version)
		}
		switch {
		case errors.Is(err, table.ErrConflict):
			left = append(left, k)
		case err != nil:
			return nil, err
		default:
			r.result.Counts++
			r.addDifference(Difference{Exists: after[i].Version != 0, Stored: after[i].State, Want: *is})
		}
	}
	return left, nil
}
