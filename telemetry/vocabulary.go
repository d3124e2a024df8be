package telemetry

import (
	"slices"

	"github.com/onefold/onefold/telemetry/internal/figures"
)

// Period is the width of an aggregate's bucket.
type Period string

// The periods. Ten minutes exist only in fleets that enable them; days are rolled up from hours.
const (
	TenMinutes Period = "10min"
	Hourly     Period = "hourly"
	Daily      Period = "daily"
)

// MetricKind is the kind of a metric. It determines the figures of aggregates.
type MetricKind = figures.Kind

// The kinds of metrics.
const (
	Gauge   = figures.Gauge   // a number that rises and falls
	Counter = figures.Counter // a number that only grows, except when it is reset
	State   = figures.State   // a text, a truth value, or a number used as a name
)

// Figures are the figures of one metric in an aggregate.
type Figures = figures.Figures

// DeviceStatus is a device's stage of life.
type DeviceStatus string

// The statuses of devices.
const (
	Provisioned DeviceStatus = "provisioned" // created, not yet in service
	Active      DeviceStatus = "active"
	Inactive    DeviceStatus = "inactive"    // switched off: readings are rejected
	Maintenance DeviceStatus = "maintenance" // readings count, alerts are muted
	Retired     DeviceStatus = "retired"     // permanently out of service
)

// transitions lists the statuses that may follow each status.
var transitions = map[DeviceStatus][]DeviceStatus{
	Provisioned: {Active, Retired},
	Active:      {Inactive, Maintenance, Retired},
	Inactive:    {Active, Maintenance, Retired},
	Maintenance: {Active, Inactive, Retired},
	Retired:     {},
}

// Valid reports whether the status exists.
func (s DeviceStatus) Valid() bool {
	_, ok := transitions[s]
	return ok
}

// MayBecome reports whether a device may change from s to next, or stay.
func (s DeviceStatus) MayBecome(next DeviceStatus) bool {
	return s == next || slices.Contains(transitions[s], next)
}

// Sends reports whether readings of a device with this status are accepted.
func (s DeviceStatus) Sends() bool { return s == Active || s == Maintenance }

// Connectivity is whether a device sends as often as expected.
type Connectivity string

// The connectivities.
const (
	Online  Connectivity = "online"
	Offline Connectivity = "offline"
	Never   Connectivity = "never" // it has only past readings: imported or late ones
)
