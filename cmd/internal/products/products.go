// Package products combines all products in one table: its schema and its folds. Every binary uses
// it, so that a server, a worker and a function on the same table agree.
package products

import (
	"slices"

	"github.com/onefold/onefold/analytics"
	sitealerts "github.com/onefold/onefold/analytics/alerts"
	"github.com/onefold/onefold/analytics/annotations"
	"github.com/onefold/onefold/analytics/digest"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/filtered"
	"github.com/onefold/onefold/analytics/installation"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/analytics/segments"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventschema"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/eventstore/subscription"
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

// Product is what a product adds to the table.
type Product struct {
	Design *table.Schema // what docs/design describes, in a document of its name
	Others []table.Part  // what it stores besides
	// Folds returns its folds. Without a table they only tell what they read and write.
	Folds func(t *table.Table, holds delays.Holds) []*fold.Fold
}

// All lists the products.
var All = []Product{{
	Design: analytics.Schema,
	Others: []table.Part{reconcile.Schema, explore.Schema, erasure.Schema, annotations.Schema, installation.Checks, segments.Schema, notify.Schema, digest.Schema, sitealerts.Schema, filtered.Days, filtered.ByDay},
	Folds: func(t *table.Table, holds delays.Holds) []*fold.Fold {
		return analytics.Folds(analytics.Config{Retention: analytics.SiteRetention(t), Wait: holds.Visits})
	},
}, {
	Design: telemetry.Schema,
	Others: []table.Part{recount.Schema, alerts.Schema},
	Folds: func(t *table.Table, holds delays.Holds) []*fold.Fold {
		return append(telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(t), Wait: holds.Devices}), alerts.Fold())
	},
}, {
	Design: eventstore.Schema,
	Others: []table.Part{subscription.Schema, eventschema.Tables, shred.Tables},
	Folds:  func(*table.Table, delays.Holds) []*fold.Fold { return eventstore.Folds() },
}}

// Schema is the schema of the whole table. The program panics at startup if two packages could
// write the same key.
var Schema = table.MustSchema("onefold", parts()...)

func parts() (all []table.Part) {
	for _, p := range All {
		all = append(append(all, p.Design), p.Others...)
	}
	return append(all, accounts.Schema, jobs.Schema, migration.Schema)
}

// Designs returns the schemas that have a design document.
func Designs() (all []*table.Schema) {
	for _, p := range All {
		all = append(all, p.Design)
	}
	return all
}

// Folds returns all folds of a table.
func Folds(t *table.Table, holds delays.Holds) (all []*fold.Fold) {
	for _, p := range All {
		all = append(all, p.Folds(t, holds)...)
	}
	return all
}

// Sources returns the names of the entities whose changes are folded. Event sources can filter out
// all others.
func Sources() (all []string) {
	for _, f := range Folds(nil, delays.Holds{}) {
		all = append(all, f.From()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
