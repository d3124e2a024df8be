// Package eventstore stores what happens to aggregates as immutable events. Appends have an
// expected version, so that no two writers decide on the same past; they are atomic, for 1 to 98
// events; and they are idempotent.
//
// Start with New, then use Store.Append and Store.Read, or Transact, which loads a state, decides
// and appends, and retries on conflicts.
package eventstore
