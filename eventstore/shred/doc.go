// Package shred erases people from an event store by crypto-shredding, although events never
// change. Personal fields of an event are encrypted with a key of the person whom it is about.
// Deleting the key erases the person: readers then get a placeholder. It also covers snapshots,
// lists the aggregates that a person is in, and issues receipts.
//
// Start with New, which returns a Keeper for the declared personal fields. Keeper.Secrets goes into
// eventstore.Options, and Keeper.Forget erases a person.
package shred
