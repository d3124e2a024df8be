package readings

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/block"
	"github.com/onefold/onefold/table"
)

// Shards is over how many partitions the blocks of a fleet are spread: by device, so that all readings of a device are in one partition,
// in the order in which they came. With one, what comes at once is one item. docs/decisions has the figures. It is part of stored keys.
const Shards = 1

// ShardOf is the shard of a device.
func ShardOf(deviceID string) int { return table.Shard(deviceID, Shards) }

// ErrDamaged is returned for a block or segment that cannot be read. It names it.
var ErrDamaged = errors.New("readings: damaged")

// BlockKey names a block.
type BlockKey struct {
	FleetID string `dynamodbav:"fleetId"`
	Shard   int    `dynamodbav:"shard"`
	BlockID string `dynamodbav:"blockId"` // ULID: when it arrived
}

// Block holds readings that arrived together, of one fleet and shard, in the order of devices and times. docs/format/readings.md.
type Block struct {
	BlockKey
	Body  []byte `dynamodbav:"body"`  // their columns
	Count int    `dynamodbav:"count"` // of readings
	First int64  `dynamodbav:"first"` // epoch milliseconds, the least of their times
	Last  int64  `dynamodbav:"last"`  // and the greatest

	// ExpiresAt is when the block may be deleted: when the last of its readings may.
	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// The largest encoded items, in bytes.
const (
	maxBlockBytes   = 380 << 10
	maxSegmentBytes = 380 << 10
	maxWindowBytes  = 100 << 10

	blockBytes   = 64 << 10 // of a body, at most, but for a reading that is larger by itself
	segmentBytes = 64 << 10

	// maxReading is about what a reading may take by itself.
	maxReading = 32 << 10
)

// Keys that several entities share.
const (
	shardPK  = "FLEET#{fleetId}#SHARD#{shard}"
	devicePK = "DEVICE#{deviceId}"
)

// lingersPerSecond is the most blocks of single readings that a server stores in a second if it holds each reading for 250 ms.
const lingersPerSecond = 4

// Blocks are the raw facts as they arrive.
var Blocks = table.Define[Block, BlockKey]("telemetry.block", table.Def[Block]{
	PK: shardPK, SK: "READINGS#{blockId}",
	Immutable: true,
	MaxBytes:  maxBlockBytes,
	Example:   exampleBlock,
	Doc:       "Readings of devices that arrived together, until they are in segments.",
	Growth:    table.Growth{Writes: 1, Most: lingersPerSecond, Bytes: 200, Packed: 15},
})

// WindowKey names a part of a window.
type WindowKey struct {
	FleetID string `dynamodbav:"fleetId"`
	Shard   int    `dynamodbav:"shard"`
	Span    string `dynamodbav:"span"`
	Part    string `dynamodbav:"part"`
}

// Window says which block had a reading first, of all readings of an hour of a shard.
type Window struct {
	WindowKey
	fold.Window
}

// Windows tell folds which readings they have counted, so that one that is sent again is not counted again.
var Windows = table.Define[Window, WindowKey]("telemetry.window", table.Def[Window]{
	PK: shardPK, SK: fold.WindowSK,
	Expires:  func(w *Window) time.Time { return w.Expiry() },
	MaxBytes: maxWindowBytes,
	Example:  exampleWindow,
	Doc:      "Which block had a reading first: one that is sent again does not count again.",
	Growth:   table.Growth{Writes: 1, Most: lingersPerSecond, MostDelayed: 0.05, Delayed: 0.003, Items: 0.003, Bytes: 400, Keep: 30 * 24 * time.Hour},
})

// compareForBlock orders readings by partition, device and time.
func compareForBlock(a, b *Reading) int {
	return cmp.Or(strings.Compare(a.FleetID, b.FleetID), ShardOf(a.DeviceID)-ShardOf(b.DeviceID), strings.Compare(a.DeviceID, b.DeviceID), a.Compare(&b.Key))
}

// packed is a block, and the indexes that its readings had in the slice that was packed.
type packed struct {
	Block
	of []int
}

// Pack makes the blocks of readings that arrive together. Errors: block.ErrTooLarge.
func Pack(readings []Reading, arrived time.Time) ([]Block, error) {
	at := make([]int, len(readings))
	for i := range at {
		at[i] = i
	}
	all, err := pack(readings, at, arrived)
	blocks := make([]Block, len(all))
	for i := range all {
		blocks[i] = all[i].Block
	}
	return blocks, err
}

// pack makes blocks of those of the readings at some places.
func pack(readings []Reading, at []int, arrived time.Time) (blocks []packed, err error) {
	at = slices.Clone(at)
	slices.SortStableFunc(at, func(a, b int) int { return compareForBlock(&readings[a], &readings[b]) })
	sorted := make([]Reading, len(at))
	for n, i := range at {
		sorted[n] = readings[i]
	}
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to].FleetID == sorted[from].FleetID && ShardOf(sorted[to].DeviceID) == ShardOf(sorted[from].DeviceID) {
			to++
		}
		for part, err := range blockColumns.Split(sorted[from:to], blockBytes) {
			if err != nil {
				return nil, fmt.Errorf("readings: pack: %w", err)
			}
			n := len(part.Facts)
			b := blockOf(part.Facts, part.Body)
			b.BlockID = blockID(arrived)
			blocks = append(blocks, packed{b, at[from : from+n]})
			from += n
		}
	}
	return blocks, nil
}

