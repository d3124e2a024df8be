package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/analytics/refusals"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// tableName is the one table.
const tableName = "onefold"

// schema is all that the table holds. Starting fails if two packages could write the same key.
var schema = table.MustSchema("onefold", analytics.Schema, reconcile.Schema, explore.Schema, erasure.Schema, refusals.Days, refusals.ByDay, accounts.Schema, telemetry.Schema, alerts.Schema, eventstore.Schema)

// store is an open table with what runs on it.
type store struct {
	db       *engine.DB
	table    *table.Table
	accounts *accounts.Store
	worker   *fold.Worker
}

// tuning adapts the folds to the work at hand.
type tuning struct {
	flushChanges int                                        // 0: the runtime's default
	flushAge     time.Duration                              // 0: the runtime's default
	wait         time.Duration                              // of visitors' days and breakdowns, beyond that
	cacheBytes   int64                                      // the engine's; 0: its default
	existing     bool                                       // the table must be there: commands that only read make none
	clock        func() time.Time                           // nil: the system's
	sleep        func(context.Context, time.Duration) error // of the worker; nil: a timer
}

// openStore opens the directory, makes the table when it is new and prepares (but does not start) the fold worker.
func (g *globals) openStore(ctx context.Context, logs io.Writer, tune tuning) (*store, error) {
	logger := g.logger(logs)
	db, err := g.openEngine(engine.Options{Logger: logger, CacheBytes: tune.cacheBytes, Clock: tune.clock}, tune.existing)
	if err != nil {
		return nil, err
	}
	s := &store{db: db, table: table.New(explore.Watch(db), tableName, table.Options{Clock: tune.clock})}
	s.accounts = accounts.New(s.table, accounts.Options{})
	if err := s.prepare(ctx, fold.Options{
		Group: analytics.FoldGroup, FlushChanges: tune.flushChanges, FlushAge: tune.flushAge, Sleep: tune.sleep, Logger: logger,
	}, tune.wait); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// openEngine opens the directory of --data, and makes it unless it must exist.
func (g *globals) openEngine(o engine.Options, existing bool) (*engine.DB, error) {
	if err := checkDirectory(g.Data, existing); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(g.Data, 0o700); err != nil {
		return nil, fmt.Errorf("open %s: %w", g.Data, err)
	}
	db, err := engine.Open(g.Data, o)
	switch {
	case errors.Is(err, engine.ErrInUse):
		return nil, fmt.Errorf("in_use: %s is open in another process; choose another directory with --data, or stop that process (%w)", g.Data, err)
	case errors.Is(err, engine.ErrBackup):
		return nil, fmt.Errorf("is_backup: %s is a backup, which opening would change; `onefold dynamodb restore %[1]s DIR` makes a database of it (%w)", g.Data, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("no_access: %s is not yours to write (%w)", g.Data, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", g.Data, err)
	}
	return db, nil
}

// errNoTable is returned when a command that only reads finds no table.
var errNoTable = errors.New("no_table")

// checkDirectory refuses a directory of other files, and one without a table when there must be one.
func checkDirectory(dir string, existing bool) error {
	tables, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	if len(tables) > 0 {
		return nil
	}
	if existing {
		return fmt.Errorf("%w: there is no table in %s; --data says where it is, and site create, import and serve make one", errNoTable, dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("not_a_table: %s holds other files; choose an empty directory, or one that onefold has made", dir)
	}
	return nil
}

func (s *store) prepare(ctx context.Context, o fold.Options, wait time.Duration) error {
	if err := schema.Ensure(ctx, s.db, tableName); err != nil {
		return err
	}
	described, err := s.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(tableName)})
	if err != nil {
		return err
	}
	source := fold.Streams(s.db, aws.ToString(described.Table.LatestStreamArn))
	folds := slices.Concat(
		analytics.Folds(analytics.Config{Retention: analytics.SiteRetention(s.table), Wait: wait}),
		telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(s.table)}),
		[]*fold.Fold{alerts.Fold()},
		eventstore.Folds(),
	)
	s.worker, err = fold.NewWorker(s.table, source, folds, o)
	return err
}

func (s *store) Close() error { return s.db.Close() }

// withStore runs a command's work on an open store and closes it whatever happens.
func (g *globals) withStore(ctx context.Context, logs io.Writer, tune tuning, work func(*store) error) error {
	s, err := g.openStore(ctx, logs, tune)
	if err != nil {
		return err
	}
	return errors.Join(work(s), s.Close())
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
