package readings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// MoveOptions say what Move moves.
type MoveOptions struct {
	All bool // blocks of hours that are going on, too
	// Made says when devices were made, in epoch seconds; those that are not there are left out. Readings of other devices are dropped:
	// they are of one that is deleted.
	Made func(ctx context.Context, deviceIDs []string) (map[string]int64, error)
}

// Moved says what Move did.
type Moved struct {
	Blocks   int // that were emptied and deleted
	Readings int
	Segments int // that were written
	Waiting  int // blocks that are left, for their hours are going on
	Damaged  int // blocks that are left because they cannot be read, and segments
}

const (
	// hourOver is how long after the end of an hour its readings are moved.
	hourOver = 2 * time.Minute

	// fewBlocks is how many blocks of hours that are going on a shard may have: whoever reads a device looks at all of them. On the
	// embedded engine, where a write costs little, there are less than on a table where every write is billed.
	fewBlocks, fewBilled = 128, 2000
	fewBytes             = 4 << 20 // of bodies

	moveReadings = 100_000 // that are moved at a time
	moveAtOnce   = 32      // segments that are written at once
	moveTries    = 16      // at a segment that others write, too
)

// Move moves the readings of a fleet from blocks into segments: those of hours that are over, and all of a shard where many blocks wait. It
// may be stopped at any time and run again, and several may run at once: segments are written before blocks are deleted, and what is
// there already is not added again. What is damaged stays where it is, and the error tells of it at the end. Errors: ErrDamaged, those
// of the store and of Made.
func Move(ctx context.Context, t *table.Table, fleetID string, o MoveOptions) (did Moved, err error) {
	var damaged []error
	for shard := range Shards {
		m := mover{t: t, o: o, shard: ShardIn{fleetID, shard}, did: &did}
		if err := m.run(ctx); err != nil {
			return did, fmt.Errorf("readings: move those of fleet %q: %w", fleetID, err)
		}
		damaged = append(damaged, m.damaged...)
	}
	return did, errors.Join(damaged...)
}

// MoveShardOf is Move of all readings of the shard that a device is in.
func MoveShardOf(ctx context.Context, t *table.Table, fleetID, deviceID string, o MoveOptions) (did Moved, err error) {
	o.All = true
	m := mover{t: t, o: o, shard: ShardIn{fleetID, ShardOf(deviceID)}, did: &did}
	if err := m.run(ctx); err != nil {
		return did, fmt.Errorf("readings: move those of device %q: %w", deviceID, err)
	}
	return did, errors.Join(m.damaged...)
}

// mover moves the readings of a shard.
type mover struct {
	t       *table.Table
	o       MoveOptions
	shard   ShardIn
	did     *Moved
	damaged []error

	blocks   []BlockKey // whose readings are held
	readings []Reading
}

// run goes through the blocks once. Those of hours that are going on are held, until there are too many of them.
func (m *mover) run(ctx context.Context) error {
	most := fewBilled
	if _, embedded := m.t.API().(dynamo.Putter); embedded {
		most = fewBlocks
	}
	all, held, bytes := m.o.All, []Block(nil), 0
	for b, err := range WaitingBlocks.All(ctx, m.t, m.shard) {
		if err != nil {
			return err
		}
		take := []Block{b}
		if !all && !m.over(&b) {
			held, bytes = append(held, b), bytes+len(b.Body)
			if all = len(held) > most || bytes > fewBytes; !all {
				continue
			}
			take, held = held, nil
		}
		for i := range take {
			if err := m.take(ctx, &take[i]); err != nil {
				return err
			}
		}
	}
	m.did.Waiting += len(held)
	return m.flush(ctx)
}

// take takes up the readings of a block.
func (m *mover) take(ctx context.Context, b *Block) error {
	some, err := b.Readings()
	if err != nil {
		m.note(err)
		return nil //nolint:nilerr // it costs itself alone
	}
	m.blocks, m.readings = append(m.blocks, b.BlockKey), append(m.readings, some...)
	if len(m.readings) >= moveReadings {
		return m.flush(ctx)
	}
	return nil
}

// over reports whether all hours of a block's readings are over, or the block is one of the past: an import, or what a device has kept.
func (m *mover) over(b *Block) bool {
	hour := time.Hour.Milliseconds()
	return b.Last-b.First > 2*hour || m.t.Now().UnixMilli() >= (b.Last/hour+1)*hour+hourOver.Milliseconds()
}

func (m *mover) note(err error) {
	m.did.Damaged++
	m.damaged = append(m.damaged, err)
}

// flush writes the segments of the readings that are held, and deletes their blocks.
func (m *mover) flush(ctx context.Context) error {
	hours, err := m.hours(ctx)
	if err != nil {
		return err
	}
	if err := m.write(ctx, hours); err != nil {
		return err
	}
	if err := Blocks.DeleteMany(ctx, m.t, m.blocks); err != nil {
		return err
	}
	m.did.Blocks += len(m.blocks)
	m.did.Readings += len(m.readings)
	clear(m.readings)
	m.blocks, m.readings = m.blocks[:0], m.readings[:0]
	return nil
}

