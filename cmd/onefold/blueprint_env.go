package main

import (
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/onefold/internal/blueprintcli"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/examples/orders"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// blueprintEnv is what the commands that write documents stand on.
func (g *globals) blueprintEnv(std streams) *blueprintcli.Env {
	return &blueprintcli.Env{
		Out: std.out, JSON: g.JSON,
		Schemas:  []*table.Schema{schema, analytics.Schema, telemetry.Schema, eventstore.Schema},
		Examples: []*table.Schema{orders.Schema},
	}
}
