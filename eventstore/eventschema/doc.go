// Package eventschema keeps JSON Schemas (2020-12) of events, by event type and version, and checks
// events against them.
//
// A schema is bounded, and references in it cannot recur, so that checking an event takes a time that
// is bounded by the sizes of both. A stored schema is only replaced by one that accepts every event
// that it accepts: what was appended stays valid.
package eventschema
