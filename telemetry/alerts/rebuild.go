package alerts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/episode"
)

// Rebuilt is the result of a rebuild.
type Rebuilt struct {
	Devices    int `json:"devices"`    // devices with rules
	Aggregates int `json:"aggregates"` // aggregates that were repaired
	Alerts     int `json:"alerts"`     // alerts that were created, amended or withdrawn
	Ended      int `json:"ended"`      // open alerts of rules that no longer apply
}

// Rebuild recomputes all alerts of a fleet from the stored readings, including alerts that are
// missing because changes expired from the stream. Correct alerts stay as they are, and nothing is
// notified twice; missed notifications are sent unless they are too old for the channel. Aggregates
// that rules use are rebuilt before. Decisions on expired readings stay. It may run alongside the
// folds, be interrupted and repeated. Rules about silence are skipped, because Sweep looks only at
// the present. Errors: table.ErrNotFound.
func Rebuild(ctx context.Context, t *table.Table, w telemetry.Folded, fleetID string) (Rebuilt, error) {
	r := newRebuilder(t, w)
	err := r.run(ctx, fleetID)
	if err != nil {
		err = fmt.Errorf("alerts: rebuild fleet %s: %w", fleetID, err)
	}
	return r.did, err
}

type rebuilder struct {
	t    *table.Table
	w    telemetry.Folded
	zone calendar.Zone
	book *ruleBook
	did  Rebuilt
}

func newRebuilder(t *table.Table, w telemetry.Folded) *rebuilder {
	return &rebuilder{t: t, w: w, book: &ruleBook{t: t, fleets: make(map[string]*fleetRules)}}
}

func (r *rebuilder) run(ctx context.Context, fleetID string) error {
	if err := r.begin(ctx, fleetID); err != nil {
		return err
	}
	if err := r.w.Drain(ctx); err != nil {
		return err
	}
	if err := r.end(ctx, fleetID); err != nil {
		return err
	}
	for d, err := range telemetry.EachDevice(ctx, r.t) {
		if err != nil {
			return err
		}
		if d.FleetID != fleetID || !d.DeletedAt.IsZero() {
			continue
		}
		if err := r.device(ctx, &deviceChanges{deviceID: d.DeviceID, fleetID: fleetID}, true); err != nil {
			return fmt.Errorf("device %s: %w", d.DeviceID, err)
		}
	}
	return nil
}

func (r *rebuilder) begin(ctx context.Context, fleetID string) error {
	fleet, err := telemetry.GetFleet(ctx, r.t, fleetID)
	if err == nil {
		r.zone, err = calendar.LoadZone(fleet.TimeZone)
	}
	return err
}

// RebuildDevice is Rebuild for one device. Aggregates that its rules use must be correct;
// telemetry.Rebuild repairs them. Errors: table.ErrNotFound.
func RebuildDevice(ctx context.Context, t *table.Table, w telemetry.Folded, fleetID, deviceID string) (Rebuilt, error) {
	r := newRebuilder(t, w)
	err := r.begin(ctx, fleetID)
	if err == nil {
		err = r.device(ctx, &deviceChanges{deviceID: deviceID, fleetID: fleetID}, false)
	}
	if err != nil {
		err = fmt.Errorf("alerts: rebuild device %s: %w", deviceID, err)
	}
	return r.did, err
}

// EndGone ends a fleet's open alerts of rules that no longer apply, and returns their number.
// Everything must be folded before.
func EndGone(ctx context.Context, t *table.Table, fleetID string) (int, error) {
	r := newRebuilder(t, nil)
	err := r.end(ctx, fleetID)
	if err != nil {
		err = fmt.Errorf("alerts: end what is gone in fleet %s: %w", fleetID, err)
	}
	return r.did.Ended, err
}

// rules returns the current rules of a device.
func (r *rebuilder) rules(ctx context.Context, d *deviceChanges) ([]*compiled, error) {
	if err := r.book.read(ctx, &batchChanges{devices: map[string]*deviceChanges{d.deviceID: d}}); err != nil {
		return nil, err
	}
	return r.book.of(d), nil
}

// end ends the open alerts of rules that no longer apply.
func (r *rebuilder) end(ctx context.Context, fleetID string) error {
	for _, severity := range severities {
		var failed error
		n, err := endOpen(ctx, r.t, telemetry.SeverityIn{Severity: severity, FleetID: fleetID}, ruleGone, func(a *telemetry.Alert) bool {
			if a.RuleID == SilenceRule || failed != nil {
				return false
			}
			rules, err := r.rules(ctx, &deviceChanges{deviceID: a.DeviceID, fleetID: fleetID})
			failed = err
			return err == nil && !holds(rules, a)
		})
		r.did.Ended += n
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether an alert comes from the current version of one of the rules.
func holds(rules []*compiled, a *telemetry.Alert) bool {
	for _, c := range rules {
		if madeBy(a, &c.Rule) && a.RuleVersion == c.Version {
			return true
		}
	}
	return false
}

// device recomputes the alerts of a device, and if requested first the aggregates that its rules
// use.
func (r *rebuilder) device(ctx context.Context, d *deviceChanges, aggregates bool) error {
	rules, err := r.rules(ctx, d)
	if err != nil || len(rules) == 0 {
		return err
	}
	r.did.Devices++
	for _, c := range rules {
		if aggregates && c.Over != "" {
			if err := r.aggregates(ctx, d.deviceID); err != nil {
				return err
			}
			break
		}
	}
	for _, c := range rules {
		if !c.NoData {
			if err := r.pair(ctx, d, c); err != nil {
				return fmt.Errorf("rule %s: %w", c.RuleID, err)
			}
		}
	}
	return nil
}

// pair recomputes all alerts of a device and a rule.
func (r *rebuilder) pair(ctx context.Context, d *deviceChanges, c *compiled) error {
	p := &pair{deviceChanges: d, rule: c, watch: Watch{WatchKey: WatchKey{d.deviceID, c.RuleID}}}
	w, err := Watches.Get(ctx, r.t, p.watch.WatchKey)
	if err == nil {
		p.watch = w
	} else if !errors.Is(err, table.ErrNotFound) {
		return err
	}
	return p.again(ctx, r.t, func() error {
		wrote, err := p.derive(ctx, r.t, c.begun(p.watch), episode.Key{}, episode.Key{At: math.MaxInt64})
		if err == nil {
			r.did.Alerts += wrote
		}
		return err
	})
}

// aggregates rebuilds a device's aggregates for all days with readings.
func (r *rebuilder) aggregates(ctx context.Context, deviceID string) error {
	for from := time.UnixMilli(0).UTC(); ; {
		next, err := (telemetry.ReadingsIn{DeviceID: deviceID, From: from, Partial: true}).First(ctx, r.t)
		if errors.Is(err, table.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		found, err := telemetry.Rebuild(ctx, r.t, r.w, deviceID, next.At, next.At.Add(time.Millisecond))
		if err != nil && !errors.Is(err, telemetry.ErrSealed) {
			return err
		}
		r.did.Aggregates += found.Count
		if _, from, err = r.zone.Bounds(r.zone.Day(next.At)); err != nil {
			return err
		}
	}
}
