package alerts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/episode"
)

// SilenceRule is the id of the rule, which nobody made, by which a fleet that fell silent as a whole has one alert.
const SilenceRule = "fleet-silence"

// FleetDevice is under what the alerts of a fleet as a whole are kept. No device has such an id.
func FleetDevice(fleetID string) string { return "~" + fleetID }

// heard ends an alert about silence: something came.
func (p *pair) heard(ctx context.Context, t *table.Table, w Watch) error {
	if w.Phase != episode.Firing || len(p.readings) == 0 {
		return nil
	}
	arrived := p.readings[0].Arrived
	for _, r := range p.readings {
		arrived = min(arrived, r.Arrived)
	}
	return quiet{t, p.rule, p.deviceID, w}.end(ctx, arrived)
}

// quiet is a device, or fleet, that a rule about silence is for.
type quiet struct {
	t        *table.Table
	rule     *compiled
	deviceID string
	watch    Watch
}

// begin makes the alert of a silence since a time.
func (q quiet) begin(ctx context.Context, since int64) error {
	e := episode.Episode{First: episode.Key{At: since}, Fired: since + q.rule.levels.For, Last: episode.Key{At: since}}
	return q.write(ctx, e, episode.Firing)
}

func (q quiet) end(ctx context.Context, at int64) error {
	since := q.watch.FirstAt
	e := episode.Episode{First: episode.Key{At: since}, Fired: since + q.rule.levels.For, Last: episode.Key{At: since}, Resolved: max(at, since+1)}
	return q.write(ctx, e, episode.Idle)
}

func (q quiet) write(ctx context.Context, e episode.Episode, phase episode.Phase) error {
	d := &derivation{t: q.t, rule: q.rule, deviceID: q.deviceID, watch: q.watch, start: e.First, until: e.Last}
	stored, err := telemetry.Alerts.GetMany(ctx, q.t, []telemetry.AlertKey{{DeviceID: q.deviceID, AlertID: AlertID(q.deviceID, q.rule.RuleID, e.First.At)}})
	if err != nil {
		return err
	}
	d.old, d.episodes = stored, []episode.Episode{e}
	if d.machine.Phase = phase; phase == episode.Firing {
		d.machine.Episode = e
	}
	plan := d.plan(q.t.Now().UTC().Truncate(time.Millisecond))
	for i := range plan.changes {
		plan.changes[i].alert.Value, plan.changes[i].alert.Peak = "", ""
	}
	if err := decideAll(ctx, q.t, plan.changes); err != nil {
		return err
	}
	return plan.commit(ctx, q.t)
}

// Sweep looks for devices that have been silent for longer than a rule allows, and makes the alerts of that. Where a fleet
// as a whole fell silent (telemetry.Silence), it has one alert, and none of its devices has a new one. Call it every half
// minute or so, after telemetry.Sweep. It may be run by several.
func Sweep(ctx context.Context, t *table.Table) error {
	s := &sweep{t: t, now: t.Now(), fleets: make(map[string]*sweptFleet)}
	for _, c := range []telemetry.Connectivity{telemetry.Online, telemetry.Offline} {
		for status, err := range telemetry.StatusesByConnectivity.All(ctx, t, telemetry.ConnectivityIn{Connectivity: c}) {
			if err == nil {
				err = s.add(ctx, &status)
			}
			if err != nil {
				return fmt.Errorf("alerts: sweep: %w", err)
			}
		}
	}
	for id, f := range s.fleets {
		if err := s.judge(ctx, id, f); err != nil {
			return fmt.Errorf("alerts: sweep fleet %s: %w", id, err)
		}
	}
	return nil
}

type sweep struct {
	t      *table.Table
	now    time.Time
	fleets map[string]*sweptFleet
}

// sweptFleet is a fleet that has rules about silence, and what was heard of its devices.
type sweptFleet struct {
	rules    *fleetRules
	any      bool // rules about silence
	severity telemetry.Severity
	seen     map[string]int64
}

func (s *sweep) add(ctx context.Context, status *telemetry.Status) error {
	f := s.fleets[status.FleetID]
	if f == nil {
		rules, err := readRules(ctx, s.t, status.FleetID)
		if err != nil {
			return err
		}
		f = &sweptFleet{rules: rules, seen: make(map[string]int64)}
		f.onlySilence(rules.device)
		f.onlySilence(rules.profile)
		s.fleets[status.FleetID] = f
	}
	if f.any {
		f.seen[status.DeviceID] = status.LastSeen
	}
	return nil
}

