package telemetry

import "time"

// FleetKey names a fleet.
type FleetKey struct {
	FleetID string `dynamodbav:"fleetId"`
}

// Fleet is a set of devices that belong together: one site, one customer. Who may see and do what is said per fleet, and
// the hours and days of its devices are in its time zone.
type Fleet struct {
	FleetKey
	OwnerID   string    `dynamodbav:"ownerId,omitempty"`
	Name      string    `dynamodbav:"name,omitempty"`
	TimeZone  string    `dynamodbav:"timeZone"` // IANA name
	CreatedAt time.Time `dynamodbav:"createdAt"`
	DeletedAt time.Time `dynamodbav:"deletedAt,omitempty"`
	Retention Retention `dynamodbav:"retention"`
	// TenMinutes says that aggregates of ten minutes are kept beside those of hours and days.
	TenMinutes bool   `dynamodbav:"tenMinutes,omitempty"`
	Limits     Limits `dynamodbav:"limits"`
	// PropertyTags are the tags of line protocol, or of readings in JSON, that describe a device: the driver of a truck, the version of
	// its firmware. Each is a value of its own, a text. Other tags are part of the names of metrics.
	PropertyTags []string `dynamodbav:"propertyTags,omitempty"`
}

// Limits bound what one device of a fleet may send. Zero is the default.
type Limits struct {
	PerMinute int `dynamodbav:"perMinute,omitempty" json:"perMinute,omitempty"` // readings; default 6,000
	Metrics   int `dynamodbav:"metrics,omitempty" json:"metrics,omitempty"`     // different names that are heard within a day; default 600, at most 1,000
}

// DeviceKey names a device. Ids are unique in the installation.
type DeviceKey struct {
	DeviceID string `dynamodbav:"deviceId"`
}

// Device is what is known of a device but what it measures.
type Device struct {
	DeviceKey
	FleetID   string            `dynamodbav:"fleetId"`
	Name      string            `dynamodbav:"name,omitempty"`
	Type      string            `dynamodbav:"type,omitempty"` // such as sensor, gateway, actuator
	Status    DeviceStatus      `dynamodbav:"status"`
	Location  string            `dynamodbav:"location,omitempty"`
	Firmware  string            `dynamodbav:"firmware,omitempty"`
	Tags      []string          `dynamodbav:"tags,omitempty"` // in order, each once
	ProfileID string            `dynamodbav:"profileId,omitempty"`
	Notes     map[string]string `dynamodbav:"notes,omitempty"` // whatever its owner wants to know of it
	Shard     int               `dynamodbav:"shard"`           // of the lists of devices over all fleets; a function of the id
	Tokens    []Token           `dynamodbav:"tokens,omitempty"`
	CreatedAt time.Time         `dynamodbav:"createdAt"`
	UpdatedAt time.Time         `dynamodbav:"updatedAt"`
	DeletedAt time.Time         `dynamodbav:"deletedAt,omitempty"` // since when it is being deleted; Purge does that
}

// Token is a secret by which a device proves itself, as it is stored: nobody can tell the secret from it.
type Token struct {
	Hash      []byte    `dynamodbav:"hash"` // SHA-256 of the secret, which has 32 random bytes
	CreatedAt time.Time `dynamodbav:"createdAt"`
	ExpiresAt time.Time `dynamodbav:"expiresAt,omitempty"` // zero: until it is replaced
}

// ProfileKey names a profile. Ids are unique in the installation.
type ProfileKey struct {
	ProfileID string `dynamodbav:"profileId"`
}

// Profile says what devices of one kind measure, and how their clocks and delays are dealt with.
type Profile struct {
	ProfileKey
	FleetID   string      `dynamodbav:"fleetId"`
	Name      string      `dynamodbav:"name,omitempty"`
	Metrics   []MetricDef `dynamodbav:"metrics,omitempty"`
	Every     int         `dynamodbav:"every,omitempty"` // seconds between two readings; 0: whatever the device's own rhythm is
	Clock     ClockPolicy `dynamodbav:"clock"`
	CreatedAt time.Time   `dynamodbav:"createdAt"`
}

