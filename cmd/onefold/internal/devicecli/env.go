// Package devicecli is the commands that look after devices, show what they measured and import it. It belongs to the
// command line, which gives it what it stands on.
package devicecli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/onefold/onefold/cmd/onefold/internal/intake"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Env is what commands stand on.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	JSON     bool // print for scripts
	// Make opens the table, which is made if there is none. Open wants it to be there, Load does, for work on much at once.
	Make, Open, Load func(ctx context.Context, work func(*Store) error) error
	// Progress shows how far files are read, until it is told to stop.
	Progress func(files []string, quiet bool) (bar intake.Progress, stop func())
	// CheckFiles refuses files that cannot be read.
	CheckFiles func(names []string) error
	// NoTable is the error of Open and Load when there is no table.
	NoTable error
}

// Store is an open table.
type Store struct {
	Table  *table.Table
	Worker *fold.Worker
	// Folding runs the folds beside some work.
	Folding func(ctx context.Context, work func(context.Context) error) error
}

// explain says what to do about a device, fleet or profile that is not there, or is there already, or cannot be.
func explain(what, id string, err error) error {
	switch {
	case errors.Is(err, table.ErrNotFound):
		list := what + " list"
		if what != "fleet" {
			list += " --fleet FLEET"
		}
		return fmt.Errorf("no_such_%[1]s: there is no %[1]s %[2]q; `onefold %[3]s` shows those there are", what, id, list)
	case errors.Is(err, table.ErrExists):
		return fmt.Errorf("%[1]s_exists: there is a %[1]s %[2]q already; `onefold %[1]s show %[2]s` shows it", what, id)
	case errors.Is(err, telemetry.ErrInvalid), errors.Is(err, telemetry.ErrRetention):
		return fmt.Errorf("invalid: %w", err)
	case errors.Is(err, telemetry.ErrTransition):
		return fmt.Errorf("invalid_status: %w", err)
	case errors.Is(err, telemetry.ErrClaim):
		return fmt.Errorf("invalid_claim: %w", err)
	case errors.Is(err, telemetry.ErrRange):
		return fmt.Errorf("invalid_range: %w", err)
	}
	return err
}
