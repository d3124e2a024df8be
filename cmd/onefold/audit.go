package main

import (
	"context"
	"time"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/cmd/onefold/internal/auditcli"
)

// auditEnv is what the commands of the audit record stand on.
func (g *globals) auditEnv(std streams) *auditcli.Env {
	return &auditcli.Env{
		Out: std.out, Err: std.err, JSON: g.JSON, Now: time.Now,
		Open: func(ctx context.Context, work func(*accounts.Store) error) error {
			return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error { return work(s.accounts) })
		},
		Alarm: func(err error) error { return &exitError{exitDifferences, err} },
	}
}
