package telemetry

import (
	"time"

	"github.com/onefold/onefold/table"
)

// The largest encoded items, in bytes.
const (
	maxReadingBytes   = 32 << 10
	maxAggregateBytes = 400 << 10
)

// Shards is the number of partitions for lists of devices over all fleets. It is part of stored
// keys and must never change.
const Shards = 4

func allShards[In any](In) []int { return []int{0, 1, 2, 3} }

// Keys that several entities share.
const (
	fleetPK  = "FLEET#{fleetId}"
	devicePK = "DEVICE#{deviceId}"
	deviceSK = "DEVICE#{deviceId}" // in the index
	metadata = "METADATA"
)

// Growth assumes devices that report once a minute; a fold delay of less changes little. For other
// figures see `onefold-bench telemetry --only units`. A test compares Growth with metered writes.

// Fleets holds the fleets and their settings.
var Fleets = table.Define[Fleet, FleetKey]("telemetry.fleet", table.Def[Fleet]{
	PK: fleetPK, SK: metadata, Access: table.Access{Ingest: table.Rights{Reads: table.Whole}},
	Indexes: []table.Index[Fleet]{{Name: "gsi1", PK: "OWNER#{ownerId}", SK: fleetPK}},
	Example: exampleFleet,
	Doc:     "A set of devices with one time zone, limits and permissions.",
})

// Owners holds the owners of fleets, except DefaultOwner. An owner is written before their fleet.
var Owners = table.Define[Owner, OwnerKey]("telemetry.owner", table.Def[Owner]{
	PK: "FLEET_OWNERS", SK: "OWNER#{ownerId}",
	Doc: "An owner who has or had a fleet.",
})

// Profiles holds the profiles of devices.
var Profiles = table.Define[Profile, ProfileKey]("telemetry.profile", table.Def[Profile]{
	PK: "PROFILE#{profileId}", SK: metadata, Access: table.Access{Ingest: table.Rights{Reads: table.Whole}},
	Indexes: []table.Index[Profile]{{Name: "gsi1", PK: "FLEET_PROFILES#{fleetId}", SK: "PROFILE#{profileId}"}},
	Example: exampleProfile,
	Doc:     "The metrics of devices of one kind, and how their clocks are handled.",
})

// Devices holds the properties of devices.
var Devices = table.Define[Device, DeviceKey]("telemetry.device", table.Def[Device]{
	PK: devicePK, SK: "#METADATA", Access: table.Access{Ingest: table.Rights{Reads: table.Whole}},
	Indexes: []table.Index[Device]{{Name: "gsi1", PK: "DEVICE_STATUS#{status}#{shard}", SK: deviceSK}},
	Example: exampleDevice,
	Doc:     "A device: name, type, status, firmware, tags, profile.",
})

// Quarantine holds readings with impossible times.
var Quarantine = table.Define[Quarantined, QuarantineKey]("telemetry.quarantined", table.Def[Quarantined]{
	PK: devicePK, SK: "QUARANTINE#{claimed:ms}#{disc}", Access: table.Access{Ingest: table.Rights{Puts: table.Whole}},
	Expires:   func(q *Quarantined) time.Time { return q.ExpiresAt },
	Immutable: true,
	MaxBytes:  maxReadingBytes,
	Example:   exampleQuarantined,
	Doc:       "A reading whose time cannot be right. It counts in no figure.",
})

// Retractions holds the retractions of devices.
var Retractions = table.Define[Retraction, RetractionKey]("telemetry.retraction", table.Def[Retraction]{
	PK: devicePK, SK: "RETRACTION#{retractionId}",
	Doc: "A time range of a device whose readings count in no aggregate.",
})

