package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// Pull is what a partition remembers if its events are pulled.
//
// A partition is leased to the consumer that received its events, until each of them is acknowledged
// or rejected, or until the lease ends. Turn is raised with each lease, and Rev with each write, so
// that every write is based on what it replaces.
//
// Window has the events after Position that were delivered or parked. Position is before the first of
// them that is not done.
type Pull struct {
	Rev       int64     `dynamodbav:"rev,omitempty"`
	Seen      int64     `dynamodbav:"seen,omitempty"`      // Requests that were looked at
	Through   int64     `dynamodbav:"through,omitempty"`   // position when all events of the window are done
	Until     time.Time `dynamodbav:"until,omitempty"`     // end of the lease
	NotBefore time.Time `dynamodbav:"notBefore,omitempty"` // rejected events are not delivered again before
	Window    []Slot    `dynamodbav:"window,omitempty"`    // at most 300
	Retrying  []Slot    `dynamodbav:"retrying,omitempty"`  // parked events that were delivered, at most one of an aggregate
}

// A Slot is an event that was delivered.
type Slot struct {
	EventID  string    `dynamodbav:"e"`
	Position int64     `dynamodbav:"p"`
	First    int       `dynamodbav:"f,omitempty"` // the first slot with an event of the same aggregate
	State    SlotState `dynamodbav:"s,omitempty"`
	Failures int       `dynamodbav:"n,omitempty"` // failed attempts
}

// SlotState is what is known about a delivered event.
type SlotState int

// States of a slot.
const (
	SlotOut      SlotState = iota // a consumer has it
	SlotDone                      // acknowledged or parked
	SlotRejected                  // to be delivered again
)

var (
	recordCreated      = table.FieldOf(Records, func(r *Record) *time.Time { return &r.CreatedAt })
	partitionRev       = table.FieldOf(Partitions, func(p *Partition) *int64 { return &p.Rev })
	partitionWindow    = table.FieldOf(Partitions, func(p *Partition) *[]Slot { return &p.Window })
	partitionThrough   = table.FieldOf(Partitions, func(p *Partition) *int64 { return &p.Through })
	partitionRetrying  = table.FieldOf(Partitions, func(p *Partition) *[]Slot { return &p.Retrying })
	partitionNotBefore = table.FieldOf(Partitions, func(p *Partition) *time.Time { return &p.NotBefore })
)

// out reports whether a consumer has events of the partition.
func (p *Partition) out() bool {
	isOut := func(s Slot) bool { return s.State == SlotOut }
	return slices.ContainsFunc(p.Window, isOut) || slices.ContainsFunc(p.Retrying, isOut)
}

// leased reports whether no events of the partition may be delivered.
func (p *Partition) leased(now time.Time) bool {
	return now.Before(p.NotBefore) || p.out() && now.Before(p.Until)
}

// settle advances the position over what is done.
func (p *Partition) settle() {
	i := slices.IndexFunc(p.Window, func(s Slot) bool { return s.State != SlotDone })
	if i >= 0 {
		p.Position = max(p.Position, p.Window[i].Position-1)
		return
	}
	p.Position = max(p.Position, p.Through)
	p.Window = slices.DeleteFunc(slices.Clone(p.Window), func(s Slot) bool { return s.Position <= p.Position }) // the rest of an append follows
}

// Puller passes the events of a subscription to consumers that ask for them, on any number of
// servers. It is safe for concurrent use.
type Puller struct {
	s      *eventstore.Store
	t      *table.Table
	record Record

	mu      sync.Mutex
	scanned map[int]scanned // by partition
}

// Open returns a subscription that was created by Create. Errors: ErrNotFound, ErrNotPulled, those of
// the store.
func Open(ctx context.Context, s *eventstore.Store, name string) (*Puller, error) {
	r, err := Records.Get(ctx, s.Table(), Key{name})
	if err != nil {
		return nil, notFound(name, err)
	}
	if r.Pulled == nil {
		return nil, fmt.Errorf("%w: %q", ErrNotPulled, name)
	}
	return &Puller{s: s, t: s.Table(), record: r, scanned: map[int]scanned{}}, nil
}

// errStale means that a partition was written after it was read.
var errStale = errors.New("subscription: the partition has changed")

// change is a write to a partition.
type change struct {
	was, next Partition
	park      []Parked // events to park
}

// save writes a change together with more operations. Errors: errStale, those of the store.
func (q *Puller) save(ctx context.Context, c *change, more ...func(*table.Tx)) error {
	c.next.Rev, c.next.UpdatedAt = c.was.Rev+1, q.t.Now().UTC()
	tx := table.NewTx(q.t, "")
	switch same := []table.Cond{partitionTurn.Eq(c.was.Turn), partitionRequests.Eq(c.was.Requests)}; {
	case c.was.Turn == 0:
		Partitions.TxCreate(tx, &c.next)
		Records.TxCheck(tx, q.record.Key, recordCreated.Eq(q.record.CreatedAt))
	case c.was.Rev == 0:
		Partitions.TxPut(tx, &c.next, append(same, partitionRev.Missing())...)
	default:
		Partitions.TxPut(tx, &c.next, append(same, partitionRev.Eq(c.was.Rev))...)
	}
	for i := range c.park {
		ParkedEvents.TxCreate(tx, &c.park[i])
	}
	for _, add := range more {
		add(tx)
	}
	err := tx.Commit(ctx)
	for _, changed := range []error{table.ErrCondition, table.ErrExists, table.ErrNotFound, table.ErrConflict} {
		if errors.Is(err, changed) {
			return errStale
		}
	}
	return err
}
