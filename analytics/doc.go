// Package analytics is web and product analytics on one table. Events are facts. Visitors' days,
// sessions, statistics, breakdowns and realtime are folded from the table's change stream. Entities
// are in entities.go and schema.go, access patterns in patterns.go, folds in folds.go.
// Collector.Ingest stores events. Reports, roll-ups, verification and rebuilds are in subpackages.
// The package knows neither the storage engine nor HTTP.
package analytics
