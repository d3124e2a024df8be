package lint

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/onefold/onefold/blueprint/cost"
	"github.com/onefold/onefold/table"
)

// Rate is a load for which a schema is checked.
type Rate struct {
	EventsPerDay float64 // of the busiest site, device or stream: all of them have its key
	Peak         float64 // ratio of the busiest second to the mean; values below 1 count as 1
	Delayed      bool    // with a fold delay of 30 seconds
}

// half is the share of a partition's capacity that its key may use: the rest is for bursts.
const half = 0.5

const secondsDay = 24 * 3600

// CheckRate returns the partition keys that a rate would heat, hottest first. Writes of entities with
// table.Growth count; those with the same form of partition key are written to the same one. A
// schema is not at fault, so no finding is accepted by it. Errors: cost.ErrOptions for a rate out of
// range.
func CheckRate(s *table.Schema, r Rate) ([]Finding, error) {
	if !(r.EventsPerDay > 0 && r.EventsPerDay <= cost.MaxEventsPerDay) || !(r.Peak <= 1e6) {
		return nil, fmt.Errorf("%w: %g events per day, peaks of %g times the mean: use up to %g and 1e6", cost.ErrOptions, r.EventsPerDay, r.Peak, float64(cost.MaxEventsPerDay))
	}
	perSecond := r.EventsPerDay / secondsDay * math.Max(r.Peak, 1)
	units, delayed, most, hottest := map[string]float64{}, map[string]float64{}, map[string]float64{}, map[string]table.EntityInfo{}
	for _, e := range s.Entities() {
		if e.Growth.Writes == 0 {
			continue
		}
		n := cost.WriteUnits(&e.Growth, perSecond, r.Delayed)
		delayed[e.PK] += cost.WriteUnits(&e.Growth, perSecond, true)
		if units[e.PK] += n; n > most[e.PK] {
			most[e.PK], hottest[e.PK] = n, e
		}
	}
	var all []Finding
	total := map[string]float64{}
	for pk, n := range units {
		if n <= half*partitionWrites {
			continue
		}
		e := hottest[pk]
		total[e.Name] = n
		all = append(all, Finding{Lint: "hot-partition", Entity: e.Name, What: fmt.Sprintf("%.0f write units in the busiest second, with the key %s; a partition supports %d", n, pk, partitionWrites), Fix: remedy(&e, n, delayed[pk])})
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(total[b.Entity], total[a.Entity]), cmp.Compare(a.Entity, b.Entity))
	})
	return all, nil
}

// remedy says what cools the key of an entity that gets the given units a second.
func remedy(e *table.EntityInfo, units, delayed float64) string {
	switch {
	case delayed <= half*partitionWrites:
		return "fold with a delay, so that changes share a write: --fold-delay 30s"
	case strings.HasPrefix(e.PK, "SITE#"):
		return fmt.Sprintf("spread the site: `onefold site reshard SITE %.0f`", math.Ceil(units/(half*partitionWrites)))
	case sharded(e.PK):
		return fmt.Sprintf("use at least %.0f shards", math.Ceil(units/(half*partitionWrites)))
	}
	return "divide the events among several owners, or write several of them together: all have this key"
}
