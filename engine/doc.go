// Package engine is a DynamoDB that runs inside a Go process. It has the same API and responses, is
// durable on one disk or entirely in memory, and supports streams, secondary indexes, transactions,
// expiry and metered capacity. DB implements dynamo.API and dynamo.Streams. Programs, tests and
// single-machine deployments can use it in place of DynamoDB, without a server, and its capacity
// figures are what DynamoDB would bill. Any program may import it; in this repository only
// commands, examples and tests do, while all other packages use package dynamo.
//
// The engine is one process and one Region. Global secondary indexes are consistent immediately. A
// write is acknowledged when it is on disk, unless Options.NoSync is set; concurrent readers may
// see it slightly earlier, by at most one group commit. When the disk is nearly full, writes that
// add data are rejected (Options.DiskReserve). When the disk fails, the process ends
// (Options.OnFatal). The stored bytes are specified in docs/format/engine.md.
//
// # Invariants
//
//   - A write that was acknowledged survives kill -9 and power loss, unless Options.NoSync is set.
//   - No response depends on a write that a power loss could still undo. A reader may see a write
//     before it is on disk, but a write that is refused because of it waits for the disk first.
//   - The rows of a request are one Pebble batch: item, index entries, stream records, expiry row and
//     token are stored together or not at all.
//   - Stream records are numbered in the order in which their batches are applied, so a reader never
//     sees a number before a smaller one.
//   - Equal items have equal bytes, so a write that changes nothing is recognized and adds no record
//     to the stream.
//   - Requests are checked in DynamoDB's order, so that a request with several mistakes gets the same
//     error as on AWS.
//
// # Locks
//
// Each lock is taken after the ones above it. A request that needs several of one kind takes them in
// ascending order.
//
//	calls     Close waits until no call is running
//	control   tables are created, changed or dropped by one request at a time
//	gate      of a table: shared by writes, exclusive while its schema changes
//	stripes   of items, by a hash of the key; then of idempotency tokens
//	order     batches with stream records are numbered and applied one at a time
package engine
