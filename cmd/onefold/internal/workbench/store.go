package workbench

import (
	"context"
	"time"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Open opens a table in a directory for what is measured and made in this process.
type Open func(ctx context.Context, dir string, t Time) (*Store, error)

// Time is the time of a table and of its folds. The zero value is the system's.
type Time struct {
	Clock  func() time.Time
	Sleep  func(context.Context, time.Duration) error // of the worker
	Delays delays.Flags                               // as of onefold serve
}

// Store is an open table and its folds, which no worker runs yet.
type Store struct {
	DB       *engine.DB
	Table    *table.Table
	Worker   *fold.Worker
	Accounts *accounts.Store
	Folding  func(ctx context.Context, work func(context.Context) error) error // runs the worker beside the work
}

// Key makes a key that sends for a site, or for what stands for a fleet.
func (s *Store) Key(ctx context.Context, site string) (token string, err error) {
	_, token, err = s.Accounts.AddKey(ctx, accounts.NewKey{Site: site, Scope: accounts.Ingest})
	return token, err
}

// WriteUnits are those that all writes since the database was opened took.
func (s *Store) WriteUnits() Units {
	units := make(Units)
	for _, t := range s.DB.Metered().Tables {
		for kind, e := range t.Entities {
			units[kind] += e.WriteUnits
		}
	}
	return units
}

// ReadUnits returns the read units of all reads since the database was opened.
func (s *Store) ReadUnits() (units float64) {
	for _, t := range s.DB.Metered().Tables {
		for _, p := range t.Prefixes {
			units += p.ReadUnits
		}
	}
	return units
}
