package telemetry

import (
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/bucket"
	"github.com/onefold/onefold/telemetry/readings"
)

// The access patterns of the table. The loads are of a thousand devices that send every minute.

// Schema holds all entities and access patterns of this package.
var Schema = table.MustSchema("telemetry",
	Fleets, Owners, Profiles, Devices, readings.Schema, Quarantine, Retractions, Alerts, Rules, Aggregates, Statuses, Claims, Labels, Counts,
	Silences, RollupMarks, Tasks, Sequences,
	DeviceByID, DevicesByStatus, AlertsOfDevice, OpenAlerts, AggregatesByTime, FirstOfSequence,
	FleetByID, FleetsOfOwner, OwnersOfFleets, ProfileByID, ProfilesOfFleet, DevicesLabelled, LabelsOfFleet, RulesOf, RulesOfFleet, StatusByID, StatusesByConnectivity,
	RetractionsOfDevice, QuarantineOfDevice, CountsOfFleet, SilenceOfFleet, DaysToRollUp, TasksWaiting,
	fold.Schema,
	table.ExpiryOrder("telemetry", Retention{}.Tiers()),
	annotations,
)

// DeviceIn names a device.
type DeviceIn = DeviceKey

// DeviceByID reads one device.
var DeviceByID = table.NewGet[DeviceIn](Devices, table.GetDef{
	ID: "T1", Question: "a device", Load: table.Load{PerSecond: 2, Items: 1, ItemBytes: 400},
})

// StatusIn selects devices by status.
type StatusIn struct {
	Status DeviceStatus `dynamodbav:"status"`
}

// DevicesByStatus queries the devices of all fleets with a status, by ID. For one fleet see
// ListDevices.
var DevicesByStatus = table.NewQuery(Devices, table.QueryDef[StatusIn]{
	ID: "T2", Question: "the devices of all fleets with a status", Index: "gsi1",
	FanOut: "shard", Over: allShards[StatusIn],
	Load: table.Load{PerSecond: 0.01, Items: 1000, ItemBytes: 400},
})

// AlertsOfDevice queries the alerts of a device, latest first.
var AlertsOfDevice = table.NewQuery(Alerts, table.QueryDef[DeviceIn]{
	ID: "T5", Question: "the alerts of a device", Desc: true,
	Load: table.Load{PerSecond: 0.1, Items: 20, ItemBytes: 400},
})

// SeverityIn selects alerts by severity and fleet; "" means all fleets.
type SeverityIn struct {
	Severity Severity `dynamodbav:"severity"`
	FleetID  string   `dynamodbav:"-"`
}

var alertFleet = table.FieldOf(Alerts, func(a *Alert) *string { return &a.FleetID })

// OpenAlerts queries the open alerts of a severity, latest first.
var OpenAlerts = table.NewQuery(Alerts, table.QueryDef[SeverityIn]{
	ID: "T6", Question: "the open alerts of a severity across devices", Index: "gsi1", Desc: true,
	Filter: func(in SeverityIn) table.Cond {
		if in.FleetID == "" {
			return table.Cond{}
		}
		return alertFleet.Eq(in.FleetID)
	},
	Load: table.Load{PerSecond: 0.5, Items: 20, ItemBytes: 400},
})

// AggregatesIn selects aggregates of buckets that start in [From, To); an empty To is open.
type AggregatesIn struct {
	DeviceID string `dynamodbav:"deviceId"`
	Period   Period `dynamodbav:"period"`
	From     string `dynamodbav:"from"`
	To       string `dynamodbav:"to"`
}

// AggregatesByTime queries the aggregates of a device by bucket. The current day has none:
// ReadSeries computes it from its hours.
var AggregatesByTime = table.NewQuery(Aggregates, table.QueryDef[AggregatesIn]{
	ID: "T7", Question: "the aggregates of a device for a time range",
	From: "AGG#{period}#{from}", To: "AGG#{period}#{to}",
	Load: table.Load{PerSecond: 1, Items: 48, ItemBytes: 900},
})

// EncodedAggregate is an aggregate whose metrics are not decoded.
type EncodedAggregate struct {
	AggregateKey
	RawUntil int64          `dynamodbav:"until,omitempty"`
	Metrics  bucket.Encoded `dynamodbav:"m"`
}

// EncodedAggregatesByTime is AggregatesByTime for one of many metrics of many devices: it takes a third
// of the time.
var EncodedAggregatesByTime = table.NewQuery(
	table.Define[EncodedAggregate, AggregateKey](Aggregates.Name(), table.Def[EncodedAggregate]{PK: devicePK, SK: "AGG#{period}#{start}"}),
	table.QueryDef[AggregatesIn]{
		ID: "T7", Question: "the aggregates of a device for a time range", From: "AGG#{period}#{from}", To: "AGG#{period}#{to}",
		Load: table.Load{PerSecond: 1, Items: 48, ItemBytes: 900},
	})

// FleetIn names a fleet.
type FleetIn = FleetKey

// FleetByID reads one fleet.
var FleetByID = table.NewGet[FleetIn](Fleets, table.GetDef{
	ID: "T9", Question: "a fleet and its settings", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 300},
})

// OwnerIn names an owner of fleets.
type OwnerIn = OwnerKey

// FleetsOfOwner queries the fleets of an owner, by ID.
var FleetsOfOwner = table.NewQuery(Fleets, table.QueryDef[OwnerIn]{
	ID: "T9b", Question: "the fleets of an owner", Index: "gsi1",
	Load: table.Load{PerSecond: 0.01, Items: 5, ItemBytes: 300},
})

