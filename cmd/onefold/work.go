package main

import (
	"context"
	"time"

	"github.com/onefold/onefold/cmd/internal/goruntime"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/onefold/internal/auditcli"
	"github.com/onefold/onefold/cmd/onefold/internal/await"
	"github.com/onefold/onefold/cmd/onefold/internal/workcli"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

// workEnv returns the environment of the worker commands.
func (g *globals) workEnv(std streams) *workcli.Env {
	return &workcli.Env{
		Out: std.out, Err: std.err, JSON: g.JSON, Version: version,
		Open: func(ctx context.Context, t workcli.Tuning, work func(*workcli.Process) error) error {
			tune := delayed(&t.Delays)
			tune.memory = &t.Memory
			tune.existing, tune.leaseFor, tune.owner = true, t.LeaseFor, t.Owner
			tune.waits = &await.Options{Flag: "--metrics", Addr: t.Addr, Err: std.err}
			defer goruntime.CollectLessOften()()
			return g.withStore(ctx, std.err, tune, func(s *store) error { return work(s.process(g.logger(std.err))) })
		},
		Look: func(ctx context.Context, work func(*table.Table, string) error) error {
			return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error { return work(s.table, products.Group) })
		},
		Alarm: func(err error) error { return &exitError{exitDifferences, err} },
	}
}

// auditEnv returns the environment of the audit commands.
func (g *globals) auditEnv(std streams) *auditcli.Env {
	return &auditcli.Env{
		Out: std.out, Err: std.err, JSON: g.JSON, Now: time.Now,
		Open: func(ctx context.Context, work func(*accounts.Store) error) error {
			return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error { return work(s.accounts) })
		},
		Alarm: func(err error) error { return &exitError{exitDifferences, err} },
	}
}
