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

// World is a table in memory with the folds of its facts, at a time of its own. Nothing happens in it by itself: time
// passes in Advance and Set, items expire in DB.ExpireNow, and what was written is folded in Drain.
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

// Setup says what a World holds.
type Setup struct {
	Schema *table.Schema
	Folds  func(*table.Table) []*fold.Fold
	Group  string
	Name   string         // of the table; default TableName
	At     time.Time      // when the clock begins
	Engine engine.Options // of which Clock, TTLInterval and Logger are the World's own

	// Wrap is the API that the table has instead of the database's; nil: none.
	Wrap func(*engine.DB) dynamo.API
}

// TableName is the name of a World's table, unless Setup says another.
const TableName = "world"

// NewWorld makes the table. It is closed when the test ends.
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

// Restart starts the folds anew from what is durable, as a new process does.
func (w *World) Restart() {
	w.Helper()
	described, err := w.DB.DescribeTable(w.Ctx, &dynamodb.DescribeTableInput{TableName: &w.setup.Name})
	w.Must(err)
	w.Worker, err = fold.NewWorker(w.Table, streamsource.New(w.DB, *described.Table.LatestStreamArn), w.setup.Folds(w.Table),
		fold.Options{Group: w.setup.Group, Clock: w.Now, Logger: slog.New(slog.DiscardHandler)})
	w.Must(err)
}

// Must ends the test if there is an error.
func (w *World) Must(err error) {
	if err != nil {
		w.Helper()
		w.Fatal(err)
	}
}

// Drain folds what was written.
func (w *World) Drain() {
	w.Helper()
	w.Must(w.Worker.Drain(w.Ctx))
}

// Now is the World's time.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// Advance moves the time on.
func (w *World) Advance(by time.Duration) { w.Set(w.Now().Add(by)) }

// Set moves the time, in either direction.
func (w *World) Set(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = at
}
