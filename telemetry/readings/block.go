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

// Shards is the number of partitions for the blocks of a fleet. Devices are assigned to shards, so
// that all readings of a device are in one partition, in order of arrival. With one shard, readings
// that arrive together share an item; docs/decisions has the figures. It is part of stored keys.
const Shards = 1

// ShardOf returns the shard of a device.
func ShardOf(deviceID string) int { return table.Shard(deviceID, Shards) }

// ErrDamaged is returned for an unreadable block or segment. The message names it.
var ErrDamaged = errors.New("readings: damaged")

// BlockKey names a block.
type BlockKey struct {
	FleetID string `dynamodbav:"fleetId"`
	Shard   int    `dynamodbav:"shard"`
	BlockID string `dynamodbav:"blockId"` // ULID of the arrival
}

// Block holds readings of one fleet and shard that arrived together, ordered by device and time.
// The format is in docs/format/readings.md.
type Block struct {
	BlockKey
	Body  []byte `dynamodbav:"body"`  // encoded columns
	Count int    `dynamodbav:"count"` // number of readings
	First int64  `dynamodbav:"first"` // time of the earliest reading, epoch milliseconds
	Last  int64  `dynamodbav:"last"`  // time of the latest

	// ExpiresAt is when the block may be deleted: the latest expiry of its readings.
	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// The largest encoded items, in bytes.
const (
	maxBlockBytes   = 380 << 10
	maxSegmentBytes = 380 << 10
	maxWindowBytes  = 100 << 10

	blockBytes   = 64 << 10 // target size of a body; a single larger reading may exceed it
	segmentBytes = 64 << 10

	// maxReading is the approximate maximum size of a reading.
	maxReading = 32 << 10
)

// Keys that several entities share.
const (
	shardPK  = "FLEET#{fleetId}#SHARD#{shard}"
	devicePK = "DEVICE#{deviceId}"
)

// lingersPerSecond is the maximum rate of blocks of single readings on a server that holds each
// reading for 250 ms.
const lingersPerSecond = 4

// Blocks holds the raw facts as they arrive.
var Blocks = table.Define[Block, BlockKey]("telemetry.block", table.Def[Block]{
	PK: shardPK, SK: "READINGS#{blockId}", Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole}},
	Immutable: true,
	MaxBytes:  maxBlockBytes,
	Example:   exampleBlock,
	Doc:       "Readings that arrived together, until they are moved into segments.",
	Growth:    table.Growth{Writes: 1, Most: lingersPerSecond, Bytes: 200, Packed: 15},
})

// WindowKey names a part of a window.
type WindowKey struct {
	FleetID string `dynamodbav:"fleetId"`
	Shard   int    `dynamodbav:"shard"`
	Span    string `dynamodbav:"span"`
	Part    string `dynamodbav:"part"`
}

// Window records, for the readings of an hour and shard, which block had each reading first.
type Window struct {
	WindowKey
	fold.Window
}

// Windows lets folds recognize resent readings, so that they count once.
var Windows = table.Define[Window, WindowKey]("telemetry.window", table.Def[Window]{
	PK: shardPK, SK: fold.WindowSK, Access: table.Access{Ingest: table.Rights{Reads: table.Whole}, Fold: table.Rights{Puts: table.Whole}},
	Expires:  func(w *Window) time.Time { return w.Expiry() },
	MaxBytes: maxWindowBytes,
	Example:  exampleWindow,
	Doc:      "Which block had each reading first, so that a repeated reading is counted once.",
	Growth:   table.Growth{Writes: 1, Most: lingersPerSecond, MostDelayed: 0.05, Delayed: 0.003, Items: 0.003, Bytes: 400, Keep: 30 * 24 * time.Hour},
})

// compareForBlock orders readings by partition, device and time.
func compareForBlock(a, b *Reading) int {
	return cmp.Or(strings.Compare(a.FleetID, b.FleetID), ShardOf(a.DeviceID)-ShardOf(b.DeviceID), strings.Compare(a.DeviceID, b.DeviceID), a.Compare(&b.Key))
}

// packed is a block and the indexes of its readings in the packed slice.
type packed struct {
	Block
	of []int
}

// Pack encodes readings that arrived together into blocks. Errors: block.ErrTooLarge.
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

// pack encodes the readings at the given indexes into blocks.
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

// blockID returns a unique block ID, unrelated to the block's content. It must never be reused: a
// block is deleted once its readings are in segments, and folds treat a block with the same ID as
// the same block.
func blockID(arrived time.Time) string {
	var id ulid.ULID
	if err := id.SetTime(uint64(max(arrived.UnixMilli(), 0))); err != nil { // later than the year 10889
		return ""
	}
	binary.BigEndian.PutUint64(id[6:], rand.Uint64())
	binary.BigEndian.PutUint16(id[14:], uint16(rand.Uint32()))
	return id.String()
}

// blockOf returns the block with the given readings and encoded body, without an ID.
func blockOf(readings []Reading, body []byte) Block {
	r := &readings[0]
	b := Block{BlockKey: BlockKey{FleetID: r.FleetID, Shard: ShardOf(r.DeviceID)}, Body: body, Count: len(readings)}
	b.First, b.Last, b.ExpiresAt = extent(readings)
	return b
}

// extent returns the earliest and latest time of readings, in epoch milliseconds, and the latest
// expiry.
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

// Readings decodes the block's readings. Errors: ErrDamaged.
func (b *Block) Readings() ([]Reading, error) {
	all, err := blockColumns.Decode(nil, b.Body)
	if err != nil {
		return nil, b.damaged(err)
	}
	return b.completed(all)
}

// readingsOf decodes only the readings of one device, for a fraction of the cost. Errors:
// ErrDamaged.
func (b *Block) readingsOf(deviceID string) ([]Reading, error) {
	all, err := blockColumns.DecodeSome(nil, b.Body, block.Want[Reading]{Fact: func(r *Reading) bool { return r.DeviceID == deviceID }})
	if err != nil {
		return nil, b.damaged(err)
	}
	return b.completed(slices.DeleteFunc(all, func(r Reading) bool { return r.DeviceID != deviceID }))
}

// completed sets the fields that are not stored in columns, and checks the shard. Errors:
// ErrDamaged.
func (b *Block) completed(all []Reading) ([]Reading, error) {
	for i := range all {
		r := &all[i]
		r.FleetID = b.FleetID
		r.complete()
		if ShardOf(r.DeviceID) != b.Shard {
			return nil, b.damaged(fmt.Errorf("device %q is out of order", r.DeviceID))
		}
	}
	return all, nil
}

// complete sets the fields that are not stored in columns.
func (r *Reading) complete() {
	if r.Disc == "" {
		r.Disc = Unnumbered(r.Values, 0)
	}
	if r.Values == nil {
		r.Values = Values{}
	}
}

func (b *Block) damaged(err error) error {
	return fmt.Errorf("%w block %s of fleet %s, shard %d: %w", ErrDamaged, b.BlockID, b.FleetID, b.Shard, err)
}
