package fold

import (
	"hash/fnv"
	"sync"
	"time"

	"github.com/onefold/onefold/fold/internal/watermark"
)

// shard is what a worker knows of one stream shard.
type shard struct {
	id     string
	number int // of its id, for partials
	parent string
	listed bool // in the last listing
	closed bool

	position Sequence // read up to here
	skipped  int      // records read since the checkpoint that no fold wanted
	waiting  int      // changes in the current batch
	held     *kept    // the first of them if a flush has left them waiting
	counted  bool     // changes have been counted since the checkpoint
	end      bool     // read to its end
	missed   int      // how often changes were trimmed before they were read
	siblings int      // shards of the last listing that have the same parent, itself too
	quiet    uint64   // the first of the turns from which the last tip was concluded
	mark     watermark.Shard
	readAt   time.Time
	lastAt   time.Time // when the last record read was committed
	retryAt  time.Time // not read before this time
	failures int       // reads that failed in a row
	leased   time.Time // this worker has the lease until then
	turn     int64     // of its lease; 0: it has none
	untold   bool      // the lease tells no watermark
	unsure   bool      // the last write of the lease has no known outcome: it failed, or was interrupted
	help     int       // how many wait for this shard and do not wait for its owner any longer
	gaps     []gap     // changes that were trimmed before they were read, not told yet
	windows  map[spanKey]*known

	mu         sync.Mutex
	checkpoint Sequence  // durable, at least this
	exists     bool      // the checkpoint item does
	done       bool      // durably finished
	fed        bool      // Handle was given changes of it, in this process or another
	readTo     time.Time // about when the change at the checkpoint was committed
	asOf       uint64    // Worker.tick before the checkpoint was read: it says nothing about items loaded later
	advancedAt time.Time // when it was last written by this worker
}

func newShard(id string) *shard {
	h := fnv.New32a()
	h.Write([]byte(id)) //nolint:errcheck // a hash never fails
	return &shard{id: id, number: int(h.Sum32() & 0x7fffffff)}
}

// observe takes note of the durable checkpoint as it was at some time after tick.
func (s *shard) observe(position Sequence, exists, done bool, tick uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkpoint = later(s.checkpoint, position)
	s.exists = s.exists || exists
	s.done = s.done || done
	s.asOf = max(s.asOf, tick)
}

// lost says that there is no checkpoint: it has expired, for the shard had no changes for longer than one is kept.
func (s *shard) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exists = false
}

// durable returns the checkpoint and up to when it is known.
func (s *shard) durable() (Sequence, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checkpoint, s.asOf
}

// readUntil returns about when the last change was committed that is written when the checkpoint is at through.
func (s *shard) readUntil() time.Time {
	at := s.lastAt
	if s.held != nil {
		at = s.held.change.At
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return watermark.Latest(at, s.readTo)
}

// through returns up to where everything is written: the position, unless changes wait longer than the flush.
func (s *shard) through() Sequence {
	if s.held != nil {
		return s.held.before
	}
	return s.position
}

func (s *shard) feed() {
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

// effective returns up to where an item has counted the changes of a shard. ok is false if the checkpoint that would
// tell was read before the item was.
func (s *stored) effective(sh *shard) (seq Sequence, ok bool) {
	if seq, marked := s.marks[sh.id]; marked {
		return seq, true
	}
	seq, asOf := sh.durable()
	return seq, asOf > s.loaded
}
