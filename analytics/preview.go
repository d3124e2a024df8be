package analytics

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/internal/referral"
)

// StoredPaths returns the paths that events with these URLs or paths would have, masked by the
// site's settings. Errors: ErrSite for invalid masks or a path that is too long.
func StoredPaths(site *Site, urls []string) ([]string, error) {
	masks, err := site.Mask.Compile()
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrSite, site.SiteID, err)
	}
	stored := make([]string, len(urls))
	for i, url := range urls {
		sent, r := pathOf(referral.Locate(url).Path, false)
		if r != nil {
			return nil, fmt.Errorf("%w %s: %s", ErrSite, site.SiteID, r.text)
		}
		stored[i] = storedPath(masks, sent)
	}
	return stored, nil
}

// Preview returns the outcomes that Ingest would return, and stores nothing. New events are Stored,
// also if the same event occurs twice among the hits. Errors: as Ingest.
func (c *Collector) Preview(ctx context.Context, siteID string, hits []Hit) ([]Outcome, error) {
	s, err := c.sites.get(ctx, siteID)
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(hits))
	events, now := make([]Event, 0, len(hits)), c.t.Now()
	for i := range hits {
		e, _, rejected := s.eventOf(&hits[i], now)
		if rejected != nil {
			outcomes[i] = Outcome{EventID: hits[i].EventID, Status: Rejected, Reason: rejected.reason, Detail: rejected.text}
			continue
		}
		outcomes[i] = e.outcome(Stored)
		events = append(events, e)
	}
	there, err := c.known.findStored(ctx, events)
	if err != nil {
		return nil, fmt.Errorf("analytics: preview: %w", err)
	}
	n := 0
	for i := range outcomes {
		if outcomes[i].Status != Stored {
			continue
		}
		if there[n] {
			outcomes[i] = events[n].outcome(Duplicate)
		}
		n++
	}
	return outcomes, nil
}
