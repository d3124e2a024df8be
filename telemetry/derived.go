package telemetry

import (
	"time"

	"github.com/onefold/onefold/telemetry/internal/bucket"
	"github.com/onefold/onefold/telemetry/internal/cadence"
)

// AggregateKey names what a device measured in one bucket. Start is the bucket's start in the fleet's zone, written in UTC
// for an hour and ten minutes (2026-05-12T14:00:00Z), as a date for a day (2026-05-12).
type AggregateKey struct {
	DeviceID string `dynamodbav:"deviceId"`
	Period   Period `dynamodbav:"period"`
	Start    string `dynamodbav:"start"`
}

// Aggregate is what a device measured in one bucket. Means, deviations, percentiles and rates are derived when read and
// never stored; Figures does that.
type Aggregate struct {
	AggregateKey
	FleetID     string         `dynamodbav:"fleet"`
	Day         string         `dynamodbav:"day"`                   // that it is in
	Readings    int64          `dynamodbav:"n"`                     // that it counts
	Late        int64          `dynamodbav:"late,omitempty"`        // of these, those that came later than their profile calls late
	Corrections int64          `dynamodbav:"corrections,omitempty"` // of these, those that a profile wants to see corrected openly
	Latest      int64          `dynamodbav:"latest,omitempty"`      // epoch milliseconds of the last arrival
	RawUntil    int64          `dynamodbav:"until,omitempty"`       // epoch seconds from when the first of the readings may be gone
	Metrics     bucket.Metrics `dynamodbav:"m"`

	// ExpiresAt is when the item may be deleted; zero: never. It is computed before every write and not read back.
	ExpiresAt time.Time `dynamodbav:"-"`
}

// StatusKey names the status of a device.
type StatusKey struct {
	DeviceID string `dynamodbav:"deviceId"`
}

// Status is the latest that is known of a device, folded from its readings. It is apart from Device, so that what changes
// all the time does not touch what is listed. It follows a device once a minute at most (CollectorOptions.StatusEvery), so
// that not every heartbeat is a write: ReadStatus adds what came since.
type Status struct {
	StatusKey
	FleetID      string        `dynamodbav:"fleet"`
	Shard        int           `dynamodbav:"shard"`
	Connectivity Connectivity  `dynamodbav:"connectivity"`           // when it was written last; At says it for now
	Silent       int64         `dynamodbav:"silent,omitempty"`       // the LastSeen with which the device was found to be offline
	OfflineSince int64         `dynamodbav:"offlineSince,omitempty"` // epoch milliseconds of when that was; 0: it is not offline
	LastSeen     int64         `dynamodbav:"seen"`                   // epoch milliseconds of the last arrival of a reading that is not Past; 0: none
	Arrivals     cadence.Pulse `dynamodbav:"pulse"`                  // the last such arrivals, of which its rhythm is estimated
	Values       Latest        `dynamodbav:"latest,omitempty"`       // by metric
}

// Latest are the latest values of a device, by metric.
type Latest map[string]LatestValue

// LatestValue is the value of a metric, and the place of its reading among those of the device.
type LatestValue struct {
	At    int64  `dynamodbav:"at"`          // epoch milliseconds, by the device's clock
	Nth   int64  `dynamodbav:"n,omitempty"` // one more than the sequence number of its reading; 0: that has none
	Tie   uint32 `dynamodbav:"t,omitempty"` // of readings of one time and number the one with the greatest is the last
	Value Value  `dynamodbav:"v"`
}

// FleetCountsKey names the counters of a fleet.
type FleetCountsKey struct {
	FleetID string `dynamodbav:"fleetId"`
}

// FleetCounts say how many devices of a fleet there are, folded from devices and their statuses.
type FleetCounts struct {
	FleetCountsKey
	ByStatus       map[string]int64 `dynamodbav:"status,omitempty"`       // by DeviceStatus
	ByConnectivity map[string]int64 `dynamodbav:"connectivity,omitempty"` // by Connectivity; devices never heard of are in neither
}

// SilenceKey names the silence of a fleet.
type SilenceKey struct {
	FleetID string `dynamodbav:"fleetId"`
}

// Silence says that most of a fleet fell silent at once, so probably the network between the devices and the server failed. Each of
// its devices is offline, too. Package presence says when a silence begins and ends.
type Silence struct {
	SilenceKey
	Since   time.Time `dynamodbav:"since"`   // when the last of them was heard of
	Devices int       `dynamodbav:"devices"` // devices that fell silent
	Of      int       `dynamodbav:"of"`      // devices that were online before
}

// RollupKey names a day of a device whose daily aggregate has to be made of its hours.
type RollupKey struct {
	Shard    int    `dynamodbav:"shard"`
	Day      string `dynamodbav:"day"`
	DeviceID string `dynamodbav:"deviceId"`
}

// RollupMark says that hours of a day have come or changed since the day was made of them.
type RollupMark struct {
	RollupKey
	FleetID string `dynamodbav:"fleet"`
	Changed int64  `dynamodbav:"changed"` // epoch seconds of the last change that marked it
}