// onlySilence leaves only rules about silence.
func (f *sweptFleet) onlySilence(scope map[string][]*compiled) {
	for id, rules := range scope {
		rules = slices.DeleteFunc(rules, func(c *compiled) bool { return !c.NoData })
		if scope[id] = rules; len(rules) == 0 {
			delete(scope, id)
		}
		for _, c := range rules {
			f.any = true
			if rank(c.Severity) > rank(f.severity) {
				f.severity = c.Severity
			}
		}
	}
}

func (s *sweep) judge(ctx context.Context, fleetID string, f *sweptFleet) error {
	if !f.any { // nobody wants to know of silence any more
		return s.wholeFleet(ctx, fleetID, f, false, 0)
	}
	silence, err := telemetry.SilenceOfFleet.Get(ctx, s.t, telemetry.FleetIn{FleetID: fleetID})
	silent := err == nil
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return err
	}
	if err := s.wholeFleet(ctx, fleetID, f, silent, silence.Since.UnixMilli()); err != nil {
		return err
	}
	touched := &seen{}
	for id := range f.seen {
		touched.device(id, fleetID)
	}
	book := &ruleBook{t: s.t, fleets: map[string]*fleetRules{fleetID: f.rules}}
	if err := book.read(ctx, touched); err != nil {
		return err
	}
	for id, d := range touched.devices {
		for _, c := range book.of(d) {
			if err := s.device(ctx, id, c, f.seen[id], silent); err != nil {
				return err
			}
		}
	}
	return nil
}

// device looks at one device and rule. Whoever writes at the same time is right, too: the next sweep looks again.
func (s *sweep) device(ctx context.Context, id string, c *compiled, seen int64, fleetSilent bool) error {
	silent := s.now.UnixMilli()-seen >= c.levels.For
	q, err := s.quiet(ctx, c, id)
	if err != nil {
		return err
	}
	switch firing := q.watch.Phase == episode.Firing; {
	case firing && seen > q.watch.FirstAt:
		err = q.end(ctx, seen)
	case !firing && silent && !fleetSilent:
		if seen, err = s.lastArrival(ctx, id, seen); err == nil && s.now.UnixMilli()-seen >= c.levels.For {
			err = q.begin(ctx, seen)
		}
	}
	if errors.Is(err, errMoved) {
		return nil
	}
	return err
}

// lastArrival is when a device was heard of last: its status may tell that a while later.
func (s *sweep) lastArrival(ctx context.Context, id string, seen int64) (int64, error) {
	newest, err := telemetry.NewestReadings.First(ctx, s.t, telemetry.DeviceIn{DeviceID: id})
	if errors.Is(err, table.ErrNotFound) {
		return seen, nil
	}
	return max(seen, newest.Arrived), err
}

func (s *sweep) quiet(ctx context.Context, c *compiled, id string) (quiet, error) {
	w, err := Watches.Get(ctx, s.t, WatchKey{id, c.RuleID})
	if errors.Is(err, table.ErrNotFound) {
		w, err = Watch{WatchKey: WatchKey{id, c.RuleID}}, nil
	}
	return quiet{s.t, c, id, c.begun(w)}, err
}

// wholeFleet keeps the one alert of a fleet that is silent as a whole.
func (s *sweep) wholeFleet(ctx context.Context, fleetID string, f *sweptFleet, silent bool, since int64) error {
	c := &compiled{Rule: telemetry.Rule{
		RuleKey: telemetry.RuleKey{RuleID: SilenceRule}, FleetID: fleetID, NoData: true, Version: 1, Severity: cmp.Or(f.severity, telemetry.Warning),
		Name: "most of the fleet fell silent at once",
	}}
	q, err := s.quiet(ctx, c, FleetDevice(fleetID))
	if err != nil {
		return err
	}
	switch firing := q.watch.Phase == episode.Firing; {
	case firing && !silent:
		err = q.end(ctx, s.now.UnixMilli())
	case !firing && silent:
		err = q.begin(ctx, since)
	}
	if errors.Is(err, errMoved) {
		return nil
	}
	return err
}
