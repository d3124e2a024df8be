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

// A Store stores readings, each once as far as it knows. Stores of one table.Table know the same. It is safe for concurrent use.
type Store struct {
	*shared
	atOnce int
}

// shared is what all stores of a table.Table share.
type shared struct {
	t     *table.Table
	known *known.Facts[place]
	scans scans

	mu       sync.Mutex
	announce map[string]time.Time // by fleet, when it was said last that readings arrive
}

// place is an hour of a device: its segments are read at once.
type place struct {
	fleetID, deviceID string
	made              int64
	hour              int64 // of device time, since 1970
}

func placeOf(r *Reading) place {
	return place{r.FleetID, r.DeviceID, r.Made, r.At.UnixMilli() / time.Hour.Milliseconds()}
}

// NewStore stores in t, by at most atOnce requests at once for a call.
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

// maxAhead is by how much the clock of a device may be ahead.
const maxAhead = 24 * time.Hour

// Stored returns how many readings have been stored by stores of the table.Table since the first was made.
func (s *Store) Stored() int64 { return s.known.Stored() }

// Put stores the readings that are not stored yet; readings of one shard share blocks. It returns one error for each reading:
// table.ErrExists if it was stored before or came twice, table.ErrTooLarge, or an error of the store or of ctx.
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

// putNew stores what is new of a claim, and ends it.
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

// create writes blocks. One that exists is there because an answer was lost: nobody else has its ID.
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
	// announceEvery is how often it is said that readings arrive in a fleet. Who moves them looks at the fleet for longer than that.
	announceEvery = 10 * time.Minute
	lookFor       = 3 * announceEvery
)

// announceAll says that readings arrive, before they do.
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

// There says of each reading whether it is stored.
func (s *Store) There(ctx context.Context, readings []Reading) ([]bool, error) {
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

// scans are what blocks hold, shard by shard, as they were found before this server stored anything of the places that are not handed out.
type scans struct {
	mu     sync.Mutex
	shards map[ShardIn]*scanned
}

// scanned is a shard as it was found.
type scanned struct {
	found  map[place][]known.ID
	handed map[place]bool // what was asked for, and may be more by now
}

// maxHanded bounds how many places are remembered that were asked for. After that, the shard is read again.
const maxHanded = 100_000

// stored reads the names of the readings of a place: those in blocks, which are read for all places of the shard at once, and then those in
// segments.
func (s *shared) stored(ctx context.Context, p place) ([]known.ID, error) {
	ids, err := s.scans.take(ctx, s.t, p)
	if err != nil {
		return nil, err
	}
	return inSegments(ctx, s.t, p, ids)
}

// take returns what blocks hold of a place.
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

// scan reads the names of the readings in the blocks of a shard. Those of a damaged block are not known; should they be sent again, they
// are stored again, and counted once.
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

// inSegments adds the names of the readings of a place in segments.
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

// PackItems makes of readings the items of blocks, to be kept until PutItems stores them. of are the places of each item's readings.
// Those that are too large have an error instead.
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

// PutItems stores the readings of items that PackItems made, maybe in another process. change is asked before: it may give them other
// times. It returns an error for each item: table.ErrWrongEntity for what is no block.
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

// putAgain stores the readings of a block that was kept.
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
