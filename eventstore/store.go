package eventstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// Options configures a Store. The zero value has good defaults.
type Options struct {
	// PutMode enables put mode, for stores without transactions: an append is one conditional write.
	// It has one aggregate, and there are no reservations and no feed. The first append to a table
	// decides its mode: stores in the other mode get ErrWriteMode.
	PutMode bool
	// TypeShards is the number of partitions for the events of one type in the index, 1 to 256;
	// default 1, which suffices for a thousand appends a second of one type. It may be increased.
	// Readers must read all partitions, see Store.TypeShards.
	TypeShards int
	// Chain gives each event a hash of itself and the previous event, see Verified. A chain may
	// start later and never ends: stores without Chain continue existing chains.
	Chain bool
	// Secrets hide parts of what is stored, and make it erasable; see package shred.
	Secrets *Secrets
	// Archive has truncated events; see package archive. Without it, reading them is an
	// ErrTruncated.
	Archive Archived
	// PageBytes is the size at which the page in the head is closed; default 4 KB on the embedded
	// engine, and 600 bytes on a service, which charges for each KB of the head. Small pages make
	// loads of long streams slower, see the guide. Stores on a table may have different sizes.
	PageBytes int
}

// Store is an event store on a table. It is safe for concurrent use. mu protects ids.
type Store struct {
	t     *table.Table
	o     Options
	sleep func(context.Context, time.Duration) error // replaced in tests

	queues queues              // of Transact
	turns  turns               // of TransactQuery
	tips   *lru.Cache[ID, tip] // ends of streams, as last written or read
	held   HeldRules
	secret atomic.Pointer[[]byte] // of the table; nil: not read yet
	agreed atomic.Bool            // the table's write mode was checked

	mu  sync.Mutex
	ids *ulid.MonotonicEntropy
}

// New returns a Store on a table of Schema. Errors: ErrInvalid.
func New(t *table.Table, o Options) (*Store, error) {
	if o.TypeShards == 0 {
		o.TypeShards = 1
	}
	if o.TypeShards < 1 || o.TypeShards > table.MaxShards {
		return nil, fmt.Errorf("%w: TypeShards is %d: use 1 to %d", ErrInvalid, o.TypeShards, table.MaxShards)
	}
	if o.PageBytes <= 0 {
		o.PageBytes = billedPageBytes
		if _, embedded := t.API().(dynamo.Putter); embedded {
			o.PageBytes = pageBytes
		}
	}
	tips, err := lru.New[ID, tip](cachedTips)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	return &Store{t: t, o: o, sleep: backoff.For, tips: tips, ids: ulid.Monotonic(rand.Reader, 0)}, nil
}

// Table returns the table with the events.
func (s *Store) Table() *table.Table { return s.t }

// PutMode reports whether the store is in put mode, without reservations and the feed.
func (s *Store) PutMode() bool { return s.o.PutMode }

// newIDs returns n increasing event IDs, also greater than those of earlier calls within the same
// millisecond.
func (s *Store) newIDs(at time.Time, n int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, n)
	for i := range ids {
		id, err := ulid.New(ulid.Timestamp(at), s.ids)
		if err != nil {
			return nil, fmt.Errorf("eventstore: event id: %w", err)
		}
		ids[i] = id.String()
	}
	return ids, nil
}
