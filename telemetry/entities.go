package telemetry

import "time"

// FleetKey names a fleet.
type FleetKey struct {
	FleetID string `dynamodbav:"fleetId"`
}

// Fleet is a set of devices that belong together, such as a location or a customer. Permissions are
// per fleet, and its time zone defines the hours and days of its devices.
type Fleet struct {
	FleetKey
	OwnerID   string    `dynamodbav:"ownerId,omitempty"`
	Name      string    `dynamodbav:"name,omitempty"`
	TimeZone  string    `dynamodbav:"timeZone"` // IANA name
	CreatedAt time.Time `dynamodbav:"createdAt"`
	DeletedAt time.Time `dynamodbav:"deletedAt,omitempty"`
	Retention Retention `dynamodbav:"retention"`
	// TenMinutes enables aggregates of ten minutes, besides hours and days.
	TenMinutes bool   `dynamodbav:"tenMinutes,omitempty"`
	Limits     Limits `dynamodbav:"limits"`
	// PropertyTags are the tags (of line protocol or JSON readings) that describe a device, such as
	// the driver of a truck. Each becomes a text value. Other tags become part of metric names.
	PropertyTags []string `dynamodbav:"propertyTags,omitempty"`
}

// OwnerKey names an owner of fleets.
type OwnerKey struct {
	OwnerID string `dynamodbav:"ownerId"`
}

// Owner is an owner, other than DefaultOwner, who has or had a fleet.
type Owner struct {
	OwnerKey
}

// Limits limits what a device of a fleet may send. Zero means the default.
type Limits struct {
	PerMinute int `dynamodbav:"perMinute,omitempty" json:"perMinute,omitempty"` // readings; default 6,000
	Metrics   int `dynamodbav:"metrics,omitempty" json:"metrics,omitempty"`     // distinct names within a day; default 600, at most 1,000
}

// DeviceKey names a device. IDs are unique in the installation.
type DeviceKey struct {
	DeviceID string `dynamodbav:"deviceId"`
}

// Device holds the properties of a device; its measurements are readings.
type Device struct {
	DeviceKey
	FleetID   string            `dynamodbav:"fleetId"`
	Name      string            `dynamodbav:"name,omitempty"`
	Type      string            `dynamodbav:"type,omitempty"` // such as sensor, gateway, actuator
	Status    DeviceStatus      `dynamodbav:"status"`
	Location  string            `dynamodbav:"location,omitempty"`
	Firmware  string            `dynamodbav:"firmware,omitempty"`
	Tags      []string          `dynamodbav:"tags,omitempty"` // sorted and distinct
	ProfileID string            `dynamodbav:"profileId,omitempty"`
	Notes     map[string]string `dynamodbav:"notes,omitempty"` // free-form notes of its owner
	Shard     int               `dynamodbav:"shard"`           // for lists of devices over all fleets; a function of the ID
	Tokens    []Token           `dynamodbav:"tokens,omitempty"`
	CreatedAt time.Time         `dynamodbav:"createdAt"`
	UpdatedAt time.Time         `dynamodbav:"updatedAt"`
	DeletedAt time.Time         `dynamodbav:"deletedAt,omitempty"` // set while package maintenance is purging the device
}

// Token is the stored form of a device's secret, from which the secret cannot be recovered.
type Token struct {
	Hash      []byte    `dynamodbav:"hash"` // SHA-256 of the secret, which has 32 random bytes
	CreatedAt time.Time `dynamodbav:"createdAt"`
	ExpiresAt time.Time `dynamodbav:"expiresAt,omitempty"` // zero: valid until replaced
}

// ProfileKey names a profile. IDs are unique in the installation.
type ProfileKey struct {
	ProfileID string `dynamodbav:"profileId"`
}

// Profile describes the metrics of one kind of device, and the policy for wrong clocks.
type Profile struct {
	ProfileKey
	FleetID   string      `dynamodbav:"fleetId"`
	Name      string      `dynamodbav:"name,omitempty"`
	Metrics   []MetricDef `dynamodbav:"metrics,omitempty"`
	Every     int         `dynamodbav:"every,omitempty"` // expected seconds between readings; 0: estimated from the device's readings
	Clock     ClockPolicy `dynamodbav:"clock"`
	CreatedAt time.Time   `dynamodbav:"createdAt"`
}

// MetricDef defines a metric. Metrics without a definition are gauges if numeric, else states.
type MetricDef struct {
	Name string     `dynamodbav:"name" json:"name"`
	Kind MetricKind `dynamodbav:"kind" json:"kind"`
	Unit string     `dynamodbav:"unit,omitempty" json:"unit,omitempty"`
	Min  string     `dynamodbav:"min,omitempty" json:"min,omitempty"` // decimal; values below Min or above Max are rejected
	Max  string     `dynamodbav:"max,omitempty" json:"max,omitempty"`
}

