package foldtest

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// World is a table in memory, with folds and its own clock. Nothing happens by itself: time passes
// in Advance and Set, items expire in DB.ExpireNow, and writes are folded in Drain.
type World struct {
	*testing.T
	Ctx    context.Context // ends with the test
	DB     *engine.DB
	Table  *table.Table
	Worker *fold.Worker

	setup Setup
	mu    sync.Mutex
	at    time.Time
}

// Setup configures a World.
type Setup struct {
	Schema *table.Schema
	Folds  func(*table.Table) []*fold.Fold // nil: none, and no Worker
	Group  string
	Name   string         // table name; default TableName
	At     time.Time      // initial time
	Engine engine.Options // Clock, TTLInterval and Logger are set by the World

	// Wrap, if set, returns the API that the table uses in place of the database's.
	Wrap func(*engine.DB) dynamo.API
}

// TableName is the default name of a World's table.
const TableName = "world"

// NewWorld returns a World that is closed when the test ends.
func NewWorld(t *testing.T, s Setup) *World {
	t.Helper()
	s.Name = cmp.Or(s.Name, TableName)
	w := &World{T: t, Ctx: t.Context(), setup: s, at: s.At}
	s.Engine.Clock, s.Engine.TTLInterval, s.Engine.Logger = w.Now, -1, slog.New(slog.DiscardHandler)
	var err error
	w.DB, err = engine.OpenMemory(s.Engine)
	w.Must(err)
	t.Cleanup(func() { w.Must(w.DB.Close()) })
	w.Must(s.Schema.Ensure(w.Ctx, w.DB, s.Name))
	var api dynamo.API = w.DB
	if s.Wrap != nil {
		api = s.Wrap(w.DB)
	}
	w.Table = table.New(api, s.Name, table.Options{Clock: w.Now})
	w.Restart()
	return w
}

// Restart replaces the worker with a new one that starts from durable state, like a new process.
func (w *World) Restart() {
	w.Helper()
	if w.setup.Folds == nil {
		return
	}
	described, err := w.DB.DescribeTable(w.Ctx, &dynamodb.DescribeTableInput{TableName: &w.setup.Name})
	w.Must(err)
	w.Worker, err = fold.NewWorker(w.Table, streamsource.New(w.DB, *described.Table.LatestStreamArn), w.setup.Folds(w.Table),
		fold.Options{Group: w.setup.Group, Clock: w.Now, Logger: slog.New(slog.DiscardHandler)})
	w.Must(err)
}

// Must fails the test if err is not nil.
func (w *World) Must(err error) {
	if err != nil {
		w.Helper()
		w.Fatal(err)
	}
}

// Drain folds everything written so far.
func (w *World) Drain() {
	w.Helper()
	w.Must(w.Worker.Drain(w.Ctx))
}

// Now returns the World's time.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// Advance moves the clock forward.
func (w *World) Advance(by time.Duration) { w.Set(w.Now().Add(by)) }

// Set sets the clock, forward or backward.
func (w *World) Set(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = at
}
