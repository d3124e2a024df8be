// Package fsck checks the consistency of an event store's table: numbers without gaps, heads
// against last events, marks, indexes, reservations, snapshots and read models against replays,
// hash chains. It finds what cannot arise while the store works, but from a restored backup,
// another program or manual changes. It repairs what follows from other items; it never invents a
// fact.
package fsck
