package main

import (
	"context"

	"github.com/onefold/onefold/cmd/internal/bulkimport"
	"github.com/onefold/onefold/cmd/internal/goruntime"
	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
)

// env returns an open table in the form that product commands use.
func (s *store) env() *cmdenv.Store {
	return &cmdenv.Store{Table: s.table, Worker: s.worker, Folding: s.folding, Streams: s.Streams, Stream: s.stream, Shared: s.Shared}
}

// env returns the environment of the product commands.
func (g *globals) env(std streams) *cmdenv.Env {
	open := func(tune tuning) func(context.Context, func(*cmdenv.Store) error) error {
		return func(ctx context.Context, work func(*cmdenv.Store) error) error {
			return g.withStore(ctx, std.err, tune, func(s *store) error {
				return work(s.env())
			})
		}
	}
	much := importTuning
	much.existing = true
	return &cmdenv.Env{
		In: std.in, Out: std.out, Err: std.err, JSON: g.JSON, Data: g.Data, Logger: g.logger(std.err), NoTable: storeurl.ErrNoTable,
		Make: open(tuning{}), Open: open(tuning{existing: true}),
		Load: func(ctx context.Context, work func(*cmdenv.Store) error) error {
			defer goruntime.LimitMemory(bulkimport.Memory)()
			return open(much)(ctx, work)
		},
		Progress: func(files []string, quiet bool) (logimport.Progress, func()) {
			bar := terminal.NewFiles(std.err, quiet, files)
			return bar, bar.Close
		},
		CheckFiles: func(names []string) error { return (&importCommand{Files: names}).checkFiles() },
	}
}
