// Package mend makes again what changes touch that no worker has folded: none ran while the stream kept them. The facts are still in
// the table, so what is derived from them can be made anew, unless they have expired since.
package mend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/internal/assembly"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// Mender makes things again. All fields are required.
type Mender struct {
	Table  *table.Table
	Folded reconcile.Folded
	Logger *slog.Logger
}

// leadWithin is how long Run waits for another process that does the same: for longer than its lease holds if it is dead.
const leadWithin = 45 * time.Second

// Run makes again what the table's folds have missed, if they have missed anything and no other process is at it.
func (m *Mender) Run(ctx context.Context) error {
	if open, err := m.open(ctx); err != nil || !open {
		return err
	}
	waiting, giveUp := context.WithCancel(ctx)
	defer giveUp()
	timer := time.AfterFunc(leadWithin, giveUp)
	defer timer.Stop()
	err := fold.Lead(waiting, m.Table, "mend", fold.LeadOptions{Logger: m.Logger}, func(leading context.Context) error {
		if !timer.Stop() {
			return leading.Err()
		}
		defer timer.Reset(leadWithin) // if another took over
		mended, err := fold.Mend(leading, m.Table, assembly.Group, m.Rebuild)
		if mended {
			m.Logger.Warn("what was missed is made again; onefold work status tells more")
		}
		return err
	})
	if waiting.Err() != nil && ctx.Err() == nil {
		m.Logger.Info("another process makes again what was missed")
		return nil
	}
	return err
}

// open reports whether anything is to be made again.
func (m *Mender) open(ctx context.Context) (bool, error) {
	for missed, err := range fold.MissesOf.All(ctx, m.Table, fold.GroupIn{Group: assembly.Group}) {
		if err != nil {
			return false, fmt.Errorf("mend: %w", err)
		}
		if missed.Mended.IsZero() {
			return true, nil
		}
	}
	return false, nil
}

// Rebuild makes again what facts touch that were stored from one time to another, and says in words what it did. It may be
// repeated, also when it was broken off.
func (m *Mender) Rebuild(ctx context.Context, from, to time.Time) (string, error) {
	m.Logger.Warn("making again what was missed", "from", from, "to", to)
	d := &did{}
	for _, work := range []func(context.Context, time.Time, *did) error{m.sites, m.fleets, m.events} {
		if err := work(ctx, from, d); err != nil {
			return "", err
		}
	}
	return d.String(), nil
}

// did is what was done.
type did struct {
	sites, days, items     int
	devices, aggregates    int
	alerts                 int
	feed                   int
	sealedDays, sealedAggs []string
}

// String is it in words.
func (d *did) String() string {
	s := fmt.Sprintf("%d days of %d sites (%d items differed), %d devices (%d aggregates differed, %d alerts), %d appends in the feed of events",
		d.days, d.sites, d.items, d.devices, d.aggregates, d.alerts, d.feed)
	if sealed := slices.Concat(d.sealedDays, d.sealedAggs); len(sealed) > 0 {
		s += fmt.Sprintf("; %d could not be made again, for their raw facts have expired: %s", len(sealed), strings.Join(sealed[:min(len(sealed), maxTold)], ", "))
	}
	return s
}

// maxTold is how many of a kind are told by name.
const maxTold = 20

// sites rebuilds the days of sites that have events which were stored since.
func (m *Mender) sites(ctx context.Context, since time.Time, d *did) error {
	for site, err := range analytics.ListSites(ctx, m.Table, "") {
		if err != nil {
			return fmt.Errorf("mend: %w", err)
		}
		days, err := m.daysOf(ctx, &site, since)
		if err != nil {
			return fmt.Errorf("mend site %s: %w", site.SiteID, err)
		}
		if len(days) > 0 {
			d.sites++
		}
		for _, day := range days {
			found, err := reconcile.Rebuild(ctx, m.Table, m.Folded, reconcile.RangeIn{Site: site.SiteID, From: day, To: day}, nil)
			d.items += int(found.Count)
			switch {
			case errors.Is(err, analytics.ErrSealed):
				d.sealedDays = append(d.sealedDays, site.SiteID+" "+day)
			case err != nil:
				return fmt.Errorf("mend: %w", err)
			default:
				d.days++
			}
		}
	}
	return nil
}

