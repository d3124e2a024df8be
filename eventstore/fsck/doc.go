// Package fsck checks an event store's table against itself: numbers without gaps, heads against tails, marks, indexes,
// reservations, snapshots and read models against replay, chains of hashes. It finds what cannot be while the store works, such as what a
// restored backup, another program or a person with a console left behind, and repairs what can be made of what is there; it
// never makes up a fact. Commands and servers use it; it imports the event store and the kit.
package fsck