// ClockPolicy is how to treat late readings and clocks that are ahead. Zero is the default.
type ClockPolicy struct {
	Late         LatePolicy `dynamodbav:"late,omitempty" json:"late,omitempty"`                 // default LateAccept
	LateAfter    int        `dynamodbav:"lateAfter,omitempty" json:"lateAfter,omitempty"`       // seconds; default 3,600
	FutureWithin int        `dynamodbav:"futureWithin,omitempty" json:"futureWithin,omitempty"` // seconds that a clock may be ahead; default 600
}

// LatePolicy is how to treat late readings.
type LatePolicy string

// The policies. An accepted late reading counts at its time if raw readings of that time are still
// kept; otherwise it is rejected. LateCorrect accepts even those, and counts them as corrections.
const (
	LateAccept  LatePolicy = "accept"
	LateCorrect LatePolicy = "correct"
	LateReject  LatePolicy = "reject"
)

// QuarantineKey names a quarantined reading by its claimed time.
type QuarantineKey struct {
	DeviceID string    `dynamodbav:"deviceId"`
	Claimed  time.Time `dynamodbav:"claimed"`
	Disc     string    `dynamodbav:"disc"`
}

// Quarantined is a reading with an impossible time. It counts nowhere and is kept for inspection.
type Quarantined struct {
	QuarantineKey
	FleetID   string    `dynamodbav:"fleet"`
	Arrived   int64     `dynamodbav:"arrived"` // epoch milliseconds
	Reason    Reason    `dynamodbav:"reason"`
	Values    Values    `dynamodbav:"v"`
	ExpiresAt time.Time `dynamodbav:"-"`
}

// RetractionKey names a retraction.
type RetractionKey struct {
	DeviceID     string `dynamodbav:"deviceId"`
	RetractionID string `dynamodbav:"retractionId"` // ULID
}

// Retraction excludes a device's readings in [From, To) from all aggregates. The readings stay.
type Retraction struct {
	RetractionKey
	From      time.Time `dynamodbav:"from"`
	To        time.Time `dynamodbav:"to"`
	Metrics   []string  `dynamodbav:"metrics,omitempty"` // empty: all
	Reason    string    `dynamodbav:"reason,omitempty"`
	By        string    `dynamodbav:"by,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt"`
	AppliedAt time.Time `dynamodbav:"appliedAt,omitempty"` // when aggregates were recomputed without it; zero: not yet
	LiftedAt  time.Time `dynamodbav:"liftedAt,omitempty"`  // when it was lifted; it is deleted once that is applied
}

// AlertKey names an alert. AlertID is a ULID derived from the time of its first reading and from
// its owner, so that the same readings always yield the same alert.
type AlertKey struct {
	DeviceID string `dynamodbav:"deviceId"`
	AlertID  string `dynamodbav:"alertId"`
}

