package table

import "time"

// Growth is what the facts that come in make of an entity, for documents and prices: by it alone the cost of a schema follows
// from how many facts there are. The zero value: nothing, it is written by people and now and then.
type Growth struct {
	Writes  float64 // of an item for each fact, on average, where facts come slowly; 1 for the facts themselves
	Delayed float64 // as Writes, where what folds write waits for 30 seconds; 0: the same
	Most    float64 // writes a second that are approached as facts come faster and are written together; 0: no bound
	// MostDelayed is as Most, where what folds write waits for 30 seconds; 0: no bound but that of Most. However fast facts come, each makes
	// Delayed.
	MostDelayed float64
	// Reads are the read units that folds take for each write of such an item, to load it or what its facts are added to; MostReads are
	// those a second that are approached as writes come faster and find in memory what was loaded; 0: no bound.
	Reads, MostReads float64
	Packed           int           // bytes that each further fact adds to an item where facts share one; 0: none
	Items            float64       // new items for each fact; 0: those that there are are written again
	Bytes            int           // size of an item
	Indexes          int           // on how many indexes an item is
	Transact         bool          // it is written in transactions, which take double
	Keep             time.Duration // how long an item is kept; 0: for ever
}
