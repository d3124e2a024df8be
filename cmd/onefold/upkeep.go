package main

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/table"
)

// upkeepEvery is how often each kind of upkeep looks at every site. Nobody waits for it: open buckets are computed when
// they are read, and goals count from when they are made.
const upkeepEvery = time.Minute

// upkeep is what is done for sites now and then.
func upkeep(s *store, logger *slog.Logger) []service {
	each := func(what string, sites listing, do work) service {
		return func(ctx context.Context) error { return eachSite(ctx, s, logger, what, sites, do) }
	}
	return []service{
		each("roll-up", analytics.ListSites, rollUp),
		each("backfill of goals", analytics.ListSites, backfillGoals),
		each("erasure", analytics.ListSites, erase),
		each("purge of a deleted site", erasure.DeletedSites, purge),
		func(ctx context.Context) error { return telemetryUpkeep(ctx, s, logger) },
	}
}

type (
	listing func(ctx context.Context, t *table.Table, ownerID string) iter.Seq2[analytics.Site, error]
	work    func(ctx context.Context, s *store, site string) error
)

// eachSite does something for the sites of a list now and then. A failure is logged and tried again with the next round.
func eachSite(ctx context.Context, s *store, logger *slog.Logger, what string, sites listing, do work) error {
	ticker := time.NewTicker(upkeepEvery)
	defer ticker.Stop()
	for {
		for site, err := range sites(ctx, s.table, "") {
			if err == nil {
				err = do(ctx, s, site.SiteID)
			}
			if err != nil && ctx.Err() == nil {
				logger.Error(what+" failed", "site", site.SiteID, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

func rollUp(ctx context.Context, s *store, site string) error {
	_, err := reconcile.RollUp(ctx, s.table, site, time.Now())
	return err
}

func backfillGoals(ctx context.Context, s *store, site string) error {
	_, err := goals.Backfill(ctx, s.table, site)
	return err
}

// erase finishes erasures that were broken off, and deletes salts that the store was late to delete.
func erase(ctx context.Context, s *store, site string) error {
	return errors.Join(erasure.Resume(ctx, s.table, s.worker, site), erasure.Salts(ctx, s.table, site))
}

// purge takes roles, keys and shares of a deleted site away before its id can be taken again.
func purge(ctx context.Context, s *store, site string) error {
	err := s.accounts.ForgetSite(ctx, site)
	if err == nil {
		_, err = erasure.Purge(ctx, s.table, s.worker, site)
	}
	return err
}
