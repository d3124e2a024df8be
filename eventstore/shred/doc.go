// Package shred erases people from an event store by crypto-shredding, although events never
// change. Personal fields of an event are encrypted with a key of the person whom it is about.
// Deleting the key erases the person: readers then get a placeholder. It also covers snapshots,
// lists the aggregates that a person is in, and issues receipts.
//
// Start with New, which returns a KeyStore for the declared personal fields. KeyStore.Secrets goes into
// eventstore.Options, and KeyStore.Erase erases a person.
package shred
