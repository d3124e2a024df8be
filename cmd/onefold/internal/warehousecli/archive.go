package warehousecli

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/warehouse/past"
)

// Archive reads expired raw events from a warehouse. It opens the warehouse at the first query, so
// that a server can start while the warehouse is unreachable.
type Archive struct {
	Place string

	mu sync.Mutex
	of *past.Archive // nil: not open yet
}

// open opens the warehouse once.
func (a *Archive) open(ctx context.Context) (*past.Archive, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of != nil {
		return a.of, nil
	}
	objects, err := Objects(ctx, a.Place, false)
	if err != nil {
		return nil, err
	}
	a.of, err = past.Open(ctx, objects, past.Options{})
	return a.of, err
}

// Holds implements explore.Archive.
func (a *Archive) Holds(ctx context.Context, site string, from, to time.Time) (explore.ArchiveCounts, error) {
	of, err := a.open(ctx)
	if err != nil {
		return explore.ArchiveCounts{}, err
	}
	return of.Holds(ctx, site, from, to)
}

// Events implements explore.Archive.
func (a *Archive) Events(ctx context.Context, site string, from, to time.Time) iter.Seq2[*analytics.Event, error] {
	of, err := a.open(ctx)
	if err != nil {
		return func(yield func(*analytics.Event, error) bool) { yield(nil, err) }
	}
	return of.Events(ctx, site, from, to)
}