// Alerts holds the episodes of rules. Only open ones are indexed, so their list stays short.
var Alerts = table.Define[Alert, AlertKey]("telemetry.alert", table.Def[Alert]{
	PK: devicePK, SK: "ALERT#{alertId}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Indexes: []table.Index[Alert]{{
		Name: "gsi1", PK: "ALERT_SEVERITY#{severity}", SK: "ALERT#{alertId}",
		When: (*Alert).Open, WhenReads: []string{"state"},
	}},
	Doc: "One period in which a device breached a rule.",
	Example: func(a *Alert) {
		*a = Alert{AlertKey: a.AlertKey, FleetID: a.FleetID, RuleID: a.RuleID, Metric: a.Metric, Severity: Critical, State: Firing,
			Since: a.Since, Fired: a.Since + 900_000, Value: "103.5", Peak: "106.2"}
	},
})

// Rules holds the rules of devices and profiles.
var Rules = table.Define[Rule, RuleKey]("telemetry.rule", table.Def[Rule]{
	PK: "{scope}#{scopeId}", SK: "RULE#{ruleId}",
	PKWords: []string{string(ForDevice), string(ForProfile)},
	Indexes: []table.Index[Rule]{{Name: "gsi1", PK: "FLEET_RULES#{fleetId}", SK: "RULE#{ruleId}"}},
	Example: exampleRule,
	Doc:     "A rule that raises alerts, for a device or all devices of a profile.",
})

// Aggregates holds hourly, daily and ten-minute aggregates. Days are rolled up, the others folded.
var Aggregates = table.Define[Aggregate, AggregateKey]("telemetry.aggregate", table.Def[Aggregate]{
	PK: devicePK, SK: "AGG#{period}#{start}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Expires:  func(a *Aggregate) time.Time { return a.ExpiresAt },
	MaxBytes: maxAggregateBytes,
	Example:  exampleAggregate,
	Doc:      "The figures of a device for ten minutes, an hour or a day.",
	Growth:   table.Growth{Writes: 1.05, Items: 0.12, Bytes: 600, Keep: Retention{}.Of(TenMinutes), Reads: 1.2},
})

// Statuses holds the latest state of devices, folded from readings.
var Statuses = table.Define[Status, StatusKey]("telemetry.status", table.Def[Status]{
	PK: devicePK, SK: "#STATUS", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Indexes: []table.Index[Status]{{Name: "gsi1", PK: "FLEET#{connectivity}#{shard}", SK: deviceSK}},
	Example: exampleStatus,
	Doc:     "The latest values of a device and when it was last seen.",
	Growth:  table.Growth{Writes: 1, Bytes: 500, Indexes: 1, Reads: 1.1},
})

// Claims holds the claim codes of devices.
var Claims = table.Define[Claim, ClaimKey]("telemetry.claim", table.Def[Claim]{
	PK: "CLAIM#{codeHash}", SK: metadata, Access: table.Access{Private: true},
	Doc: "A claim code of a device.",
})

// Labels lists the devices of a fleet by property, folded from devices.
var Labels = table.Define[Label, LabelKey]("telemetry.label", table.Def[Label]{
	PK: fleetPK, SK: "LABEL#{kind}#{value}#{deviceId}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Example: exampleLabel,
	Doc:     "A device of a fleet, listed by one of its properties.",
})

// Counts holds the device counts of fleets, folded from devices and statuses.
var Counts = table.Define[FleetCounts, FleetCountsKey]("telemetry.counts", table.Def[FleetCounts]{
	PK: fleetPK, SK: "COUNTS", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Doc: "The number of devices of a fleet, by status and connectivity.",
})

// Silences holds the current silences of fleets.
var Silences = table.Define[Silence, SilenceKey]("telemetry.silence", table.Def[Silence]{
	PK: fleetPK, SK: "SILENCE",
	Example: exampleSilence,
	Doc:     "A silence of most of a fleet at once.",
})

// RollupMarks holds the days that need a roll-up.
var RollupMarks = table.Define[RollupMark, RollupKey]("telemetry.rollup", table.Def[RollupMark]{
	PK: "DEVICE_ROLLUPS#{shard}", SK: "DAY#{day}#{deviceId}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Doc: "A day of a device whose hours changed since its last roll-up.",
})
