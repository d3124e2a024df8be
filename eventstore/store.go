package eventstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// Options configure a Store. The zero value has good defaults.
type Options struct {
	// OneByOne appends without transactions, for stores that have none: one conditional put an event. An append then has one
	// event, and there are no heads, marks and reservations. The first append to a table decides which way it is: stores that
	// append in the other are refused with ErrWriteMode.
	OneByOne bool
	// TypeShards is over how many partitions the index spreads the events of one type, 1 to 256; default 1, which is good for
	// a thousand appends a second of one type. It may grow: readers have to look at as many, see Store.TypeShards.
	TypeShards int
	// Chain gives each event a hash over itself and the event before it: see Verified for what it proves. It may begin later, and never
	// ends: stores without Chain go on with chains that others have begun. An append then reads the head once more where it expects
	// an exact version.
	Chain bool
	// Secrets keep parts of what is stored from whoever sees the table, and let it be forgotten; see package shred.
	Secrets *Secrets
	// Archive has the events that were truncated; see package archive. Without it reading them is an ErrTruncated.
	Archive Archived
}

// Store is an event store on a table. It is safe for concurrent use.
type Store struct {
	t     *table.Table
	o     Options
	sleep func(context.Context, time.Duration) error // tests replace it

	turns  turns
	held   HeldRules
	secret atomic.Pointer[[]byte] // of the table; nil: not read yet
	agreed atomic.Bool            // the table is appended to as the store does

	mu  sync.Mutex
	ids *ulid.MonotonicEntropy
}

// New makes a Store on a table of Schema. Errors: ErrInvalid.
func New(t *table.Table, o Options) (*Store, error) {
	if o.TypeShards == 0 {
		o.TypeShards = 1
	}
	if o.TypeShards < 1 || o.TypeShards > table.MaxShards {
		return nil, fmt.Errorf("%w: TypeShards is %d: 1 to %d", ErrInvalid, o.TypeShards, table.MaxShards)
	}
	return &Store{t: t, o: o, sleep: backoff.For, ids: ulid.Monotonic(rand.Reader, 0)}, nil
}

// Table returns the table that the events are in.
func (s *Store) Table() *table.Table { return s.t }

// OneByOne reports whether the store goes without transactions, and so without heads, marks and reservations.
func (s *Store) OneByOne() bool { return s.o.OneByOne }

// newIDs are n event ids of a time, each above the one before, also above those of earlier calls within the millisecond.
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