// MetricDef says what a metric is. Metrics that a profile does not name are gauges if they are numbers, and else states.
type MetricDef struct {
	Name string     `dynamodbav:"name" json:"name"`
	Kind MetricKind `dynamodbav:"kind" json:"kind"`
	Unit string     `dynamodbav:"unit,omitempty" json:"unit,omitempty"`
	Min  string     `dynamodbav:"min,omitempty" json:"min,omitempty"` // decimal; what is below cannot be, and is rejected
	Max  string     `dynamodbav:"max,omitempty" json:"max,omitempty"`
}

// ClockPolicy says what is done with readings whose time is not that of their arrival. Zero is the default.
type ClockPolicy struct {
	Late         LatePolicy `dynamodbav:"late,omitempty" json:"late,omitempty"`                 // default LateAccept
	LateAfter    int        `dynamodbav:"lateAfter,omitempty" json:"lateAfter,omitempty"`       // seconds; default 3,600
	FutureWithin int        `dynamodbav:"futureWithin,omitempty" json:"futureWithin,omitempty"` // seconds by which a clock may be ahead; default 600
}

// LatePolicy says what is done with a reading that arrives late.
type LatePolicy string

// The policies. An accepted reading counts where its time says, as long as raw readings of that time are kept; one that
// is later than that is rejected. Correct also takes those, and says in the aggregate that it was corrected.
const (
	LateAccept  LatePolicy = "accept"
	LateCorrect LatePolicy = "correct"
	LateReject  LatePolicy = "reject"
)

// QuarantineKey names a reading that is kept apart, by the time that it claims.
type QuarantineKey struct {
	DeviceID string    `dynamodbav:"deviceId"`
	Claimed  time.Time `dynamodbav:"claimed"`
	Disc     string    `dynamodbav:"disc"`
}

// Quarantined is a reading whose time cannot be right. It counts nowhere; people look at it.
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

// Retraction says that what a device measured in [From, To) is wrong: it counts in no aggregate. The readings stay.
type Retraction struct {
	RetractionKey
	From      time.Time `dynamodbav:"from"`
	To        time.Time `dynamodbav:"to"`
	Metrics   []string  `dynamodbav:"metrics,omitempty"` // none: all
	Reason    string    `dynamodbav:"reason,omitempty"`
	By        string    `dynamodbav:"by,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt"`
	AppliedAt time.Time `dynamodbav:"appliedAt,omitempty"` // when aggregates were made without it; zero: not yet
	LiftedAt  time.Time `dynamodbav:"liftedAt,omitempty"`  // when it was taken back; it is deleted once that is applied
}

// AlertKey names an alert: AlertID is the ULID of the time of its first reading and of whose it is, so that the same
// readings make the same alert whenever they are looked at.
type AlertKey struct {
	DeviceID string `dynamodbav:"deviceId"`
	AlertID  string `dynamodbav:"alertId"`
}

