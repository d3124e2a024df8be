package main

import (
	"context"
	"runtime/debug"

	"github.com/onefold/onefold/cmd/onefold/internal/ground"
	"github.com/onefold/onefold/cmd/onefold/internal/intake"
	"github.com/onefold/onefold/cmd/onefold/internal/place"
	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
)

// ground returns an open table in the form that product commands use.
func (s *store) ground() *ground.Store {
	return &ground.Store{Table: s.table, Worker: s.worker, Folding: s.folding, Streams: s.Streams, Stream: s.stream, Shared: s.Shared}
}

// ground returns the environment of the product commands.
func (g *globals) ground(std streams) *ground.Env {
	open := func(tune tuning) func(context.Context, func(*ground.Store) error) error {
		return func(ctx context.Context, work func(*ground.Store) error) error {
			return g.withStore(ctx, std.err, tune, func(s *store) error {
				return work(s.ground())
			})
		}
	}
	much := importTuning
	much.existing = true
	return &ground.Env{
		In: std.in, Out: std.out, Err: std.err, JSON: g.JSON, Data: g.Data, Logger: g.logger(std.err), NoTable: place.ErrNoTable,
		Make: open(tuning{}), Open: open(tuning{existing: true}),
		Load: func(ctx context.Context, work func(*ground.Store) error) error {
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(importMemory - engineOutsideGo))
			return open(much)(ctx, work)
		},
		Progress: func(files []string, quiet bool) (intake.Progress, func()) {
			bar := terminal.NewFiles(std.err, quiet, files)
			return bar, bar.Close
		},
		CheckFiles: func(names []string) error { return (&importCommand{Files: names}).checkFiles() },
	}
}
