package readings

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/internal/known"
	"github.com/onefold/onefold/table"
)

// A Store stores each reading once, as far as it knows. Stores of one table.Table share their
// knowledge. It is safe for concurrent use.
type Store struct {
	*shared
	atOnce int
}

// shared is the state shared by all stores of a table.Table. mu protects announce.
type shared struct {
	t     *table.Table
	known *known.Facts[place]
	scans scans

	mu       sync.Mutex
	announce map[string]time.Time // time of the last announcement, by fleet
}

// place is an hour of a device, whose segments are read together.
type place struct {
	fleetID, deviceID string
	made              int64
	hour              int64 // hours since 1970, by device time
}

func placeOf(r *Reading) place {
	return place{r.FleetID, r.DeviceID, r.Made, r.At.UnixMilli() / time.Hour.Milliseconds()}
}

// NewStore returns a Store that makes at most atOnce concurrent requests per call.
func NewStore(t *table.Table, atOnce int) *Store {
	return &Store{t.Shared(sharedKey{}, func() any { return newShared(t) }).(*shared), atOnce}
}

type sharedKey struct{}

func newShared(t *table.Table) *shared {
	s := &shared{t: t, announce: make(map[string]time.Time)}
	s.known = known.New(known.Options[place]{
		Begins: func(p place) int64 { return p.hour*time.Hour.Milliseconds() - maxAhead.Milliseconds() },
		Since:  t.Now(),
		Stored: s.stored,
	})
	return s
}

// maxAhead is how far the clock of a device may be ahead.
const maxAhead = 24 * time.Hour

// Stored returns how many readings all stores of this table.Table have stored.
func (s *Store) Stored() int64 { return s.known.Stored() }

// Put stores the readings that are not stored yet. Readings of one shard share blocks. It returns
// one error per reading: nil, table.ErrExists if it was stored before or is repeated,
// table.ErrTooLarge, or an error of the store or of ctx.
func (s *Store) Put(ctx context.Context, readings []Reading) []error {
	return s.put(ctx, readings, s.t.Now())
}

func (s *Store) put(ctx context.Context, readings []Reading, arrived time.Time) []error {
	errs := make([]error, len(readings))
	at := make([]int, 0, len(readings))
	for i := range readings {
		if readings[i].size() > maxReading {
			errs[i] = table.ErrTooLarge
			continue
		}
		at = append(at, i)
	}
	for len(at) > 0 {
		claim, err := s.known.Claim(ctx, at, func(i int) (place, known.ID) { return placeOf(&readings[i]), readings[i].ID() })
		if err != nil {
			return failed(errs, at, err)
		}
		for _, i := range claim.Known {
			errs[i] = table.ErrExists
		}
		s.putNew(ctx, readings, claim, arrived, errs)
		rest, err := claim.Rest(ctx)
		if err != nil {
			return failed(errs, at, err)
		}
		at = rest
	}
	return errs
}

func failed(errs []error, at []int, err error) []error {
	for _, i := range at {
		if errs[i] == nil {
			errs[i] = err
		}
	}
	return errs
}

// putNew stores the new readings of a claim and ends the claim.
func (s *Store) putNew(ctx context.Context, readings []Reading, claim *known.Claim[place], arrived time.Time, errs []error) {
	defer claim.End(func(i int) bool { return errs[i] == nil })
	blocks, err := pack(readings, claim.Fresh, arrived)
	if err == nil {
		err = s.announceAll(ctx, blocks)
	}
	if err != nil {
		failed(errs, claim.Fresh, err)
		return
	}
	s.create(ctx, blocks, errs)
}

// create writes blocks. ErrExists means that an earlier answer was lost, because block IDs are
// unique.
func (s *Store) create(ctx context.Context, blocks []packed, errs []error) {
	batch := make([]Block, len(blocks))
	for n := range blocks {
		batch[n] = blocks[n].Block
	}
	for n, err := range StoreBlocks.RunMany(ctx, s.t, batch, s.atOnce) {
		if err != nil && !errors.Is(err, table.ErrExists) {
			failed(errs, blocks[n].of, err)
		}
	}
}

const (
	// announceEvery is how often a fleet with arriving readings is announced. MoveAll keeps
	// examining it for longer than that.
	announceEvery = 10 * time.Minute
	lookFor       = 3 * announceEvery
)

// announceAll announces that readings arrive, before they are stored.
func (s *shared) announceAll(ctx context.Context, blocks []packed) error {
	for n := range blocks {
		if err := s.announceOne(ctx, blocks[n].FleetID); err != nil {
			return err
		}
	}
	return nil
}

func (s *shared) announceOne(ctx context.Context, fleetID string) error {
	now := s.t.Now()
	s.mu.Lock()
	last, told := s.announce[fleetID]
	s.mu.Unlock()
	if told && now.Sub(last).Abs() < announceEvery {
		return nil
	}
	if err := Arrivals.Put(ctx, s.t, &Arriving{ArrivingKey{table.Shard(fleetID, listShards), fleetID}, now.UTC()}); err != nil {
		return err
	}
	s.mu.Lock()
	s.announce[fleetID] = now
	s.mu.Unlock()
	return nil
}