// Alert is one episode in which a rule held for a device.
type Alert struct {
	AlertKey
	FleetID  string     `dynamodbav:"fleetId"`
	RuleID   string     `dynamodbav:"ruleId"`
	Metric   string     `dynamodbav:"metric,omitempty"`
	Severity Severity   `dynamodbav:"severity"`
	State    AlertState `dynamodbav:"state"`
	Message  string     `dynamodbav:"message,omitempty"`
	Since    int64      `dynamodbav:"since"`              // epoch milliseconds of the first reading
	Fired    int64      `dynamodbav:"fired,omitempty"`    // when it began to fire, by event time
	Last     int64      `dynamodbav:"last,omitempty"`     // of the last reading that kept it
	Resolved int64      `dynamodbav:"resolved,omitempty"` // when it ended; 0: it is open
	Value    string     `dynamodbav:"value,omitempty"`    // of the last reading that kept it
	Peak     string     `dynamodbav:"peak,omitempty"`     // the worst value so far

	First       string       `dynamodbav:"first,omitempty"` // disc of the first reading
	RuleVersion int          `dynamodbav:"ruleVersion,omitempty"`
	RuleMade    int64        `dynamodbav:"ruleMade,omitempty"`  // epoch milliseconds: a rule that is made again under an id is another
	Ended       Ending       `dynamodbav:"ended,omitempty"`     // why, if no reading ended it
	Withdrawn   bool         `dynamodbav:"withdrawn,omitempty"` // later readings, or a retraction, say that it never was
	Replaces    string       `dynamodbav:"replaces,omitempty"`  // alert id of what later readings made this of
	Notified    []Transition `dynamodbav:"notified,omitempty"`  // what has been told of it, or decided not to be: each once
	Waits       bool         `dynamodbav:"waits,omitempty"`     // it is not told while the alert of its fleet's silence tells of it
	Rev         int64        `dynamodbav:"rev,omitempty"`       // one more at every write

	AckedAt      time.Time   `dynamodbav:"ackedAt,omitempty"`
	AckedBy      string      `dynamodbav:"ackedBy,omitempty"`
	SnoozedUntil time.Time   `dynamodbav:"snoozedUntil,omitempty"`
	History      []AlertNote `dynamodbav:"history,omitempty"` // what people and corrections did, the oldest first

	// ExpiresAt is when a resolved alert may be deleted; stored as ttl.
	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// Open reports whether the alert is listed among those that somebody has to look at.
func (a *Alert) Open() bool { return a.State == Firing }

// AlertNote is one line of an alert's history.
type AlertNote struct {
	At   time.Time `dynamodbav:"at" json:"at"`
	By   string    `dynamodbav:"by,omitempty" json:"by,omitempty"` // "": nobody, the readings changed
	What string    `dynamodbav:"what" json:"what"`                 // such as acknowledged, snoozed, commented, withdrawn
	Text string    `dynamodbav:"text,omitempty" json:"text,omitempty"`
}

// Ending says why an alert ended without a reading.
type Ending string

// The endings.
const (
	RuleChanged Ending = "rule_changed" // the rule was changed, switched off or deleted, or is for the device no longer
	Settled     Ending = "settled"      // a fleet has been silent for a day: each of its devices is offline by itself
)

// Transition is what happens to an alert and is told once.
type Transition string

// The transitions.
const (
	Fires     Transition = "firing"
	Resolves  Transition = "resolved"
	Withdraws Transition = "withdrawn" // it was told of, and never was
)

// Severity says how bad an alert is.
type Severity string

// The severities.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// AlertState says where an episode is.
type AlertState string

// The states.
const (
	Pending  AlertState = "pending"
	Firing   AlertState = "firing"
	Resolved AlertState = "resolved"
)

// RuleScope says what a rule is for.
type RuleScope string

// The scopes: one device, or all of a profile.
const (
	ForDevice  RuleScope = "DEVICE"
	ForProfile RuleScope = "PROFILE"
)

// RuleKey names a rule, by the id of the device or profile that it is for.
type RuleKey struct {
	Scope   RuleScope `dynamodbav:"scope"`
	ScopeID string    `dynamodbav:"scopeId"`
	RuleID  string    `dynamodbav:"ruleId"`
}

// Rule says when there is an alert.
type Rule struct {
	RuleKey
	FleetID  string   `dynamodbav:"fleetId"`
	Name     string   `dynamodbav:"name,omitempty"`
	Metric   string   `dynamodbav:"metric,omitempty"`
	Over     Period   `dynamodbav:"over,omitempty"` // of an aggregate; "": the readings themselves
	Function string   `dynamodbav:"fn,omitempty"`   // of an aggregate: mean, min, max, sum, count, increase, …
	Below    bool     `dynamodbav:"below,omitempty"`
	NoData   bool     `dynamodbav:"noData,omitempty"`  // it raises when nothing comes for For
	Raise    string   `dynamodbav:"raise,omitempty"`   // decimal: above it, or below it, a reading breaches
	Clear    string   `dynamodbav:"clear,omitempty"`   // decimal: at it, or on its other side, a reading no longer keeps the alert
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

// Claim lets who knows the code take a device that nobody has taken into service yet.
type Claim struct {
	ClaimKey
	DeviceID  string    `dynamodbav:"deviceId"`
	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// LabelKey names one way to find a device in its fleet.
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
	Gone  bool `dynamodbav:"gone,omitempty"` // the device has it no longer: the fold removes the item
}

// LabelKind says what devices are listed by.
type LabelKind string

// The kinds of labels. Every device has ByFleet: with the value Any, or while it is being deleted, and then alone, Deleting.
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
