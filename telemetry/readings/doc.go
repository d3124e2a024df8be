// Package readings stores what devices measure. Readings that arrive together are an item, a block, in the partition of a shard of
// their fleet: cheap to write, whoever sent them. From there they are moved into segments: what a device measured in an hour, in
// one item or a few, which is cheap to read. A reading is in a block, in a segment, or for a moment in both; In reads both, and
// yields it once. docs/format/readings.md has the bytes.
//
// Folds read blocks, each reading counting once however often it was sent (Facts). Segments mean nothing to them.
//
// Package telemetry decides what is stored, and is what others import; its names for what is here are the same.
package readings
