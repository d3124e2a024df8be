// Package cmdenv is the environment of the products' commands: the table, opened on first use, and the terminal.
package cmdenv

import (
	"context"
	"io"
	"log/slog"

	"github.com/onefold/onefold/cmd/onefold/internal/logimport"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Env is what commands stand on.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	JSON     bool   // print for scripts
	Data     string // the table's directory, beside which there is what belongs to it
	Logger   *slog.Logger
	// Make opens the table, which is made if there is none. Open wants it to be there, Load does, for work on much at once.
	Make, Open, Load func(ctx context.Context, work func(*Store) error) error
	// Progress shows how far files are read, until it is told to stop.
	Progress func(files []string, quiet bool) (bar logimport.Progress, stop func())
	// CheckFiles refuses files that cannot be read.
	CheckFiles func(names []string) error
	// NoTable is the error of Open and Load when there is no table.
	NoTable error
}

// Store is an open table.
type Store struct {
	Table  *table.Table
	Worker *fold.Worker
	// Streams has the table's changes, in the stream of that ARN. Shared: other processes may work on the table, too.
	Streams dynamo.Streams
	Stream  string
	Shared  bool
	// Folding runs the folds beside some work.
	Folding func(ctx context.Context, work func(context.Context) error) error
}
