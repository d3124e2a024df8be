// Package telemetry ingests readings of devices and keeps them exact, although devices send twice,
// late, out of order and with wrong clocks. Readings are facts, each stored once. Aggregates,
// statuses and the lists of a fleet are folded from them.
//
// # From reading to alert
//
//	Incoming ──Collector.Ingest──► Reading, in a block ──folds──► Aggregate (10 min, hour) ──roll-up──► day
//	               │                        │                   ► Status, Label, FleetCounts
//	               ▼                        └──moved later──►  segment of the device and hour
//	           Quarantine                                      ► Alert (package alerts)
//
// # Invariants
//
//   - A reading is stored once: by its device, time, and sequence number or values.
//   - Aggregates are a function of the set of readings. Order of arrival, repetition and grouping do
//     not change a digit: sums are decimal, and percentiles come from mergeable sketches.
//   - Readings of a device have one order: time, sequence number, then a hash of the values. Counters,
//     states and alerts depend on it. So aggregates keep enough points for a late reading to be
//     inserted in its place.
//   - A reading with an impossible time counts nowhere. It waits in quarantine with the reason.
//   - A retraction only excludes readings from figures. Lift counts them again, as long as they have
//     not expired.
package telemetry
