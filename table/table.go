package table

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/backoff"
)

// Attributes written by this package. Every item has pk, sk and et; an item that expires also has
// ttl.
const (
	AttrPK     = "pk"  // partition key, S
	AttrSK     = "sk"  // sort key, S
	AttrEntity = "et"  // the entity's name, S
	AttrTTL    = "ttl" // when the item expires, N, epoch seconds

	// Folds add these to derived items, and to the tombstones of removed ones, which expire: the fold
	// version, increased by every write, N; and for each stream shard, the last change counted in the
	// item, M of S.
	AttrFoldVersion, AttrFoldMarks = "fv", "fm"
)

// Removed is the entity name of a tombstone: an item that a fold has removed but whose progress
// marks must stay for a while. All reads of this package treat it as missing.
const Removed = "fold.removed"

var (
	// ErrNotFound is returned if no live item has the key: it was never written, was removed, or
	// has expired.
	ErrNotFound = errors.New("table: item not found")
	// ErrExists is returned if Create finds an existing item.
	ErrExists = errors.New("table: item already exists")
	// ErrImmutable is returned by Put, Patch and Modify of an immutable entity.
	ErrImmutable = errors.New("table: entity is immutable: create and delete only")
	// ErrKeyValue is returned if a value for a key contains '#', the separator in key templates.
	ErrKeyValue = errors.New("table: key value contains '#'")
	// ErrKeyEmpty is returned if a variable of a primary key is empty.
	ErrKeyEmpty = errors.New("table: key value is empty")
	// ErrKeyFormat is returned if a value does not fit the fixed-width format in its template, or a
	// stored key does not match its template.
	ErrKeyFormat = errors.New("table: key value does not match its format")
	// ErrWrongEntity is returned if a decoded item belongs to another entity.
	ErrWrongEntity = errors.New("table: item belongs to another entity")
	// ErrCondition is returned if a condition given by the caller does not hold.
	ErrCondition = errors.New("table: condition does not hold")
	// ErrConflict is returned if other writers kept changing an item, or another transaction held
	// it, through all attempts.
	ErrConflict = errors.New("table: item changed meanwhile")
	// ErrUnknownValue is returned if an index key or the expiry is derived from several values, and
	// a patch sets only some of them.
	ErrUnknownValue = errors.New("table: patch needs a value that it does not have")
	// ErrTooLarge is returned if an item or a part of its key is larger than allowed.
	ErrTooLarge = errors.New("table: too large")
	// ErrCursor is returned if a page cursor was altered, or belongs to another pattern, input or
	// table.
	ErrCursor = errors.New("table: invalid cursor")
	// ErrThrottled is returned if the store still throttles a batch or transaction after all
	// retries.
	ErrThrottled = errors.New("table: throttled")
)

// Item is an item in the form of the API.
type Item = map[string]types.AttributeValue

// Options configure a Table. The zero value is good for one process.
type Options struct {
	Clock     func() time.Time // decides whether items have expired; default time.Now
	CursorKey []byte           // signs page cursors (HMAC-SHA256); the default is random, so that cursors become invalid when the process ends
}

// A Table binds entities and patterns to one physical table. It is safe for concurrent use.
type Table struct {
	api       dynamo.API
	name      string
	clock     func() time.Time
	cursorKey []byte
	sleep     func(context.Context, time.Duration) error // waits between retries; replaced in tests

	// mu protects shared.
	mu     sync.Mutex
	shared map[any]any
}

// New returns a Table for the physical table called name in api.
func New(api dynamo.API, name string, o Options) *Table {
	t := &Table{api: api, name: name, clock: o.Clock, cursorKey: o.CursorKey, sleep: backoff.For}
	if t.clock == nil {
		t.clock = time.Now
	}
	if len(t.cursorKey) == 0 {
		t.cursorKey = make([]byte, 32)
		rand.Read(t.cursorKey) //nolint:errcheck // never returns an error since Go 1.24
	}
	return t
}

// Shared returns the value that all users of the table share under a key. The first call makes it
// with make, while holding a lock. Keys should have an unexported type of the caller's package.
func (t *Table) Shared(key any, make func() any) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, there := t.shared[key]
	if !there {
		if v = make(); t.shared == nil {
			t.shared = map[any]any{}
		}
		t.shared[key] = v
	}
	return v
}

// API returns the API to which the table sends its requests.
func (t *Table) API() dynamo.API { return t.api }

// Name returns the physical table's name.
func (t *Table) Name() string { return t.name }

// Now returns the table's time, which determines whether items have expired.
func (t *Table) Now() time.Time { return t.clock() }

// Expired reports whether the ttl of an item has been reached. Items without a numeric ttl never
// expire.
func Expired(it Item, now time.Time) bool { return expired(it[AttrTTL], now) }

func expired(ttl types.AttributeValue, now time.Time) bool {
	n, ok := ttl.(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	at, err := strconv.ParseInt(n.Value, 10, 64)
	return err == nil && at <= now.Unix()
}

// live reports whether reads may return the item.
func (t *Table) live(it Item) bool {
	return !IsRemoved(it) && !Expired(it, t.Now())
}

// IsRemoved reports whether an item is a tombstone.
func IsRemoved(it Item) bool {
	et, ok := it[AttrEntity].(*types.AttributeValueMemberS)
	return ok && et.Value == Removed
}
