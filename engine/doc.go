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
package engine
