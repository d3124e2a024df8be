package readings

import (
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/purge"
)

// Partitions returns the partitions in which a fleet's readings arrive, for its deletion.
func Partitions(fleetID string) (all []purge.Range, err error) {
	for shard := range Shards {
		key, err := Blocks.Key(BlockKey{fleetID, shard, "0"})
		if err != nil {
			return nil, err
		}
		one := purge.RestOfPartition(key)
		one.Keep = ""
		all = append(all, one)
	}
	return all, nil
}

// Forget removes a fleet from the list of fleets in which readings arrive.
func Forget(ctx context.Context, t *table.Table, fleetID string) error {
	return Arrivals.Delete(ctx, t, ArrivingKey{table.Shard(fleetID, listShards), fleetID})
}

// RemovalKey names a segment that was deleted.
type RemovalKey struct {
	FleetID  string `dynamodbav:"fleetId"`
	Shard    int    `dynamodbav:"shard"`
	DeviceID string `dynamodbav:"deviceId"`
	Hour     string `dynamodbav:"hour"`
	Part     int    `dynamodbav:"part"`
}

// Removal records that a segment was deleted, for consumers of the change stream that keep what
// they read. It is stored in the partition in which the readings arrived, so that it follows them
// in the stream; segments are in another partition.
type Removal struct {
	RemovalKey
	Body []byte    `dynamodbav:"body"` // body of the segment
	At   time.Time `dynamodbav:"at"`   // time of the deletion
}

// Removals holds the recently deleted segments.
var Removals = table.Define[Removal, RemovalKey]("telemetry.removal", table.Def[Removal]{
	PK: shardPK, SK: "REMOVED#{deviceId}#{hour}#{part:03}",
	Expires:  func(r *Removal) time.Time { return r.At.Add(keepRemoval) },
	MaxBytes: maxSegmentBytes,
	Example:  exampleRemoval,
	Doc:      "Readings of a deleted device, for readers of the change stream.",
})

// keepRemoval is how long a removal is stored. Only its change in the stream matters.
const keepRemoval = 24 * time.Hour

// Readings decodes the deleted readings. Errors: ErrDamaged.
func (r *Removal) Readings() ([]Reading, error) {
	s := Segment{SegmentKey: SegmentKey{r.DeviceID, r.Hour, r.Part}, FleetID: r.FleetID, Body: r.Body}
	return s.Readings()
}

// Remove deletes segments of a device and stores their Removals. It may be interrupted and
// repeated.
func Remove(ctx context.Context, t *table.Table, fleetID string, in SegmentsIn) (n int64, err error) {
	for s, err := range SegmentsByHour.All(ctx, t, in) {
		if err != nil {
			return n, err
		}
		r := Removal{RemovalKey{fleetID, ShardOf(s.DeviceID), s.DeviceID, s.Hour, s.Part}, s.Body, t.Now().UTC()}
		err = Removals.Put(ctx, t, &r)
		if err == nil {
			err = Segments.Delete(ctx, t, s.SegmentKey)
		}
		if err != nil {
			return n, fmt.Errorf("readings: remove those of device %q: %w", in.DeviceID, err)
		}
		n++
	}
	return n, nil
}
