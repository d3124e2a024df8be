package analytics

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/table"
)

// The figures of an hour or of a realtime minute are one item, which suffices for one writer. Under
// concurrent writers, such as functions that fold stream shards in parallel, a busy site's figures
// are spread over several parts, which readers add up. A fact's part depends only on the fact,
// which stores the number of parts at its arrival. So the number may change at any time, and what
// was counted before stays counted once.

// part returns the part that counts the event itself.
func (e *Event) part() int { return partOf(e.Shard, e.Parts) }

// part returns the part that counts the visitor's day.
func (v *Visitor) part() int { return partOf(v.Shard, v.Parts) }

// partOf assigns parts by partition. A partition is in one stream shard, so a part has few writers.
func partOf(shard, parts int) int {
	if parts <= 1 {
		return 0
	}
	return shard % parts
}

// SetParts spreads the counts of a site's later events over this many items an hour, 1 to
// table.MaxShards. More parts than the site has partitions (SetShards) are useless. Collectors
// notice within ten seconds. Errors: ErrSite for another number, table.ErrNotFound.
func SetParts(ctx context.Context, t *table.Table, siteID string, parts int) (Site, error) {
	if parts < 1 || parts > table.MaxShards {
		return Site{}, fmt.Errorf("analytics: set parts of site %s: %w: %d parts: use 1 to %d", siteID, ErrSite, parts, table.MaxShards)
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
