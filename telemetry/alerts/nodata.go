package alerts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/episode"
	"github.com/onefold/onefold/telemetry/presence"
	"github.com/onefold/onefold/telemetry/readings"
)

// SilenceRule is the ID of the built-in rule for the alert of a fleet that fell silent as a whole.
const SilenceRule = "fleet-silence"

// FleetDevice returns the pseudo-device for the alerts of a whole fleet. It is not a valid device
// ID.
func FleetDevice(fleetID string) string { return "~" + fleetID }

// heard ends an alert about silence, because a current reading arrived.
func (p *pair) heard(ctx context.Context, t *table.Table, w Watch) error {
	arrived := int64(math.MaxInt64)
	for _, r := range p.readings {
		if !r.Past && r.Arrived > w.FirstAt {
			arrived = min(arrived, r.Arrived)
		}
	}
	if w.Phase != episode.Firing || arrived == math.MaxInt64 {
		return nil
	}
	return quiet{t, p.rule, p.deviceID, w}.end(ctx, arrived, "")
}

// quiet is a device or fleet, with a rule about silence.
type quiet struct {
	t        *table.Table
	rule     *compiled
	deviceID string
	watch    Watch
}

// begin creates the alert of a silence since a time. If waits is set it is not notified by itself,
// because the alert of its fleet covers it.
func (q quiet) begin(ctx context.Context, since int64, waits bool) error {
	e := episode.Episode{First: episode.Key{At: since}, Fired: since + q.rule.levels.For, Last: episode.Key{At: since}}
	return q.write(ctx, e, episode.Firing, func(a *telemetry.Alert) { a.Waits = waits })
}

func (q quiet) end(ctx context.Context, at int64, why telemetry.Ending) error {
	since := q.watch.FirstAt
	e := episode.Episode{First: episode.Key{At: since}, Fired: since + q.rule.levels.For, Last: episode.Key{At: since}, Resolved: max(at, since+1)}
	return q.write(ctx, e, episode.Idle, func(a *telemetry.Alert) { a.Ended = why })
}

func (q quiet) write(ctx context.Context, e episode.Episode, phase episode.Phase, say func(*telemetry.Alert)) error {
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
		a := &plan.changes[i].alert
		a.Value, a.Peak = "", ""
		say(a)
	}
	if err := decideAll(ctx, q.t, plan.changes); err != nil {
		return err
	}
	return plan.commit(ctx, q.t)
}

// Sweep finds devices that have been silent for longer than a rule allows, and creates alerts. A
// fleet that fell silent as a whole (telemetry.Silence) has an alert of its own. While it lasts
// only that alert is notified; alerts of its devices begin and end without notifications. Silence
// counts from listening at the earliest, as in presence.Sweep, after which Sweep should be called.
// Calls may be concurrent.
func Sweep(ctx context.Context, t *table.Table, listening time.Time) error {
	s := &sweep{t: t, now: t.Now(), listening: listening, fleets: make(map[string]*sweptFleet)}
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
	t         *table.Table
	now       time.Time
	listening time.Time
	fleets    map[string]*sweptFleet
}

// sweptFleet holds a fleet's rules about silence and the last arrivals of its devices.
type sweptFleet struct {
	rules    *fleetRules
	any      bool // there are rules about silence
	severity telemetry.Severity
	seen     map[string]lastSeen // by device
}

// lastSeen has a device's last arrival, and when it went offline, in epoch milliseconds.
type lastSeen struct{ heard, offline int64 }

func (s *sweep) add(ctx context.Context, status *telemetry.Status) error {
	f := s.fleets[status.FleetID]
	if f == nil {
		rules, err := readRules(ctx, s.t, status.FleetID)
		if err != nil {
			return err
		}
		f = &sweptFleet{rules: rules, seen: make(map[string]lastSeen)}
		f.onlySilence(rules.device)
		f.onlySilence(rules.profile)
		s.fleets[status.FleetID] = f
	}
	if f.any {
		f.seen[status.DeviceID] = lastSeen{status.LastSeen, status.OfflineSince}
	}
	return nil
}

