package main

import (
	"context"

	"github.com/onefold/onefold/cmd/onefold/internal/querycli"
	"github.com/onefold/onefold/cmd/onefold/internal/warehousecli"
	"github.com/onefold/onefold/warehouse"
)

// queryEnv returns the environment of the query command.
func (g *globals) queryEnv(std streams) *querycli.Env {
	return &querycli.Env{In: std.in, Out: std.out, Err: std.err, JSON: g.JSON, Beside: warehousecli.Place("", g.Data), Objects: openObjects}
}

// openObjects opens the storage of a warehouse.
func openObjects(ctx context.Context, place string) (warehouse.Objects, error) {
	return warehousecli.Objects(ctx, place, true)
}
