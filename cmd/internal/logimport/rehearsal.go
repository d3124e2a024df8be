package logimport

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/onefold/onefold/analytics"
)

// Rehearsal is an Ingester that stores nothing and returns the outcomes that an import would have. It
// keeps eight bytes per event, so that the second occurrence of an event is reported as a
// duplicate.
type Rehearsal struct {
	previewer Previewer
	seed      maphash.Seed

	mu   sync.Mutex
	seen map[uint64]struct{}
}

// Previewer computes the outcomes of events without storing them. analytics.Collector and Remote
// are Previewers.
type Previewer interface {
	Preview(ctx context.Context, siteID string, hits []analytics.Hit) ([]analytics.Outcome, error)
}

// NewRehearsal returns a Rehearsal with the outcomes of p.
func NewRehearsal(p Previewer) *Rehearsal {
	return &Rehearsal{previewer: p, seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}}
}

// Ingest returns the outcomes of the events.
func (r *Rehearsal) Ingest(ctx context.Context, siteID string, hits []analytics.Hit) ([]analytics.Outcome, error) {
	outcomes, err := r.previewer.Preview(ctx, siteID, hits)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range outcomes {
		if outcomes[i].Status != analytics.Stored {
			continue
		}
		key := maphash.String(r.seed, outcomes[i].EventID)
		if _, again := r.seen[key]; again {
			outcomes[i].Status = analytics.Duplicate
		}
		r.seen[key] = struct{}{}
	}
	return outcomes, nil
}
