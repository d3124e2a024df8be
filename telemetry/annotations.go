package telemetry

import "github.com/onefold/onefold/table"

// annotations appear in the documents of the schema.
var annotations = table.Annotations{
	Callers: []table.Caller{
		{Name: "ingest over HTTP, MQTT and from files", Patterns: []string{"T1", "T8", "T9", "T10", "T12", "T14", "T20"}},
		{Name: "fleet page", Patterns: []string{"T2b", "T9", "T9b", "T9c", "T10b", "T13", "T16", "T17"}},
		{Name: "device page", Patterns: []string{"T1", "T4", "T5", "T7", "T12", "T14", "T15"}},
		{Name: "lists across all fleets", Patterns: []string{"T2"}},
		{Name: "charts, exports", Patterns: []string{"T3", "T7", "T14"}},
		{Name: "alerts", Patterns: []string{"T3", "T4", "T6", "T7", "T11", "T11b", "T13"}},
		{Name: "roll-up, maintenance", Patterns: []string{"T7", "T18", "T19"}},
		{Name: "verify, rebuild", Patterns: []string{"T2c", "T3", "T7", "T9b", "T9c"}},
	},
	Gaps: []table.Gap{
		{Question: "the devices whose last value is above a limit", Needs: "a rule, whose open alerts are on the index; no key contains values"},
		{Question: "one chart of all devices of a fleet", Needs: "aggregates of the fleet: a fold of the devices' aggregates"},
		{Question: "readings by time of arrival", Needs: "a sharded index key of the day of arrival, which costs one more write per reading; the change stream delivers readings as they arrive"},
		{Question: "devices near a place", Needs: "a label of devices with a map cell, such as a geohash"},
	},
	Decisions: []table.Decision{
		{Title: "0002: Lifetimes count from arrival", Link: "../decisions/0002-expiry-counts-from-arrival.md"},
		{Title: "0011: Devices belong to fleets", Link: "../decisions/0011-devices-belong-to-fleets.md"},
		{Title: "0012: Aggregates keep what order needs", Link: "../decisions/0012-aggregates-keep-what-order-needs.md"},
		{Title: "0031: A sequence number finds its reading at any time", Link: "../decisions/0031-a-sequence-number-finds-its-reading.md"},
		{Title: "0039: Tags are labels or properties", Link: "../decisions/0039-tags-are-labels-or-properties.md"},
		{Title: "0052: Readings have one order", Link: "../decisions/0052-readings-have-one-order.md"},
	},
}
