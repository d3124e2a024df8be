// Package eventschema keeps JSON Schemas (2020-12) of events, by event type and version, and checks
// events against them.
//
// A schema has a maximum size, and its references cannot recur. So the time to check an event has a
// bound, which depends on the sizes of the schema and of the event. A stored schema can only be
// replaced by a compatible one, which accepts every event that the old one accepts. What was appended
// stays valid.
package eventschema