// onlySilence removes rules that are not about silence.
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
	if !f.any { // no rule about silence is left
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
	touched := &batchChanges{}
	for id := range f.seen {
		touched.device(id, fleetID)
	}
	book := &ruleBook{t: s.t, fleets: map[string]*fleetRules{fleetID: f.rules}}
	if err := book.read(ctx, touched); err != nil {
		return err
	}
	arrivals := readings.NewLastArrivals(s.t, fleetID)
	for id, d := range touched.devices {
		for _, c := range book.of(d) {
			if err := s.device(ctx, arrivals, id, c, f.seen[id].heard, silent); err != nil {
				return err
			}
		}
	}
	return nil
}

// device checks one device and rule. It ignores conflicts with concurrent writers: the next sweep
// checks again.
func (s *sweep) device(ctx context.Context, arrivals *readings.LastArrivals, id string, c *compiled, seen int64, fleetSilent bool) error {
	silent := func(since int64) bool { return s.now.UnixMilli()-max(since, s.listening.UnixMilli()) >= c.levels.For }
	q, err := s.quiet(ctx, c, id)
	if err != nil {
		return err
	}
	switch firing := q.watch.Phase == episode.Firing; {
	case firing && seen > q.watch.FirstAt:
		err = q.end(ctx, seen, "")
	case !firing && silent(seen):
		last, unread := arrivals.Of(ctx, id) // the status may lag behind
		if seen, err = max(seen, last), unread; err == nil && silent(seen) {
			err = q.begin(ctx, max(seen, s.listening.UnixMilli()), fleetSilent)
		}
	}
	if errors.Is(err, errMoved) {
		return nil
	}
	return err
}

func (s *sweep) quiet(ctx context.Context, c *compiled, id string) (quiet, error) {
	w, err := Watches.Get(ctx, s.t, WatchKey{id, c.RuleID})
	if errors.Is(err, table.ErrNotFound) {
		w, err = Watch{WatchKey: WatchKey{id, c.RuleID}}, nil
	}
	return quiet{s.t, c, id, c.begun(w)}, err
}

// wholeFleet maintains the alert of a silent fleet.
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
		if err = s.release(ctx, fleetID, f); err == nil {
			err = q.end(ctx, s.now.UnixMilli(), s.whyOver(q.watch.FirstAt))
		}
	case !firing && silent:
		err = q.begin(ctx, since, false)
	}
	if errors.Is(err, errMoved) {
		return nil
	}
	return err
}

// whyOver returns why a fleet's silence ended: its devices send again, or it has lasted so long
// that it is settled.
func (s *sweep) whyOver(since int64) telemetry.Ending {
	if s.now.Sub(time.UnixMilli(since)) >= presence.SilenceLasts {
		return telemetry.Settled
	}
	return ""
}

// release ends the wait of alerts that were not notified while their fleet was silent. Devices that
// are still silent, while others send again, are notified now, unless they have been offline for as
// long as a fleet's silence lasts: then the fleet's alert has covered them.
func (s *sweep) release(ctx context.Context, fleetID string, f *sweptFleet) error {
	for _, severity := range severities {
		for a, err := range telemetry.OpenAlerts.All(ctx, s.t, telemetry.SeverityIn{Severity: severity, FleetID: fleetID}) {
			if err != nil {
				return err
			}
			seen := f.seen[a.DeviceID]
			if !a.Waits || seen.heard > a.Since { // a device that sends again ends its alert without notifications
				continue
			}
			before := a
			a.Waits = false
			if s.now.Sub(time.UnixMilli(seen.offline)) >= presence.SilenceLasts {
				a.Notified = append(slices.Clone(a.Notified), telemetry.Fires, telemetry.Resolves)
			}
			if err := rewriteAlert(ctx, s.t, a, &before); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewriteAlert writes a changed alert with its notifications. Errors: errMoved.
func rewriteAlert(ctx context.Context, t *table.Table, a telemetry.Alert, before *telemetry.Alert) error {
	c := []change{{alert: a, before: before}}
	if err := decideAll(ctx, t, c); err != nil {
		return err
	}
	tx := table.NewTx(t, "")
	c[0].add(tx)
	return moved(tx.Commit(ctx))
}
