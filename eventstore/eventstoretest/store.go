package eventstoretest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/table"
)

// Store is an in-memory event store for tests.
type Store struct {
	*eventstore.Store
	DB    *enginetest.DB // injects further faults, and has the clock
	Table *table.Table
	t     enginetest.T
}

// New opens an empty store, which is closed when the test ends. Time passes only in Advance.
func New(t enginetest.T, o eventstore.Options, faults ...enginetest.Fault) *Store {
	t.Helper()
	db := enginetest.New(t)
	if err := shred.Schema.Ensure(context.Background(), db, "onefold"); err != nil {
		t.Fatalf("eventstoretest: %v", err)
	}
	s := &Store{DB: db, Table: table.New(db, "onefold", table.Options{Clock: db.Now}), t: t}
	var err error
	if s.Store, err = eventstore.New(s.Table, o); err != nil {
		t.Fatalf("eventstoretest: %v", err)
	}
	db.Inject(faults...)
	return s
}

// Advance advances the clock.
func (s *Store) Advance(by time.Duration) { s.DB.Advance(by) }

// StreamText returns a stream as text, such as "1 OrderPlaced 2 OrderPaid", for comparisons.
func (s *Store) StreamText(id eventstore.ID, options ...eventstore.ReadOption) string {
	s.t.Helper()
	var b strings.Builder
	for e, err := range s.Read(context.Background(), id, options...) {
		if err != nil {
			s.t.Fatalf("eventstoretest: story: %v", err)
			return ""
		}
		fmt.Fprintf(&b, "%d %s ", e.Seq, e.EventType)
	}
	return strings.TrimSpace(b.String())
}

// LoseBefore makes the nth appending request, from 1, fail without having happened; 0: every one.
func LoseBefore(nth int) enginetest.Fault { return appends(enginetest.Fail, nth) }

// LoseAfter makes the nth appending request, from 1, happen but fail, so that its caller cannot
// know; 0: every one.
func LoseAfter(nth int) enginetest.Fault { return appends(enginetest.LoseAnswer, nth) }

// Throttle throttles the nth appending request, from 1; 0: every one.
func Throttle(nth int) enginetest.Fault { return appends(enginetest.Throttle, nth) }

// Collide makes the nth appending request, from 1, collide with another transaction, which is not a
// version conflict; 0: every one.
func Collide(nth int) enginetest.Fault { return appends(enginetest.Conflict, nth) }

// appends returns a fault for appending requests: transactions with an entry for the feed, or writes
// of a head in put mode.
func appends(effect enginetest.Effect, nth int) enginetest.Fault {
	return enginetest.Fault{Effect: effect, Writes: true, Nth: nth, When: func(a enginetest.Access) bool {
		if a.Op == "TransactWriteItems" {
			return isText(a.Item[table.AttrPK], "FEED_ENTRIES")
		}
		return isText(a.Item[table.AttrSK], "#METADATA")
	}}
}

func isText(av types.AttributeValue, want string) bool {
	s, ok := av.(*types.AttributeValueMemberS)
	return ok && s.Value == want
}
