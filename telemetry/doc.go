// Package telemetry ingests readings of devices and keeps them exact, although devices send twice,
// late, out of order and with wrong clocks. Readings are facts, each stored once. Aggregates,
// statuses and the lists of a fleet are folded from them.
package telemetry
