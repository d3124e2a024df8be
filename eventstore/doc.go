// Package eventstore stores what happens to aggregates as immutable events. Appends have an
// expected version, so that no two writers decide on the same past; they are atomic, for 1 to 98
// events; and they are idempotent.
//
// Start with New, then use Store.Append and Store.Read, or Transact, which loads a state, decides
// and appends, and retries on conflicts.
//
// # How events are stored
//
//	stream of an aggregate    page 1 … page n (closed, never change) ◄── head, with the open page
//	all streams               feed: position 1, 2, 3 …, written by a fold from the heads' changes
//
// # Invariants
//
//   - The numbers of a stream begin with 1 and have no gaps. One conditional write of the head
//     assigns them.
//   - An append whose commit ID is known changes nothing and returns the first result.
//   - An event never changes, except that encryption keys of people may be deleted (package shred).
//   - The feed has each append once, and no reader sees a position before a smaller one.
//   - An append to several streams is visible in all of them or in none. It needs transactions, so a
//     store without them (PutMode) limits an append to one stream.
package eventstore
