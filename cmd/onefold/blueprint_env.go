package main

import (
	"slices"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/onefold/internal/blueprintcli"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/examples/ledger"
	"github.com/onefold/onefold/examples/orders"
	"github.com/onefold/onefold/examples/social"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// blueprintEnv returns the environment of the commands that write design documents.
func (g *globals) blueprintEnv(std streams) *blueprintcli.Env {
	return &blueprintcli.Env{
		Out: std.out, Err: std.err, Place: g.place, JSON: g.JSON, Usage: g.usageFile(),
		Schemas:  []*table.Schema{products.Schema, analytics.Schema, telemetry.Schema, eventstore.Schema},
		Examples: []*table.Schema{ledger.Schema, orders.Schema, social.Schema},
		Flows:    flows(),
	}
}

// flows returns the folds that a process runs.
func flows() []blueprint.Flow {
	var all []blueprint.Flow
	for _, f := range slices.Concat(analytics.Folds(analytics.Config{}), telemetry.Folds(telemetry.Config{}), []*fold.Fold{alerts.Fold(), ledger.Notify()}, eventstore.Folds()) {
		all = append(all, blueprint.Flow{Name: f.Name(), From: f.From(), Into: f.Into()})
	}
	return all
}

// usageFile returns the path of the file in which a server records metered usage. It is next to the
// table's directory.
func (g *globals) usageFile() string { return g.Data + ".usage" }
