// Package analytics is web and product analytics on one table: events are the facts; a visitor's day, sessions,
// statistics, breakdowns and realtime are folds of the table's change stream. It says what is stored (entities.go,
// schema.go), what is asked (patterns.go) and what is derived (folds.go), and does what more than one request takes:
// Collector.Ingest stores events, Report answers, RollUp makes days and months of hours, Verify compares what is derived
// with the events, and Rebuild mends it. It is used by server and cmd, and knows neither the engine nor HTTP.
package analytics
