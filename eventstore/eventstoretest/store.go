package eventstoretest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// Store is an event store for a test, in memory.
type Store struct {
	*eventstore.Store
	DB    *enginetest.DB // takes further faults, and moves the clock
	Table *table.Table
	t     enginetest.T
}

// New opens a store that is empty and closed when the test ends. Time passes in Advance only.
func New(t enginetest.T, o eventstore.Options, faults ...enginetest.Fault) *Store {
	t.Helper()
	db := enginetest.New(t)
	if err := eventstore.Schema.Ensure(context.Background(), db, "onefold"); err != nil {
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

// Advance moves the clock on.
func (s *Store) Advance(by time.Duration) { s.DB.Advance(by) }

// Story is a stream as text, such as "1 OrderPlaced 2 OrderPaid", to compare with.
func (s *Store) Story(id eventstore.ID, options ...eventstore.ReadOption) string {
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

// LoseBefore lets the nth request that appends, from 1, fail without having happened; 0: every one.
func LoseBefore(nth int) enginetest.Fault { return appends(enginetest.Fail, nth) }

// LoseAfter lets the nth request that appends, from 1, happen, and fail all the same: its caller cannot know. 0: every one.
func LoseAfter(nth int) enginetest.Fault { return appends(enginetest.LoseAnswer, nth) }

// Throttle refuses the nth request that appends, from 1, for its rate; 0: every one.
func Throttle(nth int) enginetest.Fault { return appends(enginetest.Throttle, nth) }

// Collide lets the nth request that appends, from 1, meet another transaction, which is no conflict of versions; 0: every one.
func Collide(nth int) enginetest.Fault { return appends(enginetest.Conflict, nth) }

// appends is a fault of requests that append, in transactions or one by one.
func appends(effect enginetest.Effect, nth int) enginetest.Fault {
	return enginetest.Fault{Effect: effect, Writes: true, Nth: nth, When: func(a enginetest.Access) bool { return a.Op != "UpdateItem" }}
}
