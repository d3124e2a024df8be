// Package products assembles all products on one table: the schema and the folds. Every binary uses it, so that a
// server, a worker and a function on one table agree.
package products

import (
	"slices"
	"time"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/analytics/refusals"
	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/server/jobs"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/recount"
)

// TableName is what the one table is called where no store says otherwise.
const TableName = "onefold"

// Group names the folds' checkpoints: all folds advance together.
const Group = analytics.FoldGroup

// Schema is all that the table holds. Starting fails if two packages could write the same key.
var Schema = table.MustSchema("onefold", analytics.Schema, reconcile.Schema, explore.Schema, erasure.Schema, refusals.Days, refusals.ByDay, accounts.Schema, telemetry.Schema, recount.Schema, alerts.Schema, eventstore.Schema, jobs.Schema, migration.Schema)

// Folds are all that is derived from the changes of a table. wait is how long visitors' days and breakdowns may wait beyond a
// flush.
func Folds(t *table.Table, wait time.Duration) []*fold.Fold {
	return folds(analytics.Config{Retention: analytics.SiteRetention(t), Wait: wait}, telemetry.Config{Retention: telemetry.FleetRetention(t)})
}

func folds(a analytics.Config, t telemetry.Config) []*fold.Fold {
	return slices.Concat(analytics.Folds(a), telemetry.Folds(t), []*fold.Fold{alerts.Fold()}, eventstore.Folds())
}

// Sources are the entities whose changes are folded, by name: no others need to be brought to who folds.
func Sources() (all []string) {
	for _, f := range folds(analytics.Config{}, telemetry.Config{}) {
		all = append(all, f.From()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
