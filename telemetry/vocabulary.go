package telemetry

import (
	"slices"

	"github.com/onefold/onefold/telemetry/internal/figures"
)

// Period is the width of an aggregate's bucket.
type Period string

// The periods. Ten minutes are kept only by fleets that want them; days are made of hours.
const (
	TenMinutes Period = "10min"
	Hourly     Period = "hourly"
	Daily      Period = "daily"
)

// MetricKind says what the values of a metric are, and so what their aggregates say.
type MetricKind = figures.Kind

// The kinds of metrics.
const (
	Gauge   = figures.Gauge   // a number that goes up and down
	Counter = figures.Counter // a number that only grows, but for resets to somewhere lower
	State   = figures.State   // a text, a truth value, or a number that is a name
)

// Figures are what an aggregate says of one metric.
type Figures = figures.Figures

// DeviceStatus is where a device is in its life.
type DeviceStatus string

// The statuses of devices.
const (
	Provisioned DeviceStatus = "provisioned" // it exists, and waits to be taken into service
	Active      DeviceStatus = "active"
	Inactive    DeviceStatus = "inactive"    // switched off: its readings are refused
	Maintenance DeviceStatus = "maintenance" // its readings count, its alerts are quiet
	Retired     DeviceStatus = "retired"     // for good
)

// transitions are the statuses that may follow one.
var transitions = map[DeviceStatus][]DeviceStatus{
	Provisioned: {Active, Retired},
	Active:      {Inactive, Maintenance, Retired},
	Inactive:    {Active, Maintenance, Retired},
	Maintenance: {Active, Inactive, Retired},
	Retired:     {},
}

// Valid reports whether there is such a status.
func (s DeviceStatus) Valid() bool {
	_, ok := transitions[s]
	return ok
}

// MayBecome reports whether a device may go from one status to another, or stay.
func (s DeviceStatus) MayBecome(next DeviceStatus) bool {
	return s == next || slices.Contains(transitions[s], next)
}

// Sends reports whether readings of a device with the status are taken.
func (s DeviceStatus) Sends() bool { return s == Active || s == Maintenance }

// Connectivity says whether a device is heard of as often as it used to be.
type Connectivity string

// The connectivities.
const (
	Online  Connectivity = "online"
	Offline Connectivity = "offline"
	Never   Connectivity = "never" // it has readings, but only of the past: imported ones, or late ones
)
