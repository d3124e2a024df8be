package cost

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/onefold/onefold/blueprint"
)

// MaxWorkers and MaxShards bound what is estimated.
const (
	MaxWorkers = 1000
	MaxShards  = 100_000
)

// Workers are the processes that fold the changes of a table: onefold serve and onefold work. The
// zero value is one worker with the defaults of its flags.
type Workers struct {
	Count     int           // processes that share the stream, 1 to MaxWorkers; 0 means 1
	Shards    int           // open shards of the stream, up to MaxShards; 0 means four, and one for each started 1,000 write units a second
	LeaseFor  time.Duration // 1 second to 10 minutes, as in onefold work; 0 means 30 seconds
	Functions bool          // functions get the changes in batches instead: no leases and no members
}

func (w Workers) check() error {
	switch {
	case w.Count < 0 || w.Count > MaxWorkers:
		return fmt.Errorf("%w: %d workers: use 1 to %d", ErrOptions, w.Count, MaxWorkers)
	case w.Shards < 0 || w.Shards > MaxShards:
		return fmt.Errorf("%w: %d shards: use 1 to %d", ErrOptions, w.Shards, MaxShards)
	case w.LeaseFor != 0 && (w.LeaseFor < time.Second || w.LeaseFor > 10*time.Minute):
		return fmt.Errorf("%w: leases of %s: use 1s to 10m", ErrOptions, w.LeaseFor)
	}
	return nil
}

// A stream has a shard for each partition of its table. An on-demand table starts with four, and a
// partition takes 1,000 write units a second.
const (
	leastShards   = 4
	unitsOfAShard = 1000
)

// shards returns the number of open shards of the stream of a workload.
func (w Workers) shards(of *Workload) int {
	if w.Shards > 0 {
		return w.Shards
	}
	units := 0.0
	for i := range of.Lines {
		units += of.Lines[i].WriteUnits
	}
	return int(max(leastShards, math.Ceil(units/secondsMonth/unitsOfAShard)))
}

// Checkpoints. A worker writes the checkpoint of a shard each time its changes have been folded. That
// is about twice per event, because folds read what other folds write, until the number of flushes
// is the limit. The figures are as metered.
const (
	checkpointsPerEvent  = 2.8
	checkpointsPerSecond = 6
	checkpointsDelayed   = 0.036 // per second, with a fold delay of 30 seconds
	checkpointReads      = 0.5   // read units per checkpoint written: workers also read those of other shards
)

// leaseFor is the duration of leases without --lease-for, and always of the lease of scheduled work.
const leaseFor = 30 * time.Second

// looksPerLease is how often a worker looks at the leases, gives a sign of life and renews its own
// leases, for each duration of a lease.
const looksPerLease = 3

// memberBytes is the size of a member: the members of a group are read together.
const memberBytes = 150

// folds reports whether workers fold the changes of the table.
func folds(d *blueprint.Design) bool {
	return slices.ContainsFunc(d.Entities, func(e blueprint.Entity) bool { return e.Name == "fold.checkpoint" })
}

// lines returns what workers themselves write and read.
func (w Workers) lines(shards int, perDay float64, delayed bool) []Line {
	most := float64(checkpointsPerSecond)
	if delayed {
		most = checkpointsDelayed
	}
	n := secondsMonth * together(perDay/secondsDay*checkpointsPerEvent, most)
	all := []Line{{Entity: "fold.checkpoint", Question: "checkpoints of shards", Writes: n, WriteUnits: n, ReadUnits: n * checkpointReads}}
	if w.Functions {
		return all
	}
	workers := float64(cmp.Or(w.Count, 1))
	looks := looksPerLease * secondsMonth / cmp.Or(w.LeaseFor, leaseFor).Seconds()
	jobs := looksPerLease * secondsMonth / leaseFor.Seconds() // one process renews the lease of scheduled work; the others read it
	leases := looks*float64(shards) + jobs
	signs := looks * workers
	return append(all,
		Line{Entity: "fold.lease", Question: "leases of shards and of scheduled work", Writes: leases, WriteUnits: leases, ReadUnits: workers*looks*float64(shards) + (workers-1)*jobs},
		Line{Entity: "fold.member", Question: "signs of life of workers", Writes: signs, WriteUnits: signs, ReadUnits: signs * blueprint.ReadUnits(int(workers)*memberBytes, true)},
	)
}
