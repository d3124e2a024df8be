package logimport

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/onefold/onefold/analytics"
)

// Rehearsal takes events and stores none: it says what would become of them. It remembers eight bytes of each, so that
// what comes twice is a duplicate the second time, as it would be.
type Rehearsal struct {
	previewer Previewer
	seed      maphash.Seed

	mu   sync.Mutex
	seen map[uint64]struct{}
}

// Previewer says what would become of events. analytics.Collector and Remote do.
type Previewer interface {
	Preview(ctx context.Context, siteID string, hits []analytics.Hit) ([]analytics.Outcome, error)
}

// NewRehearsal rehearses with what a previewer says.
func NewRehearsal(p Previewer) *Rehearsal {
	return &Rehearsal{previewer: p, seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}}
}

// Ingest says what would become of the events.
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
