package analytics

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/table"
)

// The figures of an hour, and of a minute of realtime, are one item each: enough for what one worker writes. Where several write
// them at once, as functions do that fold the shards of a stream side by side, a busy site's are spread over several, which readers
// add up. In which of them a fact is counted is a function of the fact alone, like all that is derived from it: it carries how many
// there were when it came. So that number may change at any time, and what was counted before stays counted once.

// part is the item in which what an event says by itself is counted.
func (e *Event) part() int { return partOf(e.Shard, e.Parts) }

// part is the item in which what a visitor's day says is counted.
func (v *Visitor) part() int { return partOf(v.Shard, v.Parts) }

// partOf spreads by partitions, each of which is in one shard of the stream: so a part has few writers, and at best one.
func partOf(shard, parts int) int {
	if parts <= 1 {
		return 0
	}
	return shard % parts
}

// SetParts spreads what is counted of a site's later events over so many items an hour, 1 to table.MaxShards. There is no use in
// more than the site has partitions: see SetShards. Collectors notice it within ten seconds. Errors: ErrSite for another number,
// table.ErrNotFound.
func SetParts(ctx context.Context, t *table.Table, siteID string, parts int) (Site, error) {
	if parts < 1 || parts > table.MaxShards {
		return Site{}, fmt.Errorf("analytics: set parts of site %s: %w: %d parts: 1 to %d", siteID, ErrSite, parts, table.MaxShards)
	}
	s, err := Sites.Modify(ctx, t, SiteKey{siteID}, func(s *Site) error {
		if !s.DeletedAt.IsZero() {
			return table.ErrNotFound
		}
		s.Parts = parts
		return nil
	})
	if err != nil {
		return s, fmt.Errorf("analytics: set parts of site %s: %w", siteID, err)
	}
	return s, nil
}
