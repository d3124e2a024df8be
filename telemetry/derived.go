package telemetry

import (
	"time"

	"github.com/onefold/onefold/telemetry/internal/bucket"
	"github.com/onefold/onefold/telemetry/internal/cadence"
)

// AggregateKey names the aggregate of a device for one bucket. Start is the bucket's start in the
// fleet's zone: in UTC for an hour or ten minutes (2026-05-12T14:00:00Z), or a date (2026-05-12).
type AggregateKey struct {
	DeviceID string `dynamodbav:"deviceId"`
	Period   Period `dynamodbav:"period"`
	Start    string `dynamodbav:"start"`
}

// Aggregate holds what a device measured in one bucket. Means, deviations, percentiles and rates
// are computed when read, by Figures, and never stored.
type Aggregate struct {
	AggregateKey
	FleetID     string         `dynamodbav:"fleet"`
	Day         string         `dynamodbav:"day"`                   // of the bucket
	Readings    int64          `dynamodbav:"n"`                     // counted readings
	Late        int64          `dynamodbav:"late,omitempty"`        // readings that were late by their profile
	Corrections int64          `dynamodbav:"corrections,omitempty"` // readings that their profile marks as corrections
	Latest      int64          `dynamodbav:"latest,omitempty"`      // last arrival, epoch milliseconds
	RawUntil    int64          `dynamodbav:"until,omitempty"`       // epoch seconds from which the first of the readings may have expired
	Metrics     bucket.Metrics `dynamodbav:"m"`

	// ExpiresAt is when the item may be deleted; zero: never. Computed for writes, not read back.
	ExpiresAt time.Time `dynamodbav:"-"`
}

// StatusKey names the status of a device.
type StatusKey struct {
	DeviceID string `dynamodbav:"deviceId"`
}

// Status is the latest state of a device, folded from its readings. It is separate from Device, so
// that frequent changes do not touch the listed item. To save writes, it follows a device at most
// once a minute (CollectorOptions.StatusEvery); ReadStatus adds newer readings.
type Status struct {
	StatusKey
	FleetID      string           `dynamodbav:"fleet"`
	Shard        int              `dynamodbav:"shard"`
	Connectivity Connectivity     `dynamodbav:"connectivity"`           // at the last write; At returns the current one
	Silent       int64            `dynamodbav:"silent,omitempty"`       // LastSeen when the device was found to be offline
	OfflineSince int64            `dynamodbav:"offlineSince,omitempty"` // epoch milliseconds of that moment; 0: not offline
	LastSeen     int64            `dynamodbav:"seen"`                   // last arrival of a reading that is not Past, epoch milliseconds; 0: none
	Arrivals     cadence.Arrivals `dynamodbav:"pulse"`                  // recent arrivals, from which the expected interval is estimated
	Values       Latest           `dynamodbav:"latest,omitempty"`       // by metric
}

// Latest holds the latest values of a device, by metric.
type Latest map[string]LatestValue

// LatestValue is the latest value of a metric, with the place of its reading in the device's order.
type LatestValue struct {
	At    int64  `dynamodbav:"at"`          // by the device's clock, epoch milliseconds
	Nth   int64  `dynamodbav:"n,omitempty"` // sequence number of the reading plus one; 0: none
	Tie   uint32 `dynamodbav:"t,omitempty"` // tie-breaker for equal At and Nth: the greatest is the latest
	Value Value  `dynamodbav:"v"`
}

// FleetCountsKey names the counters of a fleet.
type FleetCountsKey struct {
	FleetID string `dynamodbav:"fleetId"`
}

// FleetCounts holds the number of devices of a fleet, folded from devices and statuses.
type FleetCounts struct {
	FleetCountsKey
	ByStatus       map[string]int64 `dynamodbav:"status,omitempty"`       // by DeviceStatus
	ByConnectivity map[string]int64 `dynamodbav:"connectivity,omitempty"` // by Connectivity; never-connected devices are in neither
}

// SilenceKey names the silence of a fleet.
type SilenceKey struct {
	FleetID string `dynamodbav:"fleetId"`
}

// Silence records that most of a fleet fell silent at once, probably because of a network failure.
// Each of its devices is offline as well. Package presence detects its begin and end.
type Silence struct {
	SilenceKey
	Since   time.Time `dynamodbav:"since"`   // last arrival from these devices
	Devices int       `dynamodbav:"devices"` // devices that fell silent
	Of      int       `dynamodbav:"of"`      // devices that were online before
}

// RollupKey names a day of a device that needs a roll-up.
type RollupKey struct {
	Shard    int    `dynamodbav:"shard"`
	Day      string `dynamodbav:"day"`
	DeviceID string `dynamodbav:"deviceId"`
}

// RollupMark records that hours of a day were added or changed since the day's roll-up.
type RollupMark struct {
	RollupKey
	FleetID string `dynamodbav:"fleet"`
	Changed int64  `dynamodbav:"changed"` // last change that marked the day, epoch seconds
}
