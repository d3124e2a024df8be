package alerts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/episode"
)

// leastKept is the minimum age of an expired point: readings are kept for at least two days from
// arrival.
const leastKept = 24 * time.Hour

// keptAlert is an alert whose first point has expired. Decisions on expired points are final: a resolved
// alert is neither recomputed nor withdrawn, and covers all points of its time; a firing one
// continues.
type keptAlert struct {
	alert *telemetry.Alert
	on    bool // continues in the machine
	e     episode.Episode
}

// findKept finds the kept alerts among the stored ones.
func (d *derivation) findKept(ctx context.Context) error {
	var keys []episode.Key
	before := d.t.Now().Add(-leastKept).UnixMilli()
	for i := range d.old {
		if a := &d.old[i]; d.counts(a) && a.Since < before {
			keys = append(keys, firstOf(a))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	there, err := d.series.exists(ctx, keys)
	if err != nil {
		return err
	}
	for i := range d.old {
		a := &d.old[i]
		if !slices.Contains(keys, firstOf(a)) || !d.counts(a) || there[firstOf(a)] {
			continue
		}
		one := keptAlert{alert: a, e: episode.Episode{First: firstOf(a), Fired: a.Fired, Last: episode.Key{At: a.Last}}}
		if one.e.Value, err = decimalsum.Parse(a.Value); err == nil {
			one.e.Peak, err = decimalsum.Parse(a.Peak)
		}
		if err != nil {
			return fmt.Errorf("alert %s: %w", a.AlertID, err)
		}
		d.kept = append(d.kept, one)
	}
	return nil
}

func (d *derivation) keeps(alertID string) bool {
	return slices.ContainsFunc(d.kept, func(k keptAlert) bool { return k.alert.AlertID == alertID })
}

// decided reports whether a point belongs to a resolved kept alert.
func (d *derivation) decided(k episode.Key) bool {
	for i := range d.kept {
		if a := d.kept[i].alert; a.Resolved != 0 && covers(a, k) {
			if d.machine.Phase == episode.Pending {
				d.machine = episode.Machine{}
			}
			return true
		}
	}
	return false
}

// goOn resumes a firing kept alert that began before a point. Its last sustaining point is known
// only up to there.
func (d *derivation) goOn(k episode.Key) {
	for i := range d.kept {
		one := &d.kept[i]
		if one.on || one.alert.Resolved != 0 || one.e.First.Compare(k) > 0 {
			continue
		}
		one.on = true
		one.e.Last.At = min(one.e.Last.At, k.At)
		d.machine = episode.Machine{Phase: episode.Firing, Episode: one.e}
		if d.until.Compare(one.e.Last) < 0 {
			d.until = one.e.Last
		}
	}
}
