package readings

import (
	"time"

	"github.com/onefold/onefold/table"
)

// ShardIn selects a shard of a fleet.
type ShardIn struct {
	FleetID string `dynamodbav:"fleetId"`
	Shard   int    `dynamodbav:"shard"`
}

// WaitingBlocks queries the blocks whose readings are not in segments yet, by arrival.
var WaitingBlocks = table.NewQuery(Blocks, table.QueryDef[ShardIn]{
	ID: "T3b", Question: "the readings of a shard that are not in segments yet", Prefix: "READINGS#",
	Load: table.Load{PerSecond: 2, Items: 100, ItemBytes: 600},
})

// SegmentsIn selects the segments of a device for hours in [From, To); an empty To is open.
type SegmentsIn struct {
	DeviceID string `dynamodbav:"deviceId"`
	From     string `dynamodbav:"from"`
	To       string `dynamodbav:"to"`
}

// SegmentsByHour queries the segments of a device by hour.
var SegmentsByHour = table.NewQuery(Segments, table.QueryDef[SegmentsIn]{
	ID: "T3", Question: "the readings of a device in a time range",
	From: "READINGS#{from}", To: "READINGS#{to}",
	Load: table.Load{PerSecond: 1, Items: 24, ItemBytes: 700},
})

// NewestSegments queries the segments of a device, latest hour first.
var NewestSegments = table.NewQuery(Segments, table.QueryDef[SegmentsIn]{
	ID: "T4", Question: "the latest reading of a device", Desc: true,
	From: "READINGS#{from}", To: "READINGS#{to}",
	Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 700},
})

// StoreBlocks creates blocks.
var StoreBlocks = table.NewCreate(Blocks, table.CreateDef{
	ID: "T8", Question: "store a block of readings, with its expiry",
	Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 600},
})

// SpansIn selects windows by their start, in fold.WindowLayout, half-open.
type SpansIn struct {
	FleetID string `dynamodbav:"fleetId"`
	Shard   int    `dynamodbav:"shard"`
	From    string `dynamodbav:"from"`
	To      string `dynamodbav:"to"`
}

// KnownReadings queries the windows of a time range: which readings arrived, and in which block
// first.
var KnownReadings = table.NewQuery(Windows, table.QueryDef[SpansIn]{
	ID: "T8b", Question: "the readings of a time range that have arrived",
	From: "WINDOW#{from}", To: "WINDOW#{to}",
	Load: table.Load{PerSecond: 0.1, Items: 10, ItemBytes: 1_000},
})

// ArrivingKey names a fleet in which readings arrive.
type ArrivingKey struct {
	Shard   int    `dynamodbav:"shard"` // shard of the list
	FleetID string `dynamodbav:"fleetId"`
}

// Arriving records that a fleet has, or will soon have, blocks, so that MoveAll need not examine
// all fleets.
type Arriving struct {
	ArrivingKey
	At time.Time `dynamodbav:"at"` // last announcement by a collector
}

// listShards is the number of partitions for the list of fleets.
const listShards = 4

// Arrivals holds the fleets in which readings arrive.
var Arrivals = table.Define[Arriving, ArrivingKey]("telemetry.arriving", table.Def[Arriving]{
	PK: "READINGS_ARRIVING#{shard}", SK: "FLEET#{fleetId}", Access: table.Access{Ingest: table.Rights{Puts: table.Whole}},
	Doc: "A fleet whose readings are being moved into segments.",
})

var arrivingAt = table.FieldOf(Arrivals, func(a *Arriving) *time.Time { return &a.At })

// ListIn selects a shard of the list of fleets.
type ListIn struct {
	Shard int `dynamodbav:"shard"`
}

// ArrivingFleets queries the fleets in which readings arrive.
var ArrivingFleets = table.NewQuery(Arrivals, table.QueryDef[ListIn]{
	ID: "T8c", Question: "the fleets with readings to move into segments", Load: table.Load{PerSecond: 0.15, Items: 3, ItemBytes: 120},
})

// Schema holds all entities and access patterns of this package.
var Schema = table.MustSchema("telemetry.readings",
	Blocks, Windows, Segments, Arrivals, Removals,
	WaitingBlocks, SegmentsByHour, NewestSegments, StoreBlocks, KnownReadings, ArrivingFleets,
)
