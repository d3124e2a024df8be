package readings

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/table"
)

// LastArrivals finds when devices of a fleet were last heard, from the stored readings: folds may lag
// behind these by hours. It reads the fleet's blocks once, at the first call of Of. It is not safe
// for concurrent use.
type LastArrivals struct {
	t       *table.Table
	fleetID string
	inBlock map[string]int64 // by device; nil until they are read
}

// NewLastArrivals returns the last arrivals of a fleet's devices. It reads nothing yet.
func NewLastArrivals(t *table.Table, fleetID string) *LastArrivals {
	return &LastArrivals{t: t, fleetID: fleetID}
}

// newestSegments is how many of a device's newest segments Of examines. Those that came late have
// no current reading.
const newestSegments = 3

// Of returns the last arrival of a device, in epoch milliseconds; 0: unknown. It ignores readings
// of the past, and arrivals in the future, recorded by a server whose clock was ahead. It skips
// damaged items.
func (l *LastArrivals) Of(ctx context.Context, deviceID string) (last int64, err error) {
	if l.inBlock == nil {
		if err = l.readBlocks(ctx); err != nil {
			return 0, err
		}
	}
	if last = l.inBlock[deviceID]; last != 0 {
		return last, nil
	}
	n := 0
	for s, err := range NewestSegments.All(ctx, l.t, SegmentsIn{DeviceID: deviceID}) {
		if err != nil {
			return 0, fmt.Errorf("readings: last arrival of device %q: %w", deviceID, err)
		}
		all, _ := s.Readings() // none of a damaged segment
		for i := range all {
			last = max(last, l.current(&all[i]))
		}
		if n++; last != 0 || n == newestSegments {
			break
		}
	}
	return last, nil
}

// readBlocks reads the arrivals in blocks. It decodes only their columns.
func (l *LastArrivals) readBlocks(ctx context.Context) error {
	found := make(map[string]int64)
	var spare []Reading
	for shard := range Shards {
		for b, err := range WaitingBlocks.All(ctx, l.t, ShardIn{l.fleetID, shard}) {
			if err != nil {
				return fmt.Errorf("readings: last arrivals of fleet %q: %w", l.fleetID, err)
			}
			if spare, err = blockColumns.Decode(spare[:0], b.Body, columnDevice, columnArrived, columnPast); err != nil {
				continue
			}
			for i := range spare {
				if at := l.current(&spare[i]); at > found[spare[i].DeviceID] {
					found[spare[i].DeviceID] = at
				}
			}
		}
	}
	l.inBlock = found
	return nil
}

// current returns the arrival of a reading, 0 if it does not count.
func (l *LastArrivals) current(r *Reading) int64 {
	if r.Past || r.Arrived > l.t.Now().UnixMilli() {
		return 0
	}
	return r.Arrived
}