// usuallyWithin is how much before its arrival an event may be without saying when it arrived.
const usuallyWithin = 24 * time.Hour

// daysOf returns the days of events that were stored since, in the site's zone. Events say when they came if that was more than
// a day after their time.
func (m *Mender) daysOf(ctx context.Context, site *analytics.Site, since time.Time) ([]string, error) {
	zone, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return nil, err
	}
	now := m.Table.Now()
	days := make(map[string]bool)
	for _, day := range calendar.Days(zone.Day(since.Add(-usuallyWithin)), zone.Day(now)) {
		days[day] = true
	}
	in := analytics.EventsBetween(site, time.UnixMilli(0), since.Add(-usuallyWithin), "")
	for e, err := range analytics.EventsByTime.All(ctx, m.Table, in) {
		if err != nil {
			return nil, err
		}
		if e.Arrived < since.Unix() {
			continue
		}
		at, err := e.Time()
		if err != nil {
			return nil, err
		}
		days[zone.Day(at)] = true
	}
	return slices.Sorted(maps.Keys(days)), nil
}

// fleets makes again what readings touch, device by device, and then the alerts of fleets.
func (m *Mender) fleets(ctx context.Context, since time.Time, d *did) error {
	for fleet, err := range telemetry.ListFleets(ctx, m.Table, "") {
		if err != nil {
			return fmt.Errorf("mend: %w", err)
		}
		zone, err := calendar.LoadZone(fleet.TimeZone)
		if err != nil {
			return fmt.Errorf("mend fleet %s: %w", fleet.FleetID, err)
		}
		before := d.devices
		for _, status := range []telemetry.DeviceStatus{telemetry.Active, telemetry.Maintenance, telemetry.Provisioned, telemetry.Inactive, telemetry.Retired} {
			for device, err := range telemetry.DevicesByStatus.All(ctx, m.Table, telemetry.StatusIn{Status: status}) {
				if err == nil && device.FleetID == fleet.FleetID && device.DeletedAt.IsZero() {
					err = m.device(ctx, device.DeviceID, zone, since, d)
				}
				if err != nil {
					return fmt.Errorf("mend fleet %s: %w", fleet.FleetID, err)
				}
			}
		}
		if d.devices == before {
			continue
		}
		made, err := alerts.Rebuild(ctx, m.Table, m.Folded, fleet.FleetID)
		if err != nil {
			return fmt.Errorf("mend: %w", err)
		}
		d.alerts += made.Alerts
		d.aggregates += made.Aggregates
	}
	return nil
}

// device makes aggregates of the days of a device again that have readings which were stored since, and its status.
func (m *Mender) device(ctx context.Context, id string, zone calendar.Zone, since time.Time, d *did) error {
	days := make(map[string]time.Time)
	err := telemetry.CatchUpStatus(ctx, m.Table, id, func(yield func(telemetry.Reading, error) bool) {
		for r, err := range telemetry.NewestReadings.All(ctx, m.Table, telemetry.DeviceIn{DeviceID: id}) {
			if err == nil && r.Arrived < since.UnixMilli() {
				continue
			}
			days[zone.Day(r.At)] = r.At
			if !yield(r, err) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if len(days) > 0 {
		d.devices++
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		made, err := telemetry.Rebuild(ctx, m.Table, m.Folded, id, days[day], days[day].Add(time.Millisecond))
		d.aggregates += made.Count
		for _, sealed := range made.Sealed {
			d.sealedAggs = append(d.sealedAggs, id+" "+sealed)
		}
		if err != nil && !errors.Is(err, telemetry.ErrSealed) {
			return err
		}
	}
	return nil
}

// events appends what the feed lacks.
func (m *Mender) events(ctx context.Context, _ time.Time, d *did) error {
	store, err := eventstore.New(m.Table, eventstore.Options{})
	if err != nil {
		return fmt.Errorf("mend: %w", err)
	}
	repaired, err := store.RepairFeed(ctx, m.Folded.Drain)
	d.feed = repaired.Commits
	return err
}
