package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/onefold/onefold/cmd/onefold/internal/querycli"
	"github.com/onefold/onefold/warehouse"
)

// queryEnv is what the command that asks the warehouse stands on.
func (g *globals) queryEnv(std streams) *querycli.Env {
	return &querycli.Env{In: std.in, Out: std.out, Err: std.err, JSON: g.JSON, Beside: g.Data + ".warehouse", Objects: openObjects}
}

// openObjects opens the place of a warehouse.
func openObjects(_ context.Context, url string) (warehouse.Objects, error) {
	if strings.Contains(url, "://") {
		return nil, fmt.Errorf("bad_warehouse: %s: only directories can be asked", url)
	}
	return warehouse.OpenDir(url)
}
