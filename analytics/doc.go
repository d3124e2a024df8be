// Package analytics is web and product analytics on one table: events are the facts; a visitor's day, sessions,
// statistics, breakdowns and realtime are folds of the table's change stream. It says what is stored (entities.go),
// what is asked (patterns.go), what is derived (folds.go) and offers the verbs Ingest, Report, Verify and Rebuild.
// It is used by server and cmd, and knows neither the engine nor HTTP.
package analytics
