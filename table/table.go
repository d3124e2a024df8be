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

// The attributes that the kit itself writes. Every item has pk, sk and et; ttl is there when the item expires.
const (
	AttrPK     = "pk"  // partition key, S
	AttrSK     = "sk"  // sort key, S
	AttrEntity = "et"  // the entity's name, S
	AttrTTL    = "ttl" // when the item expires, N, epoch seconds
)

// Removed is the entity name of a tombstone: an item that a fold has removed but whose progress marks must stay for
// a while. Every read of the kit treats it as absent.
const Removed = "fold.removed"

var (
	// ErrNotFound is returned when no live item has the key: it was never written, was removed, or has expired.
	ErrNotFound = errors.New("table: item not found")
	// ErrExists is returned when Create finds an item under its key.
	ErrExists = errors.New("table: item exists already")
	// ErrImmutable is returned when an immutable entity is put, patched or modified.
	ErrImmutable = errors.New("table: entity is immutable: create and delete only")
	// ErrKeyValue is returned when a value that goes into a key contains '#', the separator of key templates.
	ErrKeyValue = errors.New("table: key value contains '#'")
	// ErrKeyEmpty is returned when a variable of a primary key is empty.
	ErrKeyEmpty = errors.New("table: key value is empty")
	// ErrKeyFormat is returned when a value does not fit the fixed-width format of its template, or a stored key
	// does not fit its template.
	ErrKeyFormat = errors.New("table: key value does not fit its format")
	// ErrWrongEntity is returned when an item belongs to another entity than the one that decodes it.
	ErrWrongEntity = errors.New("table: item is of another entity")
	// ErrCondition is returned when a condition that the caller gave does not hold.
	ErrCondition = errors.New("table: condition does not hold")
	// ErrConflict is returned when other writers kept changing an item, or another transaction held it, in all attempts.
	ErrConflict = errors.New("table: item changed meanwhile")
	// ErrUnknownValue is returned when a patch changes a value that an index key or the expiry is derived from, and
	// does not know another that they need.
	ErrUnknownValue = errors.New("table: patch does not know a value that it needs")
	// ErrTooLarge is returned when an item, or a part of its key, is larger than allowed.
	ErrTooLarge = errors.New("table: too large")
	// ErrCursor is returned when a page cursor was altered, or belongs to another pattern, input or table.
	ErrCursor = errors.New("table: invalid cursor")
	// ErrThrottled is returned when the store still refused a batch or transaction for its rate after all retries.
	ErrThrottled = errors.New("table: throttled")
)

// Item is an item as the API carries it.
type Item = map[string]types.AttributeValue

// Options configure a Table. The zero value is good for one process.
type Options struct {
	Clock     func() time.Time // decides what has expired; default time.Now
	CursorKey []byte           // signs page cursors (HMAC-SHA256); default random, so cursors end with the process
}

// A Table binds entities and patterns to one physical table. It is safe for concurrent use.
type Table struct {
	api       dynamo.API
	name      string
	clock     func() time.Time
	cursorKey []byte
	sleep     func(context.Context, time.Duration) error // waits between retries; tests replace it

	mu     sync.Mutex
	shared map[any]any
}

// New binds the table called name in api.
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

// Shared returns what all who use the table share under a key, which make makes for the first of them. Keys are of types that nobody
// else has.
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

// API returns what the table's requests are sent to.
func (t *Table) API() dynamo.API { return t.api }

// Name returns the physical table's name.
func (t *Table) Name() string { return t.name }

// Now returns the table's time, by which items expire.
func (t *Table) Now() time.Time { return t.clock() }

// Expired reports whether an item's ttl has been reached. Items without a numeric ttl never expire.
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
