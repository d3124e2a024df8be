package fold

import (
	"hash/fnv"
	"sync"
	"time"

	"github.com/onefold/onefold/fold/internal/watermark"
	"github.com/onefold/onefold/fold/lease"
)

// shard is what a worker knows of one stream shard. mu protects the fields below it, which flushes
// use concurrently. The other fields belong to the goroutine that holds Worker.mu.
type shard struct {
	id     string
	number int // hash of id, for partials
	parent string
	listed bool // part of the last listing
	closed bool

	position    Sequence       // read up to here
	skipped     int            // records read since the checkpoint that no fold wanted
	waiting     int            // changes in the current batch
	held        *pendingChange // the first of them if a flush has left changes waiting
	counted     bool           // changes have been counted since the checkpoint
	end         bool           // read to its end
	gapCount    int            // how often changes were trimmed before they were read
	siblings    int            // shards of the last listing that have the same parent, itself too
	tipTurn     uint64         // the first of the turns that the last tip was based on
	mark        watermark.Shard
	readAt      time.Time
	lastAt      time.Time // commit time of the last record read
	retryAt     time.Time // earliest time of the next read
	failures    int       // failed reads in a row
	lease       *lease.Claim
	unpublished bool       // the lease contains no watermark yet
	help        int        // number of WaitFor calls that fold this shard because its owner makes no progress
	gaps        []gapStart // gaps that are not recorded yet
	windows     map[spanKey]*loadedWindow

	mu         sync.Mutex
	checkpoint Sequence  // durable, at least this
	exists     bool      // the checkpoint item exists
	done       bool      // durably finished
	fed        bool      // Handle was given changes of it, in any process
	readTo     time.Time // approximate commit time of the change at the checkpoint
	asOf       uint64    // Worker.tick before the checkpoint was read; valid only for items loaded earlier
	advancedAt time.Time // when this worker last wrote it
}

func newShard(id string) *shard {
	h := fnv.New32a()
	h.Write([]byte(id)) //nolint:errcheck // a hash never fails
	return &shard{id: id, lease: lease.NewClaim(id), number: int(h.Sum32() & 0x7fffffff)}
}

// raiseCheckpoint records the durable checkpoint as it was at some time after tick. Checkpoints never move
// back.
func (s *shard) raiseCheckpoint(position Sequence, exists, done bool, tick uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkpoint = maxSequence(s.checkpoint, position)
	s.exists = s.exists || exists
	s.done = s.done || done
	s.asOf = max(s.asOf, tick)
}

// checkpointExpired records that the checkpoint has expired, because the shard had no changes for longer than
// checkpoints are kept.
func (s *shard) checkpointExpired() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exists = false
}

// durable returns the checkpoint, and the tick for which it is known.
func (s *shard) durable() (Sequence, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checkpoint, s.asOf
}

// readUntil returns the approximate commit time of the last change that a checkpoint at through
// covers.
func (s *shard) readUntil() time.Time {
	at := s.lastAt
	if s.held != nil {
		at = s.held.change.At
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return watermark.Latest(at, s.readTo)
}

// flushedTo returns the position up to which everything is written: the read position, unless changes
// are on hold.
func (s *shard) flushedTo() Sequence {
	if s.held != nil {
		return s.held.before
	}
	return s.position
}

func (s *shard) markFed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fed = true
}

func (s *shard) isFed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fed
}

func (s *shard) finished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

// effective returns the last change of a shard that an item has counted. ok is false if the item
// has no mark and the checkpoint was read before the item.
func (s *stored) effective(sh *shard) (seq Sequence, ok bool) {
	if seq, marked := s.marks[sh.id]; marked {
		return seq, true
	}
	seq, asOf := sh.durable()
	return seq, asOf > s.loaded
}
