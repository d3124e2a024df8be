package main

import (
	"strings"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/onefold/internal/blueprintcli"
	"github.com/onefold/onefold/examples/ledger"
	"github.com/onefold/onefold/examples/orders"
	"github.com/onefold/onefold/examples/social"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// blueprintEnv returns the environment of the commands that write design documents.
func (g *globals) blueprintEnv(std streams) *blueprintcli.Env {
	return &blueprintcli.Env{
		Out: std.out, Err: std.err, Place: g.place, JSON: g.JSON, Usage: g.usageFile(),
		Schemas:  append([]*table.Schema{products.Schema}, products.Designs()...),
		Examples: []*table.Schema{ledger.Schema, orders.Schema, social.Schema},
		Flows:    flows(),
	}
}

func designNames() string {
	var names []string
	for _, s := range products.Designs() {
		names = append(names, s.Name())
	}
	return strings.Join(names, ", ")
}

// flows returns the folds that a process runs.
func flows() []blueprint.Flow {
	var all []blueprint.Flow
	for _, f := range append([]*fold.Fold{ledger.Notify()}, products.Folds(nil, delays.Holds{})...) {
		all = append(all, blueprint.Flow{Name: f.Name(), From: f.From(), Into: f.Into()})
	}
	return all
}

// usageFile returns the path of the file in which a server records metered usage. It is next to the
// table's directory.
func (g *globals) usageFile() string { return g.Data + ".usage" }
