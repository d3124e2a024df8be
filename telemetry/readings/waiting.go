package readings

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/onefold/onefold/table"
)

// Waiting holds the blocks of a fleet, whose readings are not in segments yet. A query of many devices
// reads them once: otherwise each device would read the blocks of all. They must be read before the
// segments, and are valid for queries that begin within a few minutes.
type Waiting struct {
	byDevice map[string][]Block
	damaged  []Block // the devices of these are unknown, so every device reads them
}

// ReadWaiting reads the blocks of a fleet.
func ReadWaiting(ctx context.Context, t *table.Table, fleetID string) (*Waiting, error) {
	w := &Waiting{byDevice: map[string][]Block{}}
	var spare []blockSample
	for shard := range Shards {
		for b, err := range WaitingBlocks.All(ctx, t, ShardIn{fleetID, shard}) {
			if err != nil {
				return nil, fmt.Errorf("readings: blocks of fleet %q: %w", fleetID, err)
			}
			if spare, err = blockSamples.Decode(spare[:0], b.Body, columnDevice); err != nil {
				w.damaged = append(w.damaged, b)
				continue
			}
			for i := range spare {
				if id := spare[i].device; i == 0 || id != spare[i-1].device {
					w.byDevice[id] = append(w.byDevice[id], b)
				}
			}
		}
	}
	return w, nil
}

// of yields the blocks that may have readings of a device.
func (w *Waiting) of(deviceID string) iter.Seq2[Block, error] {
	return func(yield func(Block, error) bool) {
		for _, b := range slices.Concat(w.byDevice[deviceID], w.damaged) {
			if !yield(b, nil) {
				return
			}
		}
	}
}
