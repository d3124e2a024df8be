package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/episode"
	"github.com/onefold/onefold/telemetry/readings"
)

const (
	atOnce   = 4  // devices evaluated concurrently
	attempts = 16 // attempts on a watch that others write as well
)

// Fold returns the fold that keeps alerts up to date with readings, aggregates, retractions and
// rules. It runs in the same group as telemetry.Folds.
func Fold() *fold.Fold {
	return fold.Observe("telemetry.alerts", evaluate,
		fold.OnEach(readings.Facts, func(a *readings.Arrival, at func(struct{}) *batchChanges) error {
			d := at(struct{}{}).device(a.DeviceID, a.FleetID)
			d.readings = append(d.readings, a.Reading)
			return nil
		}),
		fold.On(telemetry.Aggregates, func(ch fold.Typed[telemetry.Aggregate], at func(struct{}) *batchChanges) error {
			if a := ch.New; a != nil {
				d := at(struct{}{}).device(a.DeviceID, a.FleetID)
				d.aggregates = append(d.aggregates, changedSpan{a.Period, a.Start})
			}
			return nil
		}),
		fold.On(telemetry.Retractions, func(ch fold.Typed[telemetry.Retraction], at func(struct{}) *batchChanges) error {
			for _, r := range []*telemetry.Retraction{ch.Old, ch.New} {
				if r != nil {
					d := at(struct{}{}).device(r.DeviceID, "")
					d.retracted = append(d.retracted, *r)
				}
			}
			return nil
		}),
		fold.On(telemetry.Rules, func(ch fold.Typed[telemetry.Rule], at func(struct{}) *batchChanges) error {
			if ch.Old != nil && (ch.New == nil || ch.New.Off || ch.New.Version != ch.Old.Version) {
				s := at(struct{}{})
				s.ended = append(s.ended, *ch.Old)
			}
			if ch.Old == nil && ch.New != nil && ch.New.Scope == telemetry.ForDevice {
				s := at(struct{}{})
				s.made = append(s.made, *ch.New)
			}
			return nil
		}),
		fold.On(telemetry.Devices, func(ch fold.Typed[telemetry.Device], at func(struct{}) *batchChanges) error {
			if ch.Old != nil && ch.New != nil && ch.Old.ProfileID != "" && ch.Old.ProfileID != ch.New.ProfileID {
				s := at(struct{}{})
				s.left = append(s.left, *ch.Old)
			}
			return nil
		}),
	)
}

// batchChanges collects what a batch of the stream affects.
type batchChanges struct {
	devices map[string]*deviceChanges
	ended   []telemetry.Rule   // rule versions that no longer apply
	made    []telemetry.Rule   // new rules of devices
	left    []telemetry.Device // devices that changed their profile, as they were
}

// deviceChanges collects the changes of one device.
type deviceChanges struct {
	deviceID, fleetID string
	readings          []*telemetry.Reading // shared with the stream: read-only
	aggregates        []changedSpan
	retracted         []telemetry.Retraction // new and lifted ones
}

// changedSpan is a bucket that changed.
type changedSpan struct {
	period telemetry.Period
	start  string
}

func (s *batchChanges) device(id, fleet string) *deviceChanges {
	if s.devices == nil {
		s.devices = make(map[string]*deviceChanges)
	}
	d := s.devices[id]
	if d == nil {
		d = &deviceChanges{deviceID: id}
		s.devices[id] = d
	}
	d.fleetID = max(d.fleetID, fleet)
	return d
}

// pair is a device and one of its rules.
type pair struct {
	*deviceChanges
	rule  *compiled
	watch Watch
}

