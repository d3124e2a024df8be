package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/cmd/internal/assembly"
	"github.com/onefold/onefold/cmd/internal/relocation"
	"github.com/onefold/onefold/cmd/internal/upkeep"
	"github.com/onefold/onefold/cmd/onefold/internal/await"
	"github.com/onefold/onefold/cmd/onefold/internal/gauges"
	"github.com/onefold/onefold/cmd/onefold/internal/memory"
	"github.com/onefold/onefold/cmd/onefold/internal/place"
	"github.com/onefold/onefold/cmd/onefold/internal/supervise"
	"github.com/onefold/onefold/cmd/onefold/internal/workcli"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// tableName is the one table of a directory.
const tableName = assembly.TableName

// store is an open table with what runs on it.
type store struct {
	*place.Opened
	table    *table.Table
	accounts *accounts.Store
	worker   *fold.Worker
	archive  explore.Archive // nil: raw events are gone when they have expired
	works    bool            // as tuned
	stream   string          // ARN of the table's stream
	arn      string          // its own
	identity string          // what no other table has

	parts      *supervise.Parts       // that a server can do without for a while
	collectors []prometheus.Collector // of what runs beside a server
	budget     memory.Budget          // zero: there is none
	mqtt       gauges.MQTT            // its broker, if there is one
}

// tuning adapts the folds to the work at hand.
type tuning struct {
	flushChanges int                                        // 0: the runtime's default
	flushBytes   int                                        // 0: as the budget says, or else the runtime's default
	flushAge     time.Duration                              // 0: the runtime's default
	wait         time.Duration                              // of visitors' days and breakdowns, beyond that
	cacheBytes   int64                                      // the engine's; 0: its default
	known        int                                        // names of facts that folds keep in memory; 0: the default of fold.Options
	memory       *memory.Flags                              // it keeps within a budget; nil: there is none
	existing     bool                                       // the table must be there: commands that only read make none
	serves       bool                                       // it gives cursors to others, who may bring them to another server, or after a restart
	works        bool                                       // it folds beside other processes, where these are; else it waits for them
	leaseFor     time.Duration                              // 0: the runtime's default
	owner        string                                     // "": one that no other worker has
	waits        *await.Options                             // for a table that cannot be reached; nil: that is an error
	patience     time.Duration                              // with a service that does not answer, once it is open; 0: none
	clock        func() time.Time                           // nil: the system's
	sleep        func(context.Context, time.Duration) error // of the worker; nil: a timer
}

// openStore opens the table, makes one that is embedded and new, and prepares (but does not start) the fold worker.
func (g *globals) openStore(ctx context.Context, logs io.Writer, tune tuning) (*store, error) {
	logger := g.logger(logs)
	where, err := g.place()
	if err != nil {
		return nil, err
	}
	where.Patience = tune.patience
	o := g.engine(logs)
	o.CacheBytes, o.Clock = tune.cacheBytes, tune.clock
	var budget memory.Budget
	if tune.memory != nil {
		if budget, err = tune.memory.Budget(engineOutsideGo > 0); err != nil {
			return nil, &exitError{exitUsage, err}
		}
		o.CacheBytes, o.MemTableBytes = budget.Cache, budget.MemTable
	}
	opened, err := where.Open(ctx, o, tune.existing)
	if err != nil {
		return nil, err
	}
	api := opened.API
	if !opened.Shared { // what others write cannot be watched: their days are read each time
		api = explore.Watch(api)
	}
	s := &store{Opened: opened, parts: &supervise.Parts{Logger: logger}, works: tune.works || !opened.Shared, budget: budget}
	if s.table, err = tableOf(ctx, api, opened.Table, tune); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.accounts = accounts.New(s.table, accounts.Options{})
	if err := s.prepare(ctx, fold.Options{
		Group: assembly.Group, FlushChanges: tune.flushChanges, FlushBytes: cmp.Or(tune.flushBytes, int(budget.Folds)), FlushAge: tune.flushAge, Known: tune.known, Sleep: tune.sleep, Logger: logger,
		Leases: s.Shared, Aside: !tune.works, LeaseFor: tune.leaseFor, Owner: tune.owner,
	}, tune.wait); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.identity = where.Identity(s.arn)
	return s, nil
}

