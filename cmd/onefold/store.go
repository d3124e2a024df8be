package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/goruntime"
	"github.com/onefold/onefold/cmd/internal/maintenance"
	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/internal/outbox"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/cmd/onefold/internal/await"
	"github.com/onefold/onefold/cmd/onefold/internal/gauges"
	"github.com/onefold/onefold/cmd/onefold/internal/memory"
	"github.com/onefold/onefold/cmd/onefold/internal/supervise"
	"github.com/onefold/onefold/cmd/onefold/internal/workcli"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

// tableName is the name of the only table in a directory.
const tableName = products.TableName

// store is an open table with the services that run on it.
type store struct {
	*storeurl.Opened
	table    *table.Table
	accounts *accounts.Store
	worker   *fold.Worker
	archive  explore.Archive // nil: raw events are not available after they expire
	works    bool            // from tuning
	stream   string          // ARN of the table's stream
	arn      string          // ARN of the table
	identity string          // unique ID of the table

	parts      *supervise.Parts       // services that may fail for a while without stopping the server
	collectors []prometheus.Collector // metrics of services alongside the server
	budget     memory.Budget          // zero: no budget
	mqtt       gauges.MQTT            // metrics of the MQTT broker, if there is one
	sent       outbox.Counts          // attempts to send messages
}

// tuning adapts the folds and the store to a command.
type tuning struct {
	flushChanges int            // 0: default of fold.Options
	flushBytes   int            // 0: from the memory budget, or the default of fold.Options
	flushAge     time.Duration  // 0: default of fold.Options
	holds        delays.Holds   // of derived items
	cacheBytes   int64          // cache of the engine; 0: its default
	known        int            // fact names that folds keep in memory; 0: default of fold.Options
	memory       *memory.Flags  // memory budget; nil: none
	existing     bool           // fail if the table does not exist: read-only commands create none
	serves       bool           // sign cursors, which clients may send to another server or after a restart
	works        bool           // fold alongside other processes of a shared table; otherwise wait for them
	leaseFor     time.Duration  // 0: default of fold.Options
	owner        string         // "": a unique name
	waits        *await.Options // wait for an unreachable table; nil: fail
	patience     time.Duration  // how long to retry an unavailable service after opening; 0: no retries
}

// openStore opens the table and prepares the fold worker, but does not start it. A new embedded
// table is created.
func (g *globals) openStore(ctx context.Context, logs io.Writer, tune tuning) (*store, error) {
	logger := g.logger(logs)
	where, err := g.place()
	if err != nil {
		return nil, err
	}
	where.Patience = tune.patience
	o := g.engine(logs)
	o.CacheBytes = tune.cacheBytes
	var budget memory.Budget
	if tune.memory != nil {
		if budget, err = tune.memory.Budget(goruntime.OutsideHeap > 0); err != nil {
			return nil, &exitError{exitUsage, err}
		}
		o.CacheBytes, o.MemTableBytes = budget.Cache, budget.MemTable
	}
	opened, err := where.Open(ctx, o, tune.existing)
	if err != nil {
		return nil, err
	}
	api := opened.API
	if !opened.Shared { // other processes' writes cannot be watched, so days of a shared table are not cached
		api = explore.Watch(api)
	}
	s := &store{Opened: opened, parts: &supervise.Parts{Logger: logger}, works: tune.works || !opened.Shared, budget: budget}
	if s.table, err = tableOf(ctx, api, opened.Table, tune); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.accounts = accounts.New(s.table, accounts.Options{})
	if err := s.prepare(ctx, fold.Options{
		Group: products.Group, FlushChanges: tune.flushChanges, FlushBytes: cmp.Or(tune.flushBytes, int(budget.Folds)), FlushAge: tune.flushAge, Known: tune.known, Logger: logger,
		Leases: s.Shared, LeaseFree: !tune.works, LeaseFor: tune.leaseFor, Owner: tune.owner,
	}, tune.holds); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.identity = where.Identity(s.arn)
	return s, nil
}

// tableOf returns the table of an API. For a server it has the secret that signs cursors, which all
// servers of the table share.
func tableOf(ctx context.Context, api dynamo.API, name string, tune tuning) (*table.Table, error) {
	t := table.New(api, name, table.Options{})
	if !tune.serves {
		return t, nil
	}
	secret, err := accounts.SharedSecret(ctx, t, "cursors")
	if err != nil {
		return nil, err
	}
	return table.New(api, name, table.Options{CursorKey: secret}), nil
}

// place returns the store of --store, or of --data if --store is not set.
func (g *globals) place() (storeurl.Location, error) { return storeurl.Parse(g.Store, g.Data) }

// settle sets --data to the directory of an embedded store, because companion files are kept next
// to it.
func (g *globals) settle() error {
	where, err := g.place()
	if err == nil && where.Dir != "" {
		g.Data = where.Dir
	}
	return err
}

// within returns a copy of the globals with the table in dir.
func (g *globals) within(dir string) *globals {
	own := *g
	own.Data, own.Store = dir, ""
	return &own
}

// prepare creates the worker that folds the table's changes.
func (s *store) prepare(ctx context.Context, o fold.Options, holds delays.Holds) error {
	described, err := s.API.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.Table})
	if err != nil {
		return err
	}
	s.stream, s.arn = aws.ToString(described.Table.LatestStreamArn), aws.ToString(described.Table.TableArn)
	source := streamsource.New(s.Streams, s.stream)
	s.worker, err = fold.NewWorker(s.table, source, products.Folds(s.table, holds), o)
	return err
}

// process returns the store's worker with the maintenance of sites and devices.
func (s *store) process(logger *slog.Logger) *workcli.Process {
	u := &maintenance.Maintenance{Table: s.table, Accounts: s.accounts, Folded: s.worker, Logger: logger}
	return &workcli.Process{Table: s.table, Worker: s.worker, Group: products.Group, Shared: s.Shared, Maintenance: u.Services(), Logger: logger}
}

// folds returns the services that fold, run maintenance and send notifications, if tell is set. It
// returns none if other processes do this work.
func (s *store) folds(logger *slog.Logger, notify service) []service {
	if !s.works {
		return nil
	}
	process := s.process(logger)
	if notify != nil {
		process.Maintenance = append(process.Maintenance, s.parts.Keep("notifications", notify))
	}
	return []service{s.fold(logger), workcli.Once(process, process.Maintenance)}
}

// fold returns the worker as a service. The service returns no error when it stops on a full disk:
// the changes read last are folded after the next start.
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

// untilMoved is a service that fails when the table has moved away, because new data would not
// reach the new store.
func (s *store) untilMoved(ctx context.Context) error { return migration.Watch(ctx, s.API, s.Table) }

// withStore runs work on an open store, and closes the store in any case. An interrupt while it
// waits for a table is not an error.
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
		err = errors.Join(err, s.worker.Release(ctx))
	}
	return errors.Join(err, s.Close())
}

// folding runs the fold worker alongside work, and stops it when work is done.
func (s *store) folding(ctx context.Context, work func(context.Context) error) error {
	return products.Folding(ctx, s.worker, work)
}
