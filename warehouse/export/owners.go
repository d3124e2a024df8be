package export

import (
	"context"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/warehouse"
)

// owner is a site or fleet that facts belong to.
type owner struct {
	dataset warehouse.Dataset
	key     string
}

// since holds the creation times of owners. Owners that do not exist or are deleted are missing.
type since map[owner]time.Time

// drop removes all facts of deleted sites and fleets, and returns the partitions to change.
//
// It looks the owners up in the table after all changes of the batch were read. If an owner with
// the same ID exists again, everything in the table belongs to the new one. Facts deleted with the
// old owner then come as removals, one by one. Only facts that had expired earlier, and whose
// removals do not count, must be found by their times. Facts of the batch itself are treated the
// same way, because their shard may lag behind the shard with the deletion.
func (x *Exporter) drop(ctx context.Context, r *resolver) (parts []warehouse.Partition, err error) {
	b := x.batch
	there, err := x.owners(ctx)
	if err != nil {
		return nil, err
	}
	for o := range b.drops {
		_, again := there[o]
		for _, f := range x.w.Files(o.dataset) {
			switch {
			case f.Partition.Key != o.key:
			case again:
				parts = append(parts, f.Partition)
			default:
				r.gone[f.Path] = true
				r.out.removed(f.Path)
			}
		}
	}
	if len(parts) > 0 {
		r.extra = func(p warehouse.Partition, row warehouse.Row) bool {
			o := owner{p.Dataset, p.Key}
			return b.drops[o] && there.before(o, row)
		}
	}
	for p, facts := range b.ops {
		o := owner{p.Dataset, p.Key}
		for k, fact := range facts {
			if p.Dataset != warehouse.DomainEvents && slices.ContainsFunc(fact.rows, func(row warehouse.Row) bool { return there.before(o, row) }) {
				facts[k] = &op{}
			}
		}
	}
	parts = append(parts, b.partitions()...)
	slices.SortFunc(parts, warehouse.Partition.Compare)
	return slices.Compact(parts), nil
}

// before reports whether a row belongs to an owner that no longer exists. This is the case if there
// is no owner with this ID, or if the row expired before the current owner was created.
func (s since) before(o owner, row warehouse.Row) bool {
	at, there := s[o]
	return !there || row.Expires() != 0 && row.Expires() <= at.UnixMilli()
}

// owners reads the sites and fleets of the batch.
func (x *Exporter) owners(ctx context.Context) (since, error) {
	there := since{}
	var sites []analytics.SiteKey
	var fleets []telemetry.FleetKey
	seen := map[owner]bool{}
	ask := func(o owner) {
		switch {
		case seen[o]:
		case o.dataset == warehouse.Events:
			sites = append(sites, analytics.SiteKey{SiteID: o.key})
		case o.dataset == warehouse.Readings:
			fleets = append(fleets, telemetry.FleetKey{FleetID: o.key})
		}
		seen[o] = true
	}
	for p := range x.batch.ops {
		ask(owner{p.Dataset, p.Key})
	}
	for o := range x.batch.drops {
		ask(o)
	}
	foundSites, err := analytics.Sites.GetMany(ctx, x.t, sites)
	if err != nil {
		return nil, err
	}
	for _, s := range foundSites {
		if s.DeletedAt.IsZero() {
			there[owner{warehouse.Events, s.SiteID}] = s.CreatedAt
		}
	}
	foundFleets, err := telemetry.Fleets.GetMany(ctx, x.t, fleets)
	for _, f := range foundFleets {
		if f.DeletedAt.IsZero() {
			there[owner{warehouse.Readings, f.FleetID}] = f.CreatedAt
		}
	}
	return there, err
}
