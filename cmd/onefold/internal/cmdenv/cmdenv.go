// Package cmdenv is the command environment: it gives the commands of the products a terminal, and
// the table, opened when needed.
package cmdenv

import (
	"context"
	"io"
	"log/slog"

	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Env is the environment of the commands.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	JSON     bool   // print JSON
	Data     string // directory of the table, next to its companion files
	Logger   *slog.Logger
	// Make opens the table, and creates it if it does not exist. Open requires that it exists. Load
	// does too, and tunes the store for bulk work.
	Make, Open, Load func(ctx context.Context, work func(*Store) error) error
	// Progress shows the progress of reading files until stop is called.
	Progress func(files []string, quiet bool) (bar logimport.Progress, stop func())
	// CheckFiles returns an error if a file cannot be read.
	CheckFiles func(names []string) error
	// NoTable is the error of Open and Load if the table does not exist.
	NoTable error
}

// Store is an open table.
type Store struct {
	Table  *table.Table
	Worker *fold.Worker
	// Streams has the table's changes, in the stream with that ARN. Shared means that other
	// processes may use the table too.
	Streams dynamo.Streams
	Stream  string
	Shared  bool
	// Folding runs the folds alongside the given work.
	Folding func(ctx context.Context, work func(context.Context) error) error
}
