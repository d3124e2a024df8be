package alerts

import (
	"context"
	"fmt"
	"math"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/episode"
)

// derivation recomputes a part of the alerts of a device and a rule; see the package comment.
type derivation struct {
	t        *table.Table
	rule     *compiled
	deviceID string
	series   series
	watch    Watch // as stored; idle if it belongs to another version of the rule

	first, last episode.Key // range of changes

	start    episode.Key
	old      []telemetry.Alert // stored alerts that began at start or later, of any version
	machine  episode.Machine
	episodes []episode.Episode // that fired
	until    episode.Key       // last point of any episode
	settled  *episode.Key      // point from which derived and stored alerts agree again; nil: none before the end
	kept     []keptAlert       // alerts whose first point has expired
}

func (d *derivation) run(ctx context.Context) error {
	if err := d.findStart(ctx); err != nil {
		return err
	}
	if err := d.loadOld(ctx); err != nil {
		return err
	}
	if err := d.findKept(ctx); err != nil {
		return err
	}
	for p, err := range d.series.from(ctx, d.start) {
		if err != nil {
			return err
		}
		d.step(&p)
		if d.rests(&p) {
			d.settled = &p.Key
			return nil
		}
	}
	d.goOn(episode.Key{At: math.MaxInt64})
	if d.machine.Phase == episode.Firing {
		d.episodes = append(d.episodes, d.machine.Episode)
	}
	return nil
}

func (d *derivation) step(p *episode.Point) {
	if d.decided(p.Key) {
		return
	}
	d.goOn(p.Key)
	active := d.machine.Phase != episode.Idle
	if e := d.machine.Step(&d.rule.levels, p); e != nil {
		d.episodes = append(d.episodes, *e)
	}
	if active || d.machine.Phase != episode.Idle {
		d.until = p.Key
	}
}

// rests reports whether everything after a point is as stored: the point is after all changes, and
// at it nothing is pending or firing, neither derived nor stored.
func (d *derivation) rests(p *episode.Point) bool {
	if d.machine.Phase != episode.Idle || p.Compare(d.last) <= 0 || d.rule.levels.Breaches(&p.Value) {
		return false
	}
	if d.watch.Phase != episode.Idle && d.watch.first().Compare(p.Key) <= 0 {
		return false
	}
	for i := range d.old {
		if d.counts(&d.old[i]) && covers(&d.old[i], p.Key) {
			return false
		}
	}
	return true
}

// counts reports whether an alert belongs to the current version of the rule and is not withdrawn.
func (d *derivation) counts(a *telemetry.Alert) bool {
	return a.RuleVersion == d.rule.Version && (a.RuleMade == 0 || a.RuleMade == d.rule.made()) && !a.Withdrawn
}

func firstOf(a *telemetry.Alert) episode.Key { return episode.Key{At: a.Since, Disc: a.First} }

// covers reports whether a point may belong to an alert.
func covers(a *telemetry.Alert, k episode.Key) bool {
	return firstOf(a).Compare(k) <= 0 && (a.Resolved == 0 || a.Resolved >= k.At)
}

// findStart finds the point from which to run the machine: the latest point, at or before the first
// change, before which the machine was idle.
func (d *derivation) findStart(ctx context.Context) error {
	d.start = d.first
	if d.watch.Phase != episode.Idle && d.watch.first().Compare(d.first) <= 0 {
		d.start = d.watch.first()
		return nil
	}
	in := ruleIn{DeviceID: d.deviceID, RuleID: d.rule.RuleID, To: idFloor(d.first.At + 1)}
	for a, err := range stepwise(ctx, d.t, alertsBack, in) {
		if err != nil {
			return err
		}
		if !d.counts(&a) || firstOf(&a).Compare(d.first) > 0 {
			continue
		}
		if covers(&a, d.first) {
			d.start = firstOf(&a)
			return nil
		}
		break
	}
	for p, err := range d.series.back(ctx, d.first) {
		if err != nil {
			return err
		}
		if !d.rule.levels.Breaches(&p.Value) {
			return nil
		}
		d.start = p.Key
	}
	return nil
}

func (d *derivation) loadOld(ctx context.Context) error {
	in := ruleIn{DeviceID: d.deviceID, RuleID: d.rule.RuleID, From: idFloor(d.start.At)}
	for a, err := range alertsFrom.All(ctx, d.t, in) {
		if err != nil {
			return err
		}
		if firstOf(&a).Compare(d.start) >= 0 {
			d.old = append(d.old, a)
		}
	}
	return nil
}

// idFloor returns the smallest alert ID of a millisecond.
func idFloor(at int64) string {
	var id ulid.ULID
	if err := id.SetTime(uint64(max(at, 0))); err != nil {
		return fmt.Sprintf("%026d", 0)
	}
	return id.String()
}
