// Package maintenance runs scheduled work: roll-ups, backfills of goals, erasures, purges, and the work that is due for
// devices and fleets. A server runs it in a loop, a function once per invocation; several processes may run it on one table.
package maintenance

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/internal/gaprepair"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/maintenance"
	"github.com/onefold/onefold/telemetry/presence"
)

// Upkeep is what has to be looked after. All fields are required.
type Upkeep struct {
	Table    *table.Table
	Accounts *accounts.Store
	Folded   reconcile.Folded
	Logger   *slog.Logger
}

// How often each kind of upkeep looks at everything. Nobody waits for it: open buckets are computed when they are read, and
// goals count from when they are made.
const (
	sitesEvery   = time.Minute
	devicesEvery = 30 * time.Second
)

// duty is one kind of upkeep.
type duty struct {
	what  string
	every time.Duration
	// round does what is due, as far as ctx lets it, and returns how many sites, or fleets' worth of work, failed.
	round func(ctx context.Context) (failed int)
}

// alwaysListening is for functions: readings are taken in elsewhere, whether or not one of these runs.
func alwaysListening(time.Time) time.Time { return time.Time{} }

func (u *Upkeep) duties(listening func(now time.Time) time.Time) []duty {
	return []duty{
		u.ofSites("roll-up", analytics.ListSites, u.rollUp),
		u.ofSites("backfill of goals", analytics.ListSites, u.backfillGoals),
		u.ofSites("erasure", analytics.ListSites, u.erase),
		u.ofSites("purge of a deleted site", erasure.DeletedSites, u.purge),
		{"maintenance of devices", devicesEvery, func(ctx context.Context) int { return u.devices(ctx, listening(u.Table.Now())) }},
		{"what was missed", sitesEvery, u.missed},
	}
}

// Services do what is due until their context ends: at once, and then again and again. A failure is logged and tried again with
// the next round. Who runs them listens to devices: while the process was away, nobody could hear them.
func (u *Upkeep) Services() (all []func(context.Context) error) {
	for _, d := range u.duties(new(presence.Listening).Since) {
		all = append(all, d.run)
	}
	return all
}

func (d *duty) run(ctx context.Context) error {
	ticker := time.NewTicker(d.every)
	defer ticker.Stop()
	for {
		d.round(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// Done is what Once did.
type Done struct {
	Failed     int // sites of which something failed, counted once a kind of upkeep
	Unfinished int // kinds of upkeep for which the time did not suffice
}

// Once does what is due, once round. If ctx has a deadline, each kind of upkeep has an equal part of the time that the ones
// before it left, so that none keeps the others waiting for ever. What is not finished goes on the next time.
func (u *Upkeep) Once(ctx context.Context, now func() time.Time) (done Done) {
	all := u.duties(alwaysListening)
	for i, d := range all {
		part, cancel := ctx, func() {}
		if end, bounded := ctx.Deadline(); bounded {
			start := now()
			part, cancel = context.WithDeadline(ctx, start.Add(end.Sub(start)/time.Duration(len(all)-i)))
		}
		failed := d.round(part)
		if part.Err() != nil {
			done.Unfinished++
		}
		done.Failed += failed
		cancel()
	}
	return done
}

type (
	listing func(ctx context.Context, t *table.Table, ownerID string) iter.Seq2[analytics.Site, error]
	work    func(ctx context.Context, site string) error
)

// ofSites does something for the sites of a list.
func (u *Upkeep) ofSites(what string, sites listing, do work) duty {
	return duty{what, sitesEvery, func(ctx context.Context) (failed int) {
		for site, err := range sites(ctx, u.Table, "") {
			if ctx.Err() != nil {
				break
			}
			if err == nil {
				err = do(ctx, site.SiteID)
			}
			if err != nil && ctx.Err() == nil {
				failed++
				u.Logger.Error(what+" failed", "site", site.SiteID, "error", err)
			}
		}
		return failed
	}}
}

func (u *Upkeep) rollUp(ctx context.Context, site string) error {
	_, err := reconcile.RollUp(ctx, u.Table, site, u.Table.Now())
	return err
}

func (u *Upkeep) backfillGoals(ctx context.Context, site string) error {
	_, err := goals.Backfill(ctx, u.Table, site)
	return err
}

// erase finishes erasures that were broken off, and deletes salts that the store was late to delete.
func (u *Upkeep) erase(ctx context.Context, site string) error {
	return errors.Join(erasure.Resume(ctx, u.Table, u.Folded, site), erasure.Salts(ctx, u.Table, site))
}

// purge takes roles, keys and shares of a deleted site away before its id can be taken again.
func (u *Upkeep) purge(ctx context.Context, site string) error {
	err := u.Accounts.ForgetSite(ctx, site)
	if err == nil {
		_, err = erasure.Purge(ctx, u.Table, u.Folded, site)
	}
	return err
}

// devices does what waits for devices and fleets.
func (u *Upkeep) devices(ctx context.Context, listening time.Time) (failed int) {
	_, waiting := maintenance.Run(ctx, u.Table, u.Folded)
	_, silent := presence.Sweep(ctx, u.Table, listening)
	if err := errors.Join(waiting, silent, alerts.Sweep(ctx, u.Table, listening)); err != nil && ctx.Err() == nil {
		u.Logger.Error("maintenance of devices failed", "error", err)
		return 1
	}
	return 0
}

// missed makes again what changes touch that nobody has folded while the stream kept them.
func (u *Upkeep) missed(ctx context.Context) (failed int) {
	m := gaprepair.Mender{Table: u.Table, Folded: u.Folded, Logger: u.Logger}
	if err := m.Run(ctx); err != nil && ctx.Err() == nil {
		u.Logger.Error("repairing a gap failed; will retry", "error", err)
		return 1
	}
	return 0
}
