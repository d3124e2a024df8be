// Package shred lets an event store forget people, though its events never change: what is personal in an event is
// encrypted with a key of the person whom it is about, and forgetting the person is deleting the key. Whoever reads then
// finds a placeholder. It reaches snapshots, says which aggregates a person is in, and leaves a receipt.
//
// The way in: New makes a Keeper of what is declared to be personal, Keeper.Secrets goes into eventstore.Options, and
// Keeper.Forget forgets. Programs that know their events use it; it imports the event store and the kit.
package shred
