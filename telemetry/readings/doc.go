// Package readings stores the readings of devices. Readings that arrive together are one item, a
// block, in the partition of a shard of their fleet, which is cheap to write for any mix of
// devices. Later they are moved into segments: one or a few items with a device's readings of an
// hour, which are cheap to read. A reading is in a block, in a segment, or for a moment in both; In
// reads both and yields it once. The formats are in docs/format/readings.md.
//
// Folds read blocks, and count each reading once even if it was sent repeatedly (Facts). They
// ignore segments.
//
// Package telemetry decides what to store. Other packages import it and use its aliases for these
// types.
package readings