func evaluate(ctx context.Context, t *table.Table, s *batchChanges) error {
	if err := s.endAll(ctx, t); err != nil {
		return err
	}
	pairs, err := pairsOf(ctx, t, s)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, p := range pairs {
		group.Go(func() error {
			if err := p.evaluate(ctx, t); err != nil {
				return fmt.Errorf("alerts: device %s, rule %s: %w", p.deviceID, p.rule.RuleID, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// evaluate updates the alerts of a device and a rule.
func (p *pair) evaluate(ctx context.Context, t *table.Table) error {
	return p.again(ctx, t, func() error { return p.attempt(ctx, t) })
}

// again retries attempt until nobody else writes the watch at the same time.
func (p *pair) again(ctx context.Context, t *table.Table, attempt func() error) error {
	for range attempts {
		err := attempt()
		if !errors.Is(err, errMoved) {
			return err
		}
		w, err := Watches.Get(ctx, t, p.watch.WatchKey)
		if errors.Is(err, table.ErrNotFound) {
			w, err = Watch{WatchKey: p.watch.WatchKey}, nil
		}
		if err != nil {
			return err
		}
		p.watch = w
	}
	return fmt.Errorf("%w: %d times", errMoved, attempts)
}

func (p *pair) attempt(ctx context.Context, t *table.Table) error {
	w := p.rule.begun(p.watch)
	if p.rule.NoData {
		return p.heard(ctx, t, w)
	}
	first, last, any := p.changes(&w)
	if !any {
		return nil
	}
	_, err := p.derive(ctx, t, w, first, last)
	return err
}

// derive recomputes the alerts of the device and the rule that changes between two points can
// affect. It returns the number of alerts written.
func (p *pair) derive(ctx context.Context, t *table.Table, w Watch, first, last episode.Key) (wrote int, err error) {
	retractions, err := telemetry.RetractionsOfDevice.Collect(ctx, t, telemetry.DeviceIn{DeviceID: p.deviceID})
	if err != nil {
		return 0, err
	}
	d := &derivation{
		t: t, rule: p.rule, deviceID: p.deviceID, series: seriesOf(t, p.rule, p.deviceID, retractions), watch: w, first: first, last: last,
	}
	if err := d.run(ctx); err != nil {
		return 0, err
	}
	plan := d.plan(t.Now().UTC().Truncate(time.Millisecond))
	if err := decideAll(ctx, t, plan.changes); err != nil {
		return 0, err
	}
	return len(plan.changes), plan.commit(ctx, t)
}

// changes returns the range of points that changed for the rule. any is false if nothing can
// change: all readings are after Until and do not breach.
func (p *pair) changes(w *Watch) (first, last episode.Key, any bool) {
	note := func(k episode.Key) {
		if !any || k.Compare(first) < 0 {
			first = k
		}
		if !any || k.Compare(last) > 0 {
			last = k
		}
		any = true
	}
	if p.rule.Over != "" {
		for _, c := range p.aggregates {
			if at, err := bucketStart(c.period, c.start); err == nil && c.period == p.rule.Over {
				note(episode.Key{At: at.UnixMilli()})
			}
		}
		return first, last, any
	}
	for _, r := range p.retracted {
		note(episode.Key{At: r.From.UnixMilli()})
		note(episode.Key{At: r.To.UnixMilli()})
	}
	matters := any
	for _, r := range p.readings {
		point, ok := p.rule.point(r, nil)
		if !ok {
			continue
		}
		note(point.Key)
		matters = matters || w.Phase != episode.Idle || point.Compare(w.until()) < 0 || p.rule.levels.Breaches(&point.Value)
	}
	return first, last, matters
}

// pairsOf finds the rules of the affected devices, and their watches. A device without rules costs
// only its share in one query for the rules of its fleet.
func pairsOf(ctx context.Context, t *table.Table, s *batchChanges) ([]*pair, error) {
	r := &ruleBook{t: t, fleets: make(map[string]*fleetRules)}
	if err := r.read(ctx, s); err != nil {
		return nil, err
	}
	var pairs []*pair
	var keys []WatchKey
	at := make(map[WatchKey]*pair)
	for _, d := range s.devices {
		for _, c := range r.of(d) {
			p := &pair{deviceChanges: d, rule: c, watch: Watch{WatchKey: WatchKey{d.deviceID, c.RuleID}}}
			pairs, keys = append(pairs, p), append(keys, p.watch.WatchKey)
			at[p.watch.WatchKey] = p
		}
	}
	watches, err := Watches.GetMany(ctx, t, keys)
	if err != nil {
		return nil, err
	}
	for _, w := range watches {
		at[w.WatchKey].watch = w
	}
	return pairs, nil
}

// ruleBook caches the rules of the fleets of affected devices.
type ruleBook struct {
	t        *table.Table
	fleets   map[string]*fleetRules
	profiles map[string]string // by device, only in fleets with rules for profiles
}

type fleetRules struct{ device, profile map[string][]*compiled }

func (b *ruleBook) read(ctx context.Context, s *batchChanges) error {
	var unsure []telemetry.DeviceKey
	for _, d := range s.devices {
		if d.fleetID == "" { // the device is known only from a retraction
			device, err := telemetry.DeviceByID.Get(ctx, b.t, telemetry.DeviceIn{DeviceID: d.deviceID})
			if err != nil && !errors.Is(err, table.ErrNotFound) {
				return err
			}
			d.fleetID = device.FleetID
		}
		f := b.fleets[d.fleetID]
		if f == nil && d.fleetID != "" {
			var err error
			if f, err = readRules(ctx, b.t, d.fleetID); err != nil {
				return err
			}
			b.fleets[d.fleetID] = f
		}
		if f != nil && len(f.profile) > 0 {
			unsure = append(unsure, telemetry.DeviceKey{DeviceID: d.deviceID})
		}
	}
	devices, err := telemetry.Devices.GetMany(ctx, b.t, unsure)
	b.profiles = make(map[string]string, len(devices))
	for _, d := range devices {
		b.profiles[d.DeviceID] = d.ProfileID
	}
	return err
}

func readRules(ctx context.Context, t *table.Table, fleetID string) (*fleetRules, error) {
	f := &fleetRules{make(map[string][]*compiled), make(map[string][]*compiled)}
	for r, err := range telemetry.RulesOfFleet.All(ctx, t, telemetry.FleetIn{FleetID: fleetID}) {
		if err != nil {
			return nil, err
		}
		if r.Off {
			continue
		}
		c, err := compile(r)
		if err != nil {
			return nil, fmt.Errorf("alerts: rule %s: %w", r.RuleID, err)
		}
		c.since = r.UpdatedAt.UnixMilli()
		scope := f.device
		if r.Scope == telemetry.ForProfile {
			scope = f.profile
		}
		scope[r.ScopeID] = append(scope[r.ScopeID], c)
	}
	return f, nil
}

// of returns the rules of a device: its own, and those of its profile whose ID is not overridden.
func (b *ruleBook) of(d *deviceChanges) []*compiled {
	f := b.fleets[d.fleetID]
	if f == nil {
		return nil
	}
	all := f.device[d.deviceID]
	if profile := b.profiles[d.deviceID]; profile != "" {
		own := len(all)
		for _, c := range f.profile[profile] {
			if !slices.ContainsFunc(all[:own], func(o *compiled) bool { return o.RuleID == c.RuleID }) {
				all = append(all[:len(all):len(all)], c)
			}
		}
	}
	return all
}