// OwnersOfFleets queries the owners who have or had a fleet, by ID, except DefaultOwner.
var OwnersOfFleets = table.NewQuery(Owners, table.QueryDef[struct{}]{
	ID: "T9c", Question: "all owners of fleets",
	Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 100},
})

// ProfileIn names a profile.
type ProfileIn = ProfileKey

// ProfileByID reads one profile.
var ProfileByID = table.NewGet[ProfileIn](Profiles, table.GetDef{
	ID: "T10", Question: "a profile", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 500},
})

// ProfilesOfFleet queries the profiles of a fleet, by ID.
var ProfilesOfFleet = table.NewQuery(Profiles, table.QueryDef[FleetIn]{
	ID: "T10b", Question: "the profiles of a fleet", Index: "gsi1",
	Load: table.Load{PerSecond: 0.01, Items: 5, ItemBytes: 500},
})

// LabelIn selects the devices of a fleet with a property. ByFleet with the value Any selects all.
type LabelIn struct {
	FleetID string    `dynamodbav:"fleetId"`
	Kind    LabelKind `dynamodbav:"kind"`
	Value   string    `dynamodbav:"value"`
}

// DevicesLabelled queries the devices of a fleet with a property, by ID.
var DevicesLabelled = table.NewQuery(Labels, table.QueryDef[LabelIn]{
	ID: "T2b", Question: "the devices of a fleet by status, type, tag, firmware or profile", Prefix: "LABEL#{kind}#{value}#",
	Load: table.Load{PerSecond: 0.1, Items: 50, ItemBytes: 120},
})

// LabelsOfFleet queries the labels of all devices of a fleet, including devices being deleted.
var LabelsOfFleet = table.NewQuery(Labels, table.QueryDef[FleetIn]{
	ID: "T2c", Question: "the labels of all devices of a fleet, to check them against the devices", Prefix: "LABEL#",
	Load: table.Load{PerSecond: 0.0001, Items: 5000, ItemBytes: 120},
})

// RulesIn selects the rules of a device or profile.
type RulesIn struct {
	Scope   RuleScope `dynamodbav:"scope"`
	ScopeID string    `dynamodbav:"scopeId"`
}

// RulesOf queries the rules of a device or profile, by ID.
var RulesOf = table.NewQuery(Rules, table.QueryDef[RulesIn]{
	ID: "T11", Question: "the rules of a device or a profile",
	Load: table.Load{PerSecond: 1, Items: 5, ItemBytes: 300},
})

// RulesOfFleet queries all rules of a fleet, by ID.
var RulesOfFleet = table.NewQuery(Rules, table.QueryDef[FleetIn]{
	ID: "T11b", Question: "the rules of a fleet", Index: "gsi1",
	Load: table.Load{PerSecond: 1, Items: 20, ItemBytes: 300},
})

// StatusByID reads the status of a device.
var StatusByID = table.NewGet[DeviceIn](Statuses, table.GetDef{
	ID: "T12", Question: "the latest values of a device", Load: table.Load{PerSecond: 2, Items: 1, ItemBytes: 500},
})

// ConnectivityIn names a connectivity.
type ConnectivityIn struct {
	Connectivity Connectivity `dynamodbav:"connectivity"`
}

// StatusesByConnectivity queries the statuses of all online or all offline devices of all fleets.
var StatusesByConnectivity = table.NewQuery(Statuses, table.QueryDef[ConnectivityIn]{
	ID: "T13", Question: "the online or offline devices of all fleets", Index: "gsi1",
	FanOut: "shard", Over: allShards[ConnectivityIn],
	Load: table.Load{PerSecond: 0.02, Items: 1000, ItemBytes: 500},
})

// RetractionsOfDevice queries the retractions of a device, by creation.
var RetractionsOfDevice = table.NewQuery(Retractions, table.QueryDef[DeviceIn]{
	ID: "T14", Question: "the retractions of a device", Load: table.Load{PerSecond: 0.5, Items: 1, ItemBytes: 200},
})

// QuarantineOfDevice queries the quarantined readings of a device, by claimed time.
var QuarantineOfDevice = table.NewQuery(Quarantine, table.QueryDef[DeviceIn]{
	ID: "T15", Question: "the quarantined readings of a device", Load: table.Load{PerSecond: 0.01, Items: 10, ItemBytes: 200},
})

// CountsOfFleet reads the device counts of a fleet.
var CountsOfFleet = table.NewGet[FleetIn](Counts, table.GetDef{
	ID: "T16", Question: "the number of devices of a fleet", Load: table.Load{PerSecond: 0.5, Items: 1, ItemBytes: 200},
})

// SilenceOfFleet reads the silence of a fleet, if there is one.
var SilenceOfFleet = table.NewGet[FleetIn](Silences, table.GetDef{
	ID: "T17", Question: "whether a fleet is silent", Load: table.Load{PerSecond: 0.5, Items: 1, ItemBytes: 100},
})

// ShardIn names a shard.
type ShardIn struct {
	Shard int    `dynamodbav:"shard"`
	To    string `dynamodbav:"to"` // exclusive day
}

// DaysToRollUp queries the days that need a roll-up.
var DaysToRollUp = table.NewQuery(RollupMarks, table.QueryDef[ShardIn]{
	ID: "T18", Question: "the days of devices that wait for a roll-up", From: "DAY#", To: "DAY#{to}",
	Load: table.Load{PerSecond: 0.1, Items: 100, ItemBytes: 120},
})