// Alert is one episode in which a rule was breached by a device.
type Alert struct {
	AlertKey
	FleetID  string     `dynamodbav:"fleetId"`
	RuleID   string     `dynamodbav:"ruleId"`
	Metric   string     `dynamodbav:"metric,omitempty"`
	Severity Severity   `dynamodbav:"severity"`
	State    AlertState `dynamodbav:"state"`
	Message  string     `dynamodbav:"message,omitempty"`
	Since    int64      `dynamodbav:"since"`              // first reading, epoch milliseconds
	Fired    int64      `dynamodbav:"fired,omitempty"`    // start of firing, by event time
	Last     int64      `dynamodbav:"last,omitempty"`     // last reading that sustained it
	Resolved int64      `dynamodbav:"resolved,omitempty"` // when it ended; 0: still open
	Value    string     `dynamodbav:"value,omitempty"`    // value of that last reading
	Peak     string     `dynamodbav:"peak,omitempty"`     // worst value so far

	First       string       `dynamodbav:"first,omitempty"` // disc of the first reading
	RuleVersion int          `dynamodbav:"ruleVersion,omitempty"`
	RuleMade    int64        `dynamodbav:"ruleMade,omitempty"`  // epoch milliseconds; distinguishes rules that reused an ID
	Ended       Ending       `dynamodbav:"ended,omitempty"`     // reason, if no reading ended it
	Withdrawn   bool         `dynamodbav:"withdrawn,omitempty"` // later readings or a retraction show that it never existed
	Replaces    string       `dynamodbav:"replaces,omitempty"`  // ID of the alert that it replaces because of later readings
	Notified    []Transition `dynamodbav:"notified,omitempty"`  // transitions that were notified, or skipped on purpose
	Waits       bool         `dynamodbav:"waits,omitempty"`     // notifications are held back while the alert of the fleet's silence is open
	Rev         int64        `dynamodbav:"rev,omitempty"`       // incremented at every write

	AckedAt      time.Time   `dynamodbav:"ackedAt,omitempty"`
	AckedBy      string      `dynamodbav:"ackedBy,omitempty"`
	SnoozedUntil time.Time   `dynamodbav:"snoozedUntil,omitempty"`
	History      []AlertNote `dynamodbav:"history,omitempty"` // actions of people and corrections, oldest first

	// ExpiresAt is when a resolved alert may be deleted; stored as ttl.
	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// Open reports whether the alert is in the list of open alerts.
func (a *Alert) Open() bool { return a.State == Firing }

// AlertNote is an entry in an alert's history.
type AlertNote struct {
	At   time.Time `dynamodbav:"at" json:"at"`
	By   string    `dynamodbav:"by,omitempty" json:"by,omitempty"` // "": caused by readings
	What string    `dynamodbav:"what" json:"what"`                 // acknowledged, snoozed, commented, withdrawn, …
	Text string    `dynamodbav:"text,omitempty" json:"text,omitempty"`
}

// Ending is why an alert ended without a reading.
type Ending string

// The endings.
const (
	RuleChanged Ending = "rule_changed" // the rule was changed, disabled or deleted, or no longer applies to the device
	Settled     Ending = "settled"      // a fleet has been silent for a day: its devices are now offline individually
)

// Transition is a change of an alert that is notified once.
type Transition string

// The transitions.
const (
	Fires     Transition = "firing"
	Resolves  Transition = "resolved"
	Withdraws Transition = "withdrawn" // an alert that was notified never existed
)

type Severity string

// The severities.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// AlertState is the stage of an episode.
type AlertState string

// The states.
const (
	Pending  AlertState = "pending"
	Firing   AlertState = "firing"
	Resolved AlertState = "resolved"
)

// RuleScope is what a rule applies to.
type RuleScope string

// The scopes: one device, or all devices of a profile.
const (
	ForDevice  RuleScope = "DEVICE"
	ForProfile RuleScope = "PROFILE"
)

// RuleKey names a rule. ScopeID is a device or profile ID.
type RuleKey struct {
	Scope   RuleScope `dynamodbav:"scope"`
	ScopeID string    `dynamodbav:"scopeId"`
	RuleID  string    `dynamodbav:"ruleId"`
}

// Rule is the condition of an alert.
type Rule struct {
	RuleKey
	FleetID  string   `dynamodbav:"fleetId"`
	Name     string   `dynamodbav:"name,omitempty"`
	Metric   string   `dynamodbav:"metric,omitempty"`
	Over     Period   `dynamodbav:"over,omitempty"` // period of the aggregate to check; "": readings
	Function string   `dynamodbav:"fn,omitempty"`   // function of the aggregate: mean, min, max, sum, count, increase, …
	Below    bool     `dynamodbav:"below,omitempty"`
	NoData   bool     `dynamodbav:"noData,omitempty"`  // alert if no reading arrives for For
	Raise    string   `dynamodbav:"raise,omitempty"`   // decimal threshold: a reading above it, or below it, breaches
	Clear    string   `dynamodbav:"clear,omitempty"`   // decimal threshold: a reading at it or on its other side no longer sustains the alert
	For      int      `dynamodbav:"for,omitempty"`     // seconds of event time
	KeepFor  int      `dynamodbav:"keepFor,omitempty"` // seconds of event time
	Severity Severity `dynamodbav:"severity"`
	Off      bool     `dynamodbav:"off,omitempty"`
	Version  int      `dynamodbav:"version,omitempty"`

	CreatedAt time.Time `dynamodbav:"createdAt"`
	UpdatedAt time.Time `dynamodbav:"updatedAt"`
}

// ClaimKey names a claim code by its hash.
type ClaimKey struct {
	CodeHash string `dynamodbav:"codeHash"` // SHA-256 in hex
}

// Claim lets a holder of the code claim a device that is not yet in service.
type Claim struct {
	ClaimKey
	DeviceID  string    `dynamodbav:"deviceId"`
	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// LabelKey names an entry in an index of a fleet's devices.
type LabelKey struct {
	FleetID  string    `dynamodbav:"fleetId"`
	Kind     LabelKind `dynamodbav:"kind"`
	Value    string    `dynamodbav:"value"`
	DeviceID string    `dynamodbav:"deviceId"`
}

// Label lists a device of a fleet under one of its properties. It is folded from the device.
type Label struct {
	LabelKey
	There bool `dynamodbav:"there,omitempty"`
	Gone  bool `dynamodbav:"gone,omitempty"` // the device lost the property: the fold removes the item
}

// LabelKind is the property by which devices are listed.
type LabelKind string

// The kinds of labels. Every device has ByFleet with the value Any. A device that is being deleted
// has only ByFleet with the value Deleting.
const (
	ByFleet    LabelKind = "fleet"
	ByStatus   LabelKind = "status"
	ByType     LabelKind = "type"
	ByTag      LabelKind = "tag"
	ByFirmware LabelKind = "firmware"
	ByProfile  LabelKind = "profile"
)

// The values of ByFleet.
const (
	Any      = "all"
	Deleting = "deleting"
)