// Exist reports for each reading whether it is stored.
func (s *Store) Exist(ctx context.Context, readings []Reading) ([]bool, error) {
	there, read := make([]bool, len(readings)), make(map[place]map[known.ID]bool)
	shards := make(map[ShardIn]map[place][]known.ID)
	for i := range readings {
		r := &readings[i]
		p, shard := placeOf(r), ShardIn{r.FleetID, ShardOf(r.DeviceID)}
		if shards[shard] == nil {
			found, err := scan(ctx, s.t, shard)
			if err != nil {
				return nil, err
			}
			shards[shard] = found
		}
		if read[p] == nil {
			ids, err := inSegments(ctx, s.t, p, shards[shard][p])
			if err != nil {
				return nil, err
			}
			read[p] = make(map[known.ID]bool, len(ids))
			for _, id := range ids {
				read[p][id] = true
			}
		}
		there[i] = read[p][r.ID()]
	}
	return there, nil
}

// scans caches the content of blocks by shard, as it was before this process stored anything for
// the places that were not taken yet.
type scans struct {
	mu     sync.Mutex
	shards map[ShardIn]*scanned
}

// scanned is the content of a shard.
type scanned struct {
	found  map[place][]known.ID
	handed map[place]bool // places that were taken, and may have changed since
}

// maxHanded limits the remembered places. After that the shard is read again.
const maxHanded = 100_000

// stored returns the IDs of the readings of a place: those in blocks, which are read for the whole
// shard at once, and then those in segments.
func (s *shared) stored(ctx context.Context, p place) ([]known.ID, error) {
	ids, err := s.scans.take(ctx, s.t, p)
	if err != nil {
		return nil, err
	}
	return inSegments(ctx, s.t, p, ids)
}

// take returns the IDs of a place in blocks.
func (c *scans) take(ctx context.Context, t *table.Table, p place) ([]known.ID, error) {
	shard := ShardIn{p.fleetID, ShardOf(p.deviceID)}
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.shards[shard]
	if is == nil || is.handed[p] || len(is.handed) >= maxHanded {
		found, err := scan(ctx, t, shard)
		if err != nil {
			return nil, err
		}
		if c.shards == nil {
			c.shards = make(map[ShardIn]*scanned)
		}
		is = &scanned{found, make(map[place]bool)}
		c.shards[shard] = is
	}
	is.handed[p] = true
	ids := is.found[p]
	delete(is.found, p)
	return ids, nil
}

// scan reads the IDs of the readings in a shard's blocks. It skips damaged blocks: if their
// readings are sent again, they are stored again and counted once.
func scan(ctx context.Context, t *table.Table, shard ShardIn) (map[place][]known.ID, error) {
	found := make(map[place][]known.ID)
	for b, err := range WaitingBlocks.All(ctx, t, shard) {
		if err != nil {
			return nil, err
		}
		all, err := b.Readings()
		if err != nil {
			continue
		}
		for i := range all {
			p := placeOf(&all[i])
			found[p] = append(found[p], all[i].ID())
		}
	}
	return found, nil
}

// inSegments appends the IDs of the readings of a place in segments.
func inSegments(ctx context.Context, t *table.Table, p place, ids []known.ID) ([]known.ID, error) {
	hour := time.UnixMilli(p.hour * time.Hour.Milliseconds())
	for seg, err := range SegmentsByHour.All(ctx, t, hourIn(SegmentKey{DeviceID: p.deviceID, Hour: hourOf(hour)})) {
		if err != nil {
			return nil, err
		}
		all, err := seg.Readings()
		if err != nil {
			continue
		}
		for i := range all {
			all[i].Made = p.made
			ids = append(ids, all[i].ID())
		}
	}
	return ids, nil
}

// PackItems encodes readings as items of blocks, to be spooled until PutItems stores them. of holds
// the indexes of each item's readings. Errors: block.ErrTooLarge.
func (s *Store) PackItems(readings []Reading, at []int) (items []table.Item, of [][]int, err error) {
	blocks, err := pack(readings, at, s.t.Now())
	for n := range blocks {
		it, err := Blocks.Encode(&blocks[n].Block)
		if err != nil {
			return nil, nil, err
		}
		items, of = append(items, it), append(of, blocks[n].of)
	}
	return items, of, err
}

// PutItems stores the readings in items from PackItems, possibly of another process. change is
// called before and may change their times. It returns one error per item: table.ErrWrongEntity if
// it is not a block.
func (s *Store) PutItems(ctx context.Context, items []table.Item, change func(ctx context.Context, readings []Reading) error) []error {
	errs := make([]error, len(items))
	for i, it := range items {
		b, err := Blocks.Decode(it)
		var all []Reading
		if err == nil {
			if all, err = b.Readings(); err != nil {
				err = fmt.Errorf("%w: %w", table.ErrWrongEntity, err)
			}
		}
		if err == nil {
			err = change(ctx, all)
		}
		if err == nil {
			err = s.putAgain(ctx, &b, all)
		}
		errs[i] = err
	}
	return errs
}

// putAgain stores the readings of a spooled block.
func (s *Store) putAgain(ctx context.Context, b *Block, all []Reading) error {
	id, err := ulid.ParseStrict(b.BlockID)
	if err != nil {
		return fmt.Errorf("%w: %w", table.ErrWrongEntity, err)
	}
	for _, err := range s.put(ctx, all, ulid.Time(id.Time())) {
		if err != nil && !errors.Is(err, table.ErrExists) {
			return err
		}
	}
	return nil
}
