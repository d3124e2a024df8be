// Package analytics is web and product analytics on one table. Events are facts. Visitors' days,
// sessions, statistics, breakdowns and realtime are folded from the table's change stream. Entities
// are in entities.go and schema.go, access patterns in patterns.go, folds in folds.go.
// Collector.Ingest stores events. Reports, roll-ups, verification and rebuilds are in subpackages.
// The package knows neither the storage engine nor HTTP.
//
// # From event to report
//
//	Hit ──Collector.Ingest──► Event, in a Block ──folds──► Visitor ──► Session
//	                                    │                     │
//	                                    └──────────┬──────────┘
//	                                               ▼
//	                                    Stats and Breakdown of the hour ──roll-up──► day ──► month
//
// # Invariants
//
//   - An event is counted once, however often it is sent with the same ID. Lines of log files have
//     no ID, so theirs is made of the content (ContentID).
//   - Statistics and breakdowns do not depend on the order of arrival: each visitor's day is
//     recomputed from its events, and the difference from before is added to the hours.
//   - What a visitor's day adds can be subtracted again. So late events, goals that are defined
//     later and erasure change figures without a recount. Only sketches of visitors cannot shrink.
//   - The sum over the values of a dimension, with Other, is the total: values that do not fit are
//     counted in Other and never dropped.
//   - A bucket is sealed once its first fact may have expired, and is then never recomputed, because
//     it would shrink (ErrSealed).
//   - A visitor is a keyed hash. The key is deleted two days after the day; from then on, nobody can
//     tell which address a hash came from. Only a user ID, which the site itself sends, names a person.
package analytics
