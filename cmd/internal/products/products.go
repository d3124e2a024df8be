// Package products combines all products in one table: its schema and its folds. Every binary uses
// it, so that a server, a worker and a function on the same table agree.
package products

import (
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/filtered"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/jobs"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/recount"
)

// TableName is the default name of the table.
const TableName = "onefold"

// Group is the group of the folds' checkpoints: all folds advance together.
const Group = analytics.FoldGroup

// Schema is the schema of the whole table. The program panics at startup if two packages could
// write the same key.
var Schema = table.MustSchema("onefold", analytics.Schema, reconcile.Schema, explore.Schema, erasure.Schema, filtered.Days, filtered.ByDay, accounts.Schema, telemetry.Schema, recount.Schema, alerts.Schema, eventstore.Schema, jobs.Schema, migration.Schema)

// Folds returns all folds of a table. wait is how long visitors' days and breakdowns may be held
// after a flush is due.
func Folds(t *table.Table, wait time.Duration) []*fold.Fold {
	return folds(analytics.Config{Retention: analytics.SiteRetention(t), Wait: wait}, telemetry.Config{Retention: telemetry.FleetRetention(t)})
}

func folds(a analytics.Config, t telemetry.Config) []*fold.Fold {
	return slices.Concat(analytics.Folds(a), telemetry.Folds(t), []*fold.Fold{alerts.Fold()}, eventstore.Folds())
}

// Sources returns the names of the entities whose changes are folded. Event sources can filter out
// all others.
func Sources() (all []string) {
	for _, f := range folds(analytics.Config{}, telemetry.Config{}) {
		all = append(all, f.From()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
