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

// MoveOptions configures Move.
type MoveOptions struct {
	All bool // also move blocks of hours that are not over
	// Made returns when devices were created, in epoch seconds, without devices that do not exist.
	// Readings that do not match are dropped, because they belong to a deleted device.
	Made func(ctx context.Context, deviceIDs []string) (map[string]int64, error)
}

// Moved is the result of Move.
type Moved struct {
	Blocks   int // emptied and deleted blocks
	Readings int
	Segments int // written segments
	Waiting  int // blocks that stay because their hours are not over
	Damaged  int // unreadable blocks and segments, which stay
}

const (
	// hourOver is how long after the end of an hour its readings are moved.
	hourOver = 2 * time.Minute

	// fewBlocks is how many blocks of current hours may stay in a shard, because every read of a
	// device examines all of them. It is smaller on the embedded engine, where writes are cheap,
	// than on a table where each write is billed.
	fewBlocks, fewBilled = 128, 2000
	fewBytes             = 4 << 20 // total size of bodies

	moveReadings = 100_000 // readings moved at a time
	moveAtOnce   = 32      // segments written concurrently
	moveTries    = 16      // attempts on a segment that others write as well
)

// Move moves the readings of a fleet from blocks into segments: those of completed hours, and all
// of a shard if many blocks are waiting. It may be interrupted, repeated, and run concurrently:
// segments are written before blocks are deleted, and readings that are already in a segment are
// not added again. Damaged items stay where they are and are reported at the end. Errors:
// ErrDamaged, those of the store and of Made.
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

// MoveShardOf moves all readings of the shard that contains a device.
func MoveShardOf(ctx context.Context, t *table.Table, fleetID, deviceID string, o MoveOptions) (did Moved, err error) {
	o.All = true
	m := mover{t: t, o: o, shard: ShardIn{fleetID, ShardOf(deviceID)}, did: &did}
	if err := m.run(ctx); err != nil {
		return did, fmt.Errorf("readings: move those of device %q: %w", deviceID, err)
	}
	return did, errors.Join(m.damaged...)
}

// mover moves the readings of one shard.
type mover struct {
	t       *table.Table
	o       MoveOptions
	shard   ShardIn
	did     *Moved
	damaged []error

	blocks   []BlockKey // blocks whose readings are in readings
	readings []Reading
}

// run processes the blocks once. Blocks of current hours are set aside until there are too many of
// them.
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

// take adds the readings of a block to the batch.
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

// over reports whether the hours of a block's readings are over, or the block has past readings: of
// an import, or stored by a device while it was offline.
func (m *mover) over(b *Block) bool {
	hour := time.Hour.Milliseconds()
	return b.Last-b.First > 2*hour || m.t.Now().UnixMilli() >= (b.Last/hour+1)*hour+hourOver.Milliseconds()
}

func (m *mover) note(err error) {
	m.did.Damaged++
	m.damaged = append(m.damaged, err)
}

// flush writes the batch into segments, then deletes its blocks.
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

// hours groups the batch by device and hour, without readings of deleted devices.
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

// addToHour adds sorted readings of one device and hour to its segments. It returns how many
// segments it wrote. A damaged segment is reported and left as it is.
func addToHour(ctx context.Context, t *table.Table, readings []Reading) (wrote int, damaged, err error) {
	key := SegmentKey{DeviceID: readings[0].DeviceID, Hour: hourOf(readings[0].At)}
	for range moveTries {
		var last *Segment // the part that may be extended
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

// without returns the sorted readings that are not in others, or that arrived before their copy in
// others.
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

// addTo adds readings to the last part of an hour if they fit, and otherwise creates new parts.
// Errors: table.ErrCondition and table.ErrExists if there was a concurrent write.
func addTo(ctx context.Context, t *table.Table, last *Segment, open, fresh []Reading, next SegmentKey) (wrote int, err error) {
	if last != nil {
		now := t.Now()
		all := sortReadings(slices.DeleteFunc(append(slices.Clone(open), fresh...), func(r Reading) bool { return !r.live(now) }))
		body, err := segmentColumns.Append(nil, all)
		if len(all) == 0 {
			return 0, nil // all have expired
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

// MoveAll calls Move for all fleets in which readings arrive, and removes a fleet from this list
// once no more readings arrive. Errors: as Move, joined.
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
