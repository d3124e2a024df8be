package fold

import (
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/fold/internal/watermark"
)

// counters count from the creation of the worker.
type counters struct {
	changes, repeated, skipped, rebuilt, writes, conflicts atomic.Int64
	dead, flushes, checkpoints, failures, gaps             atomic.Int64
}

// Status is the progress of a worker. Counts are from its creation.
type Status struct {
	Shards    []ShardStatus // unfinished ones, by ID, as of At
	At        time.Time     // the end of the last turn; zero before the first
	LeaseFree bool          // lease-free mode, see Options: it works only during WaitFor or Drain

	Changes     int64 // changes read that a fold wanted
	Repeated    int64 // facts not counted because another item had them first; reading a change again counts again
	Skipped     int64 // (change, item) pairs not counted because the item had counted them already
	Reads       int64 // items read: states, checkpoints, leases
	Writes      int64 // derived items written
	Flushes     int64
	Checkpoints int64 // checkpoints written
	Conflicts   int64 // writes repeated because another writer came first
	Retries     int64 // requests sent again
	Throttles   int64 // requests refused by rate limits
	DeadLetters int64 // dead letters made; redelivered changes count again
	Failures    int64 // failed turns of Run
	Gaps        int64 // gaps found
	Waiting     int   // changes read but not durable yet
}

// Lag returns the maximum age of a change in the worker's shards that is not folded. since is when
// the worker was made, which is the limit for shards without other information.
func (s *Status) Lag(since, now time.Time) (most time.Duration) {
	if s.At.IsZero() {
		return watermark.Lag(since, now)
	}
	for i := range s.Shards {
		if sh := &s.Shards[i]; sh.Owned && sh.Mark.IsZero() {
			most = max(most, watermark.Lag(since, now))
		} else if sh.Owned {
			most = max(most, watermark.Lag(sh.Mark, now))
		}
	}
	return most
}

// ShardStatus is the progress of a worker in one shard.
type ShardStatus struct {
	ID         string
	Owned      bool
	Position   Sequence      // read up to here
	Checkpoint Sequence      // durable up to here
	Mark       time.Time     // watermark: every change committed before is folded; zero if unknown
	Held       time.Duration // age of the oldest change on hold, 0 if none is
	Age        time.Duration // time since the shard was last read
	Failures   int           // failed reads in a row
	Gaps       int           // number of gaps, found by any worker
}

// Status returns the worker's state as of its last turn. It does not block.
func (w *Worker) Status() Status {
	s := *w.status.Load()
	c := &w.counts
	s.Changes, s.Repeated, s.Skipped, s.Reads, s.Writes = c.changes.Load(), c.repeated.Load(), c.skipped.Load(), w.requests.Read.Load(), c.writes.Load()
	s.Flushes, s.Checkpoints, s.Conflicts = c.flushes.Load(), c.checkpoints.Load(), c.conflicts.Load()
	s.Retries, s.Throttles, s.DeadLetters = w.requests.Repeated.Load(), w.requests.Throttled.Load(), c.dead.Load()
	s.LeaseFree = w.o.Leases && w.o.LeaseFree
	s.Failures, s.Gaps = c.failures.Load(), c.gaps.Load()
	return s
}

// report publishes the state for Status.
func (w *Worker) report() {
	now := w.o.Clock()
	s := Status{Waiting: w.waiting, At: now}
	for _, sh := range w.order {
		if !sh.finished() {
			s.Shards = append(s.Shards, sh.status(now, w.owns(sh, now)))
		}
	}
	w.status.Store(&s)
}

func (sh *shard) status(now time.Time, owned bool) ShardStatus {
	s := ShardStatus{ID: sh.id, Owned: owned, Position: sh.position, Failures: sh.failures, Gaps: sh.gapCount, Mark: sh.mark.Mark()}
	s.Checkpoint, _ = sh.durable()
	if !sh.readAt.IsZero() {
		s.Age = now.Sub(sh.readAt)
	}
	if sh.held != nil {
		s.Held = max(now.Sub(sh.held.change.At), 0)
	}
	return s
}
