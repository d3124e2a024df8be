package readings

import (
	"context"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/purge"
)

// Partitions are where the readings of a fleet arrive, for whoever deletes it.
func Partitions(fleetID string) (all []purge.Range, err error) {
	for shard := range Shards {
		key, err := Blocks.Key(BlockKey{fleetID, shard, "0"})
		if err != nil {
			return nil, err
		}
		one := purge.Beside(key)
		one.Keep = ""
		all = append(all, one)
	}
	return all, nil
}

// Forget takes a fleet off the list of those in which readings arrive.
func Forget(ctx context.Context, t *table.Table, fleetID string) error {
	return Arrivals.Delete(ctx, t, ArrivingKey{table.Shard(fleetID, Shards), fleetID})
}