// blockID makes the ID of a block. No two blocks have the same, whatever is in them: a block is deleted once its readings are in segments,
// and folds would count those of another with its ID.
func blockID(arrived time.Time) string {
	var id ulid.ULID
	if err := id.SetTime(uint64(max(arrived.UnixMilli(), 0))); err != nil { // after the year 10889
		return ""
	}
	binary.BigEndian.PutUint64(id[6:], rand.Uint64())
	binary.BigEndian.PutUint16(id[14:], uint16(rand.Uint32()))
	return id.String()
}

// blockOf is the block of some readings in a body, without its ID.
func blockOf(readings []Reading, body []byte) Block {
	r := &readings[0]
	b := Block{BlockKey: BlockKey{FleetID: r.FleetID, Shard: ShardOf(r.DeviceID)}, Body: body, Count: len(readings)}
	b.First, b.Last, b.ExpiresAt = extent(readings)
	return b
}

// extent returns the times of the first and the last reading, in epoch milliseconds, and the latest expiry.
func extent(readings []Reading) (first, last int64, expires time.Time) {
	first, last = readings[0].At.UnixMilli(), readings[0].At.UnixMilli()
	for i := range readings {
		r := &readings[i]
		first, last = min(first, r.At.UnixMilli()), max(last, r.At.UnixMilli())
		if r.ExpiresAt.After(expires) {
			expires = r.ExpiresAt
		}
	}
	return first, last, expires
}

// Readings reads the block's readings. Errors: ErrDamaged.
func (b *Block) Readings() ([]Reading, error) {
	all, err := blockColumns.Decode(nil, b.Body)
	if err != nil {
		return nil, b.damaged(err)
	}
	return b.completed(all)
}

// readingsOf reads the block's readings of a device, for a fraction of what all cost. Errors: ErrDamaged.
func (b *Block) readingsOf(deviceID string) ([]Reading, error) {
	all, err := blockColumns.DecodeSome(nil, b.Body, block.Want[Reading]{Fact: func(r *Reading) bool { return r.DeviceID == deviceID }})
	if err != nil {
		return nil, b.damaged(err)
	}
	return b.completed(slices.DeleteFunc(all, func(r Reading) bool { return r.DeviceID != deviceID }))
}

// completed fills in what the columns of the block's readings do not say. Errors: ErrDamaged.
func (b *Block) completed(all []Reading) ([]Reading, error) {
	for i := range all {
		r := &all[i]
		r.FleetID = b.FleetID
		r.complete()
		if ShardOf(r.DeviceID) != b.Shard {
			return nil, b.damaged(fmt.Errorf("device %q is not in its place", r.DeviceID))
		}
	}
	return all, nil
}

// complete fills in what columns do not say.
func (r *Reading) complete() {
	if r.Disc == "" {
		r.Disc = Unnumbered(r.Values, 0)
	}
	if r.Values == nil {
		r.Values = Values{}
	}
}

// has reports whether the block has readings of a device. Errors: ErrDamaged.
func (b *Block) has(deviceID string, spare []Reading) (bool, []Reading, error) {
	all, err := blockColumns.Decode(spare[:0], b.Body, columnDevice)
	if err != nil {
		return false, spare, b.damaged(err)
	}
	_, found := slices.BinarySearchFunc(all, deviceID, func(r Reading, id string) int { return strings.Compare(r.DeviceID, id) })
	return found, all, nil
}

func (b *Block) damaged(err error) error {
	return fmt.Errorf("%w block %s of fleet %s, shard %d: %w", ErrDamaged, b.BlockID, b.FleetID, b.Shard, err)
}
