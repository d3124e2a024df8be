// Package engine is a DynamoDB that runs inside a Go process: the same API, the same answers, durable on one disk or
// wholly in memory, with streams, secondary indexes, transactions, expiry and metered capacity. DB implements
// dynamo.API and dynamo.Streams. It exists so that programs, tests and one-box deployments can use DynamoDB without
// a server, and so that capacity figures are those that DynamoDB would bill. Any program may import it; in this
// repository only commands, examples and tests do, and all other packages are written against package dynamo.
//
// It is one process and one Region. Global secondary indexes are consistent at once. A write is acknowledged when it
// is on disk (Options.NoSync gives that up); a concurrent reader may see it a moment earlier, at most one group
// commit. When the disk is nearly full, writes that add something are refused (Options.DiskReserve); when it fails, the
// process ends (Options.OnFatal). The bytes on disk are specified in docs/format/engine.md.
package engine
