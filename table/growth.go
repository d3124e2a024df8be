package table

import "time"

// Growth describes how incoming facts affect an entity, for documentation and cost estimates: the
// cost of a schema follows from Growth and the number of facts. The zero value means that facts
// have no effect, as for entities edited by people.
type Growth struct {
	Writes  float64 // writes per fact, on average, if facts come slowly; 1 for the facts themselves
	Delayed float64 // like Writes, with a fold delay of 30 seconds; 0: the same as Writes
	Most    float64 // upper limit of writes a second, because more facts then share a write; 0: no limit
	// MostDelayed is like Most, with a fold delay of 30 seconds. 0: no limit other than Most; each
	// fact then causes Delayed writes at any rate.
	MostDelayed float64
	// Reads are the read units that folds need per write, to load the item or what its facts are
	// added to. MostReads is the limit of read units a second as more writes find the item in
	// memory; 0: none.
	Reads, MostReads float64
	Packed           int           // bytes that each further fact adds to an item shared by several facts; 0: not shared
	Items            float64       // new items per fact; 0: existing items are overwritten
	Bytes            int           // size of an item
	Indexes          int           // number of indexes that contain an item
	Transact         bool          // written in transactions, which cost double
	Keep             time.Duration // retention of an item; 0: forever
}
