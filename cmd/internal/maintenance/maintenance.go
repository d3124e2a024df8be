// Package maintenance runs maintenance: roll-ups, backfills of goals, erasures, purges, reports, alerts
// of sites, the timers of devices and fleets, and repairs of gaps. A server runs it in rounds; a function
// runs one round per invocation. Several processes may run it on one table.
package maintenance

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/onefold/onefold/analytics"
	sitealerts "github.com/onefold/onefold/analytics/alerts"
	"github.com/onefold/onefold/analytics/digest"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/internal/gaprepair"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/maintenance"
	"github.com/onefold/onefold/telemetry/presence"
)

// Maintenance is the maintenance of a table. All fields are required.
type Maintenance struct {
	Table    *table.Table
	Accounts *accounts.Store
	Folded   reconcile.Folded
	Logger   *slog.Logger
}

// Intervals of the maintenance jobs. Nobody waits for them: open buckets are computed when they are
// read, and goals count from their creation.
const (
	sitesEvery   = time.Minute
	devicesEvery = 30 * time.Second
	reportsEvery = 30 * time.Second
	alertsEvery  = 30 * time.Second
)

// job is a maintenance job.
type job struct {
	what  string
	every time.Duration
	// round runs the job until it is done or ctx ends. It returns the number of sites, or fleets,
	// that failed.
	round func(ctx context.Context) (failed int)
}

// alwaysListening is for functions: other processes accept readings, whether or not a function
// runs.
func alwaysListening(time.Time) time.Time { return time.Time{} }

func (u *Maintenance) jobs(listening func(now time.Time) time.Time) []job {
	return []job{
		u.ofSites("roll-up", analytics.ListSites, u.rollUp),
		u.ofSites("backfill of goals", analytics.ListSites, u.backfillGoals),
		u.ofSites("erasure", analytics.ListSites, u.erase),
		u.ofSites("purge of a deleted site", erasure.DeletedSites, u.purge),
		{"reports", reportsEvery, u.reports},
		{"alerts of sites", alertsEvery, u.siteAlerts},
		{"maintenance of devices", devicesEvery, func(ctx context.Context) int { return u.devices(ctx, listening(u.Table.Now())) }},
		{"repair of gaps", sitesEvery, u.repairGaps},
	}
}

// Services returns the jobs as services: each runs at once, and then at its interval until its
// context ends. A failure is logged, and the job runs again in the next round. The process is taken
// to be the one that accepts readings: a device is not considered silent for the time in which the
// process was down.
func (u *Maintenance) Services() (all []func(context.Context) error) {
	for _, d := range u.jobs(new(presence.Listening).Since) {
		all = append(all, d.run)
	}
	return all
}

func (d *job) run(ctx context.Context) error {
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

// Done is the result of Once.
type Done struct {
	Failed     int // failed sites, counted once per job
	Unfinished int // jobs that did not finish in time
}

// Once runs one round of all jobs. If ctx has a deadline, each job gets an equal share of the time
// that the jobs before it left, so that none starves the others. Unfinished work is continued in
// the next round.
func (u *Maintenance) Once(ctx context.Context, now func() time.Time) (done Done) {
	all := u.jobs(alwaysListening)
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

// ofSites returns a job that runs do for each listed site.
func (u *Maintenance) ofSites(what string, sites listing, do work) job {
	return job{what, sitesEvery, func(ctx context.Context) (failed int) {
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

func (u *Maintenance) rollUp(ctx context.Context, site string) error {
	_, err := reconcile.RollUp(ctx, u.Table, site, u.Table.Now())
	return err
}

func (u *Maintenance) backfillGoals(ctx context.Context, site string) error {
	_, err := goals.Backfill(ctx, u.Table, site)
	return err
}

// erase completes interrupted erasures, and deletes salts that the store has not deleted in time.
func (u *Maintenance) erase(ctx context.Context, site string) error {
	return errors.Join(erasure.Resume(ctx, u.Table, u.Folded, site), erasure.Salts(ctx, u.Table, site))
}

// purge removes roles, keys and shares of a deleted site before its ID can be used again.
func (u *Maintenance) purge(ctx context.Context, site string) error {
	err := u.Accounts.RemoveSite(ctx, site)
	if err == nil {
		_, err = erasure.Purge(ctx, u.Table, u.Folded, site)
	}
	return err
}

// reports sends the reports of sites that are due.
func (u *Maintenance) reports(ctx context.Context) (failed int) {
	if _, err := digest.Send(ctx, u.Table); err != nil && ctx.Err() == nil {
		u.Logger.Error("making reports failed; will retry", "error", err)
		return 1
	}
	return 0
}

// countingTime is how long alerts of sites wait for events to be counted, until they try again.
const countingTime = time.Minute

// siteAlerts judges the hours of sites that have ended, once everything that has arrived is counted.
func (u *Maintenance) siteAlerts(ctx context.Context) (failed int) {
	counted := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, countingTime)
		defer cancel()
		return u.Folded.Drain(ctx)
	}
	if _, err := sitealerts.Evaluate(ctx, u.Table, counted); err != nil && ctx.Err() == nil {
		u.Logger.Error("evaluating alerts of sites failed; will retry", "error", err)
		return 1
	}
	return 0
}

// devices runs the timers of devices and fleets.
func (u *Maintenance) devices(ctx context.Context, listening time.Time) (failed int) {
	_, waiting := maintenance.Run(ctx, u.Table, u.Folded)
	_, silent := presence.Sweep(ctx, u.Table, listening)
	if err := errors.Join(waiting, silent, alerts.Sweep(ctx, u.Table, listening)); err != nil && ctx.Err() == nil {
		u.Logger.Error("maintenance of devices failed", "error", err)
		return 1
	}
	return 0
}

// repairGaps repairs gaps in what the folds have read.
func (u *Maintenance) repairGaps(ctx context.Context) (failed int) {
	m := gaprepair.Repairer{Table: u.Table, Folded: u.Folded, Logger: u.Logger}
	if err := m.Run(ctx); err != nil && ctx.Err() == nil {
		u.Logger.Error("repairing a gap failed; will retry", "error", err)
		return 1
	}
	return 0
}
