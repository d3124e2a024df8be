package analytics

import (
	"context"
	"fmt"
)

// Preview says of each event of a site what Ingest would say, and stores nothing: an event that is not there yet is
// Stored, the same event twice among the hits included. Errors: as Ingest's.
func (c *Collector) Preview(ctx context.Context, siteID string, hits []Hit) ([]Outcome, error) {
	s, err := c.sites.get(ctx, siteID)
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(hits))
	keys, now := make([]EventKey, 0, len(hits)), c.t.Now()
	for i := range hits {
		e, _, refused := s.eventOf(&hits[i], now)
		if refused != nil {
			outcomes[i] = Outcome{EventID: hits[i].EventID, Status: Rejected, Reason: refused.reason, Detail: refused.text}
			continue
		}
		outcomes[i] = Outcome{EventID: e.EventID, Status: Stored}
		keys = append(keys, e.EventKey)
	}
	found, err := Events.GetMany(ctx, c.t, keys)
	if err != nil {
		return nil, fmt.Errorf("analytics: preview: %w", err)
	}
	there := make(map[string]bool, len(found))
	for i := range found {
		there[found[i].EventID] = true
	}
	for i := range outcomes {
		if outcomes[i].Status == Stored && there[outcomes[i].EventID] {
			outcomes[i].Status = Duplicate
		}
	}
	return outcomes, nil
}