// tableOf is the table of an API. One that serves signs its cursors with a secret that all servers share.
func tableOf(ctx context.Context, api dynamo.API, name string, tune tuning) (*table.Table, error) {
	o := table.Options{Clock: tune.clock}
	t := table.New(api, name, o)
	if !tune.serves {
		return t, nil
	}
	var err error
	if o.CursorKey, err = accounts.SharedSecret(ctx, t, "cursors"); err != nil {
		return nil, err
	}
	return table.New(api, name, o), nil
}

// place is where the table of --store is, or else that of --data.
func (g *globals) place() (place.Place, error) { return place.Parse(g.Store, g.Data) }

// settle makes --data the directory of an embedded store: what belongs to a table is kept beside it.
func (g *globals) settle() error {
	where, err := g.place()
	if err == nil && where.Dir != "" {
		g.Data = where.Dir
	}
	return err
}

// within is a command line whose table is in a directory of its own.
func (g *globals) within(dir string) *globals {
	own := *g
	own.Data, own.Store = dir, ""
	return &own
}

// prepare makes the worker that folds the table's changes.
func (s *store) prepare(ctx context.Context, o fold.Options, wait time.Duration) error {
	described, err := s.API.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.Table})
	if err != nil {
		return err
	}
	s.stream, s.arn = aws.ToString(described.Table.LatestStreamArn), aws.ToString(described.Table.TableArn)
	source := streamsource.New(s.Streams, s.stream)
	s.worker, err = fold.NewWorker(s.table, source, assembly.Folds(s.table, wait), o)
	return err
}

// crew is the store's worker, and what is done for sites and devices now and then.
func (s *store) crew(logger *slog.Logger) *workcli.Crew {
	u := &upkeep.Upkeep{Table: s.table, Accounts: s.accounts, Folded: s.worker, Logger: logger}
	return &workcli.Crew{Table: s.table, Worker: s.worker, Group: assembly.Group, Shared: s.Shared, Upkeep: u.Services(), Logger: logger}
}

// folds are the services that fold and do what is due, and tell if there is somebody to be told, unless that is left to others.
func (s *store) folds(logger *slog.Logger, tell service) []service {
	if !s.works {
		return nil
	}
	crew := s.crew(logger)
	if tell != nil {
		crew.Upkeep = append(crew.Upkeep, s.parts.Keep("notifications", tell))
	}
	return []service{s.fold(logger), workcli.Once(crew, crew.Upkeep)}
}

// fold is the worker, for which it is no failure to stop on a disk that is full: what was read last is folded after the next start.
func (s *store) fold(logger *slog.Logger) service {
	return func(ctx context.Context) error {
		err := s.worker.Run(ctx)
		if ctx.Err() != nil && dynamo.IsFull(err) {
			logger.Warn("stopped on a full disk; the last changes are folded after the next start", "error", err)
			return nil
		}
		return err
	}
}

// untilMoved is a service that fails when the table has moved away: what it takes in would never get to the new place.
func (s *store) untilMoved(ctx context.Context) error { return relocation.Watch(ctx, s.API, s.Table) }

// withStore runs a command's work on an open store and closes it whatever happens. Being told to stop while a table is waited for is
// success.
func (g *globals) withStore(ctx context.Context, logs io.Writer, tune tuning, work func(*store) error) error {
	open := func(ctx context.Context) (*store, error) { return g.openStore(ctx, logs, tune) }
	if once := open; tune.waits != nil {
		open = func(ctx context.Context) (*store, error) { return await.Open(ctx, *tune.waits, once) }
	}
	s, err := open(ctx)
	if tune.waits != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	if tune.memory != nil {
		defer s.budget.Limit()()
	}
	err = work(s)
	if s.Shared {
		err = errors.Join(err, s.worker.Leave(ctx))
	}
	return errors.Join(err, s.Close())
}

// folding runs the fold worker beside the work, and stops it when the work is done.
func (s *store) folding(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := make(chan error, 1)
	workerCtx, stopWorker := context.WithCancel(ctx)
	defer stopWorker()
	go func() {
		err := s.worker.Run(workerCtx)
		if err != nil && workerCtx.Err() == nil {
			cancel(fmt.Errorf("fold: %w", err)) // the work cannot go on without its folds
		}
		stopped <- err
	}()
	err := work(ctx)
	if cause := context.Cause(ctx); errors.Is(err, context.Canceled) && cause != nil {
		err = cause
	}
	stopWorker()
	if folded := <-stopped; err == nil && folded != nil && !errors.Is(folded, context.Canceled) {
		err = folded
	}
	return err
}