// hours are the readings that are held, without those of devices that are gone, hour by hour of each device.
func (m *mover) hours(ctx context.Context) (hours [][]Reading, err error) {
	slices.SortStableFunc(m.readings, func(a, b Reading) int {
		if c := strings.Compare(a.DeviceID, b.DeviceID); c != 0 {
			return c
		}
		return a.Compare(&b.Key)
	})
	var ids []string
	for i := range m.readings {
		if id := m.readings[i].DeviceID; len(ids) == 0 || ids[len(ids)-1] != id {
			ids = append(ids, id)
		}
	}
	made, err := m.o.Made(ctx, ids)
	if err != nil {
		return nil, err
	}
	for from := 0; from < len(m.readings); {
		r := &m.readings[from]
		to, hour := from+1, hourOf(r.At)
		for to < len(m.readings) && m.readings[to].DeviceID == r.DeviceID && hourOf(m.readings[to].At) == hour {
			to++
		}
		at, there := made[r.DeviceID]
		kept := slices.DeleteFunc(m.readings[from:to:to], func(o Reading) bool { return !there || o.Made != at })
		if len(kept) > 0 {
			hours = append(hours, sortReadings(kept))
		}
		from = to
	}
	return hours, nil
}

// write adds readings to the segments of their hours.
func (m *mover) write(ctx context.Context, hours [][]Reading) error {
	wrote := make([]int, len(hours))
	failed := make([]error, len(hours))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(moveAtOnce)
	for i, hour := range hours {
		group.Go(func() (err error) {
			wrote[i], failed[i], err = addToHour(ctx, m.t, hour)
			return err
		})
	}
	err := group.Wait()
	for i := range hours {
		m.did.Segments += wrote[i]
		if failed[i] != nil {
			m.note(failed[i])
		}
	}
	return err
}

// addToHour adds readings of one device and hour, in order, to its segments, and returns how many of these it wrote. A damaged one is told
// of, and left as it is.
func addToHour(ctx context.Context, t *table.Table, readings []Reading) (wrote int, damaged, err error) {
	key := SegmentKey{DeviceID: readings[0].DeviceID, Hour: hourOf(readings[0].At)}
	for range moveTries {
		var last *Segment // to which more may be added
		var have, open []Reading
		next := 0
		damaged = nil
		for s, err := range SegmentsByHour.All(ctx, t, hourIn(key)) {
			if err != nil {
				return wrote, damaged, err
			}
			next, last, open = s.Part+1, nil, nil
			some, err := s.Readings()
			if err != nil {
				damaged = err
				continue
			}
			last, open = &s, some
			have = append(have, some...)
		}
		fresh := without(readings, have)
		if len(fresh) == 0 {
			return wrote, damaged, nil
		}
		n, err := addTo(ctx, t, last, open, fresh, SegmentKey{key.DeviceID, key.Hour, next})
		wrote += n
		if !errors.Is(err, table.ErrCondition) && !errors.Is(err, table.ErrExists) {
			return wrote, damaged, err
		}
	}
	return wrote, damaged, table.ErrConflict
}

// without returns those of the readings, in order, that are not among others, or that arrived before those.
func without(readings, others []Reading) []Reading {
	if len(others) == 0 {
		return readings
	}
	others = sortReadings(slices.Clone(others))
	var fresh []Reading
	for i := range readings {
		r := &readings[i]
		n, found := slices.BinarySearchFunc(others, r, func(o Reading, r *Reading) int { return o.Compare(&r.Key) })
		if !found || others[n].Arrived > r.Arrived {
			fresh = append(fresh, *r)
		}
	}
	return fresh
}

// addTo adds readings to the last part of an hour, if they fit, or else in parts of their own. Errors: table.ErrCondition and
// table.ErrExists if others have written meanwhile.
func addTo(ctx context.Context, t *table.Table, last *Segment, open, fresh []Reading, next SegmentKey) (wrote int, err error) {
	if last != nil {
		now := t.Now()
		all := sortReadings(slices.DeleteFunc(append(slices.Clone(open), fresh...), func(r Reading) bool { return !r.live(now) }))
		body, err := segmentColumns.Append(nil, all)
		if len(all) == 0 {
			return 0, nil // nothing of it is worth keeping
		}
		if err == nil && len(body) <= segmentBytes {
			s := segmentOf(last.SegmentKey, all, body)
			s.Rev = last.Rev + 1
			return 1, Segments.Put(ctx, t, &s, segmentRev.Eq(last.Rev))
		}
	}
	for part, err := range segmentColumns.Split(fresh, segmentBytes) {
		if err != nil {
			return wrote, err
		}
		s := segmentOf(next, part.Facts, part.Body)
		if err := Segments.Create(ctx, t, &s); err != nil {
			return wrote, err
		}
		next.Part++
		wrote++
	}
	return wrote, nil
}

// MoveAll does Move for all fleets in which readings arrive, and forgets those where none do any more.
func MoveAll(ctx context.Context, t *table.Table, o MoveOptions) (did Moved, err error) {
	var problems []error
	for shard := range listShards {
		for a, err := range ArrivingFleets.All(ctx, t, ListIn{shard}) {
			if err != nil {
				return did, err
			}
			one, err := Move(ctx, t, a.FleetID, o)
			did.add(&one)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			if one.Blocks+one.Waiting+one.Damaged > 0 || t.Now().Before(a.At.Add(lookFor)) {
				continue
			}
			if err := Arrivals.Delete(ctx, t, a.ArrivingKey, arrivingAt.Eq(a.At)); err != nil && !errors.Is(err, table.ErrCondition) {
				problems = append(problems, err)
			}
		}
	}
	return did, errors.Join(problems...)
}

func (d *Moved) add(o *Moved) {
	d.Blocks += o.Blocks
	d.Readings += o.Readings
	d.Segments += o.Segments
	d.Waiting += o.Waiting
	d.Damaged += o.Damaged
}
