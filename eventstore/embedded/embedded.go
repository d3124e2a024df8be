// Package embedded opens an event store in a directory of this machine, with the worker that keeps
// its feed and read models up to date. A program on DynamoDB, or with other entities in its table,
// puts the same parts together itself.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// tableName is the name of the table in the directory.
const tableName = "onefold"

// Options configures Open. The zero value has good defaults.
type Options struct {
	Engine engine.Options
	Store  eventstore.Options
	Keys   *shred.Options // personal fields and the keys that encrypt them; nil: none. Sets Store.Secrets
	Folds  fold.Options   // FlushAge is 20 ms by default, because small writes cost little here, and Poll 10 ms
}

// App is an open event store. It is safe for concurrent use.
type App struct {
	DB    *engine.DB
	Table *table.Table
	Store *eventstore.Store
	Keys  *shred.KeyStore // erases people; nil without Options.Keys

	folds fold.Options
	once  sync.Once
	stop  context.CancelFunc
	ended chan struct{} // closed when the worker has ended; nil before Start
	err   error         // of the worker
}

// Open opens the event store in a directory, and creates it if it does not exist. An empty directory
// name means memory. Only one process can have a directory open. The caller must call Close. Errors:
// those of the engine, of shred.New and of eventstore.New.
func Open(ctx context.Context, dir string, o Options) (a *App, err error) {
	for v, to := range map[*time.Duration]time.Duration{&o.Folds.FlushAge: 20 * time.Millisecond, &o.Folds.Poll: 10 * time.Millisecond} {
		if *v == 0 {
			*v = to
		}
	}
	a = &App{folds: o.Folds}
	if dir == "" {
		a.DB, err = engine.OpenMemory(o.Engine)
	} else {
		a.DB, err = engine.Open(dir, o.Engine)
	}
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	if err = a.openStore(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("embedded: open %q: %w", dir, err), a.DB.Close())
	}
	return a, nil
}

func (a *App) openStore(ctx context.Context, o Options) (err error) {
	if err := shred.Schema.Ensure(ctx, a.DB, tableName); err != nil {
		return err
	}
	a.Table = table.New(a.DB, tableName, table.Options{Clock: o.Engine.Clock})
	if o.Keys != nil {
		if a.Keys, err = shred.New(a.Table, *o.Keys); err != nil {
			return err
		}
		o.Store.Secrets = a.Keys.Secrets()
	}
	a.Store, err = eventstore.New(a.Table, o.Store)
	return err
}

// Start runs the worker with the folds of the event store and others, such as those of projections,
// until Close. It may be called once. Errors: those of fold.NewWorker.
func (a *App) Start(ctx context.Context, folds ...[]*fold.Fold) error {
	source, err := streamsource.OfTable(ctx, a.DB, a.DB, tableName)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	worker, err := fold.NewWorker(a.Table, source, append(eventstore.Folds(), slices.Concat(folds...)...), a.folds)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	a.ended = make(chan struct{})
	go func() {
		defer close(a.ended)
		a.err = worker.Run(ctx)
	}()
	return nil
}

// Close ends the worker, after it has written what it folded, and closes the directory. Errors:
// those of the worker and of the engine.
func (a *App) Close() (err error) {
	a.once.Do(func() {
		if a.ended != nil {
			a.stop()
			<-a.ended
			err = a.err
		}
		err = errors.Join(err, a.DB.Close())
	})
	return err
}
