package sqlprojection

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/onefold/onefold/eventstore"
)

// batch is a transaction that applies events. It has locked the row of the version, so the position,
// the number of parked events and the parked events change nowhere else.
type batch struct {
	*subscriber
	ctx      context.Context
	tx       *sql.Tx
	position int64                  // as stored
	through  int64                  // to be stored
	parked   int                    // number of parked events
	waiting  map[eventstore.ID]bool // parked aggregates
	failed   error                  // of the event before which the batch ends
}

// begin locks the row and reads which aggregates are parked.
func (s *subscriber) begin(ctx context.Context, tx *sql.Tx) (*batch, error) {
	b := &batch{subscriber: s, ctx: ctx, tx: tx, waiting: map[eventstore.ID]bool{}}
	err := tx.QueryRowContext(ctx, `UPDATE onefold_projections SET updated_at = $1 WHERE name = $2 AND version = $3 RETURNING position, parked`,
		s.now(), s.def.Name, s.def.Version).Scan(&b.position, &b.parked)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil || b.parked == 0 {
		return b, err
	}
	rows, err := tx.QueryContext(ctx, `SELECT DISTINCT aggregate_type, aggregate_id FROM onefold_parked WHERE name = $1 AND version = $2`, s.def.Name, s.def.Version)
	ids, err := collect(rows, err, func(rows *sql.Rows) (id eventstore.ID, err error) {
		err = rows.Scan(&id.Type, &id.ID)
		return eventstore.ID{Type: fromText(id.Type), ID: fromText(id.ID)}, err
	})
	for _, id := range ids {
		b.waiting[id] = true
	}
	return b, err
}

// end stores the position, on condition that it is still what the batch began with.
func (b *batch) end() error {
	done, err := b.tx.ExecContext(b.ctx, `UPDATE onefold_projections SET position = $1, parked = $2 WHERE name = $3 AND version = $4 AND position = $5`,
		b.through, b.parked, b.def.Name, b.def.Version, b.position)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		return errors.Join(fmt.Errorf("%w: another transaction changed it from %d", ErrPosition, b.position), err)
	}
	return nil
}

// apply applies an event. A panic is an error.
func (b *batch) apply(e *eventstore.FeedEvent) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in Apply: %v", r)
		}
	}()
	return b.def.Apply(&Tx{b.ctx, b.tx, b.Projection, e}, e)
}

// all applies events with one savepoint, as is fast. Its release fails if Apply has ended the
// transaction, and the database would store each statement by itself.
func (b *batch) all(events []eventstore.FeedEvent) error {
	failed, broken := b.try("onefold_page", func() error { return b.pass(events) })
	return cmp.Or(failed, broken)
}

func (b *batch) pass(events []eventstore.FeedEvent) error {
	for i := range events {
		e := &events[i]
		if b.waiting[e.ID] {
			if b.parked >= b.o.MostParked {
				return b.errorOf(e, ErrFull)
			}
			if err := b.park(e, "", 0); err != nil {
				return err
			}
		} else if err := b.apply(e); err != nil {
			return b.errorOf(e, err)
		}
	}
	return nil
}

// each applies events with a savepoint for each. At an event that fails and cannot be parked, it undoes
// the append and sets failed.
func (b *batch) each(events []eventstore.FeedEvent) error {
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Position == events[0].Position {
			n++
		}
		parked, broken := b.parked, error(nil)
		failed, err := b.try("onefold_append", func() (failed error) {
			for i := range events[:n] {
				if failed, broken = b.one(&events[i]); failed != nil || broken != nil {
					return cmp.Or(failed, broken)
				}
			}
			return nil
		})
		if err := cmp.Or(broken, err); err != nil {
			return err
		}
		if failed != nil {
			b.failed, b.parked, b.through = failed, parked, events[0].Position-1
			return nil
		}
		events = events[n:]
	}
	return nil
}

// one applies or parks an event. failed is why it does neither, broken an error of the transaction.
func (b *batch) one(e *eventstore.FeedEvent) (failed, broken error) {
	reason, attempts := "", 0
	if !b.waiting[e.ID] {
		if failed, broken = b.try("onefold_event", func() error { return b.apply(e) }); failed == nil || broken != nil || b.ctx.Err() != nil {
			return failed, cmp.Or(broken, b.ctx.Err())
		}
		if passes(failed) {
			return b.errorOf(e, failed), nil
		}
		b.attempts[e.EventID]++
		if attempts = b.attempts[e.EventID]; b.o.ParkAfter <= 0 || attempts < b.o.ParkAfter {
			return b.errorOf(e, failed), nil
		}
		reason = reasonOf(failed)
	}
	if b.parked >= b.o.MostParked {
		return b.errorOf(e, errors.Join(ErrFull, failed)), nil
	}
	return nil, b.park(e, reason, attempts)
}

// passes reports whether a later attempt may succeed with the same event: the database gave up a
// transaction because of others, or lacks resources. Drivers of PostgreSQL tell the SQLSTATE, see
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
func passes(err error) bool {
	var failed interface{ SQLState() string }
	if !errors.As(err, &failed) {
		return false
	}
	switch state := failed.SQLState(); {
	case strings.HasPrefix(state, "40"): // a serialization failure or a deadlock
		return true
	case strings.HasPrefix(state, "53"), strings.HasPrefix(state, "58"): // a full disk, too little memory, an I/O error
		return true
	default:
		return state == "55P03" // lock_timeout
	}
}

func (b *batch) try(savepoint string, do func() error) (failed, broken error) {
	failed, broken = try(b.ctx, b.tx, savepoint, do)
	if broken != nil && b.ctx.Err() == nil {
		broken = fmt.Errorf("the transaction was ended by Apply, or the connection was lost: %w", errors.Join(failed, broken))
	}
	return failed, broken
}

// try runs a function with a savepoint. If that fails, its effects are undone, so that the transaction
// can go on, unless it is broken.
func try(ctx context.Context, tx *sql.Tx, savepoint string, do func() error) (failed, broken error) {
	exec := func(statement string) error {
		_, err := tx.ExecContext(ctx, statement+savepoint)
		return err
	}
	if err := exec("SAVEPOINT "); err != nil {
		return nil, err
	}
	if failed = do(); failed == nil {
		if failed = exec("RELEASE SAVEPOINT "); failed == nil {
			return nil, nil
		}
	}
	if broken = exec("ROLLBACK TO SAVEPOINT "); broken == nil {
		broken = exec("RELEASE SAVEPOINT ")
	}
	return failed, broken
}

func (b *batch) errorOf(e *eventstore.FeedEvent, err error) error {
	return &EventError{b.def.Name, b.def.Version, e.Position, e.EventKey, e.EventType, err}
}
