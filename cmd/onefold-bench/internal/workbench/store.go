package workbench

import (
	"context"
	"time"

	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

// Open opens a table in a directory, for benchmarks within this process.
type Open func(ctx context.Context, dir string, t Time) (*Store, error)

// Time is the time of a table and its folds. The zero value is system time.
type Time struct {
	Clock  func() time.Time
	Sleep  func(context.Context, time.Duration) error // of the worker
	Delays delays.Flags                               // as in onefold serve
}

// Store is an open table with its folds, whose worker is not running.
type Store struct {
	DB       *engine.DB
	Table    *table.Table
	Worker   *fold.Worker
	Accounts *accounts.Store
}

// Folding runs the worker alongside work, and stops it when work is done.
func (s *Store) Folding(ctx context.Context, work func(context.Context) error) error {
	return products.Folding(ctx, s.Worker, work)
}

// Key creates an API key that sends data of a site, or of a fleet by its key name.
func (s *Store) Key(ctx context.Context, site string) (token string, err error) {
	_, token, err = s.Accounts.AddKey(ctx, accounts.NewKey{Site: site, Scope: accounts.Ingest})
	return token, err
}

// WriteUnits returns the units of all writes since the database was opened.
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
