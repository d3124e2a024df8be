package sqlprojection_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/eventstore/projection/sqlprojection"
)

// raw stores payloads as they are.
func raw(tx *sqlprojection.Tx, e *eventstore.FeedEvent) error {
	var body any = append([]byte{}, e.Payload...) // not NULL
	if e.EventType == "text" {
		body = string(e.Payload)
	}
	_, err := tx.Exec(`INSERT INTO {raw} (position, body) VALUES ($1, $2)`, e.Position, body)
	return err
}

// put appends events with a payload as it is.
func (w *world) put(id eventstore.ID, eventType, payload string) {
	w.Helper()
	_, err := w.store.Append(w.ctx, id, eventstore.Any(), []eventstore.NewEvent{{Type: eventType, Payload: []byte(payload)}})
	w.must(err)
}

// Payloads that a column cannot have are errors that name the event; they can be parked, and long or
// strange names do not prevent that.
func TestHostileEvents(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w, d := newWorld(t), empty()
		db := d.open(t, nil)
		column := map[string]string{"sqlite": "blob CHECK (typeof(body) = 'blob')", "postgres": "bytea"}[d.name]
		strange := eventstore.ID{Type: strings.Repeat("\x00", 64), ID: strings.Repeat("é", 127) + "\x00'"}
		w.put(strange, "bytes", "\x00\xff")
		w.put(copyOf(1), "bytes", strings.Repeat("\xff\x00'", 390<<10/3))
		w.put(copyOf(2), "bytes", "")
		w.put(strange, "text", "\x00\xff")
		w.put(strange, strings.Repeat("\x00", 127)+"é"[:0]+"'", "later")
		w.put(copyOf(3), "bytes", "'; DROP TABLE raw_v1; --{raw}$1")
		w.feed()
		def := sqlprojection.Definition{Name: strings.Repeat("'", 64), Version: 1, Tables: []string{"raw"}, Apply: raw,
			Schema: `CREATE TABLE {raw} (position bigint PRIMARY KEY, body ` + column + `)`}
		p, err := sqlprojection.New(w.store.Store, db, def, sqlprojection.Options{})
		w.must(err)
		_, err = p.CatchUp(w.ctx)
		failed := (*sqlprojection.EventError)(nil)
		if !errors.As(err, &failed) || failed.Position != 4 || failed.Event.ID != strange || failed.Event.Seq != 2 || failed.EventType != "text" {
			t.Errorf("%v", err)
		}
		t.Log(err)
		p, err = sqlprojection.New(w.store.Store, db, def, sqlprojection.Options{ParkAfter: 1})
		w.must(err)
		if _, err = p.CatchUp(w.ctx); !errors.Is(err, sqlprojection.ErrParked) {
			t.Errorf("%v", err)
		}
		parked, err := p.Parked(w.ctx)
		w.must(err)
		if len(parked) != 2 || parked[0].Reason == "" || parked[0].EventKey.ID != strange || len(parked[1].EventType) != 128 {
			t.Errorf("%+v", parked)
		}
		w.is("rows", w.rows(db, `SELECT position, length(body) FROM raw_v1 ORDER BY position`), fmt.Sprintf("1 2\n2 %d\n3 0\n6 31\n", 390<<10/3*3))
		n, err := p.Discard(w.ctx, strange, copyOf(2))
		if w.must(err); n != 2 {
			t.Errorf("%d discarded", n)
		}
		_, err = p.CatchUp(w.ctx)
		w.must(err)
	})
}

// An error of which Apply says nothing is found, also at the last event of a page, where no other event
// fails because of it.
func TestSwallowedErrors(t *testing.T) {
	d := newPostgres(t)
	w := newWorld(t)
	w.append(1, Acquired{"Sand"})
	w.append(1, Faulty{"swallow"})
	w.feed()
	db := d.open(t, nil)
	_, err := w.project(db, 1, sqlprojection.Options{}).CatchUp(w.ctx)
	failed := (*sqlprojection.EventError)(nil)
	if !errors.As(err, &failed) || failed.Position != 2 {
		t.Errorf("%v", err)
	}
	w.is("row", w.rows(db, `SELECT position FROM onefold_projections`), "1\n")
	if _, err := w.project(db, 1, sqlprojection.Options{ParkAfter: 1}).CatchUp(w.ctx); !errors.Is(err, sqlprojection.ErrParked) {
		t.Errorf("%v", err)
	}
}

// A definition whose Apply ends the transaction makes no progress, instead of losing effects.
func TestEndedTransaction(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		for _, end := range []string{"COMMIT", "ROLLBACK"} {
			w := newWorld(t)
			w.lend()
			db := empty().open(t, nil)
			d := w.library(1)
			apply := d.Apply
			d.Apply = func(tx *sqlprojection.Tx, e *eventstore.FeedEvent) error {
				if e.Position == 3 {
					_, _ = tx.Exec(end)
					return nil
				}
				return apply(tx, e)
			}
			p, err := sqlprojection.New(w.store.Store, db, d, sqlprojection.Options{ParkAfter: 1, Feed: projection.SubscribeOptions{AtOnce: 1}})
			w.must(err)
			for range 2 {
				if _, err := p.CatchUp(w.ctx); err == nil || !strings.Contains(err.Error(), "the transaction was ended by Apply") {
					t.Errorf("%s: %v", end, err)
				}
				w.is("row", w.rows(db, `SELECT position, parked FROM onefold_projections`), "2 0\n")
			}
		}
	})
}

// Two aggregates of one append fail. Each of them is parked after its own attempts: those of the one do
// not begin again when the other one fails.
func TestAppendWithSeveralFailures(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w, db := newWorld(t), empty().open(t, nil)
		encoded, err := w.reg.EncodeAll(eventstore.Envelope{}, Faulty{"sql"})
		w.must(err)
		parts := []eventstore.AppendTo{{ID: copyOf(1), Expected: eventstore.Any(), Events: encoded}, {ID: copyOf(2), Expected: eventstore.Any(), Events: encoded}}
		_, err = w.store.AppendAll(w.ctx, parts)
		w.must(err)
		w.append(3, Acquired{"Emma"})
		w.feed()
		errs := w.runUntil(db, 1, 8, sqlprojection.Options{ParkAfter: 3})
		if last := errs[len(errs)-1]; !errors.Is(last, sqlprojection.ErrParked) {
			t.Errorf("the events block: %v", last)
		}
		w.is("tables", w.dump(db, "_v1"), "3 Emma  0\n--\n")
		w.parked(w.project(db, 1, sqlprojection.Options{}), "1 copy/1 1 Faulty 5, 1 copy/2 1 Faulty 3")
	})
}

// The event store was restored from a backup that lacks a parked event, or has another one in its
// place. Retry leaves it parked with that reason.
func TestRetryOfMissingEvent(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		d := empty()
		w, db := newWorld(t), d.open(t, nil)
		w.append(1, Acquired{"Sand"}, Faulty{"sql"})
		w.feed()
		if _, err := w.project(db, 1, sqlprojection.Options{ParkAfter: 1}).CatchUp(w.ctx); !errors.Is(err, sqlprojection.ErrParked) {
			t.Errorf("%v", err)
		}
		for _, events := range [][]any{{Acquired{"Sand"}}, {Acquired{"Sand"}, Lent{"ada"}}} {
			w = newWorld(t)
			w.append(1, events...)
			w.feed()
			p := w.project(db, 1, sqlprojection.Options{})
			ctx, stop := context.WithTimeout(w.ctx, 10*time.Second)
			n, err := p.Retry(ctx)
			stop()
			if w.must(err); n != 0 {
				t.Errorf("%d applied", n)
			}
			parked, err := p.Parked(w.ctx)
			if w.must(err); len(parked) != 1 || !strings.Contains(parked[0].Reason, "the event store no longer has event") {
				t.Errorf("%+v", parked)
			}
		}
	})
}

// An error of the database that has nothing to do with the event, such as a lock that another program
// holds, blocks the event. It is not parked, because a later attempt succeeds.
func TestTransientErrorsParkNothing(t *testing.T) {
	d := newPostgres(t)
	w := newWorld(t)
	w.append(1, Acquired{"Sand"})
	w.feed()
	db := d.open(t, nil)
	db.SetMaxOpenConns(1)
	_, err := db.Exec(`SET lock_timeout = '20ms'`) // of the one connection
	w.must(err)
	p := w.project(db, 1, sqlprojection.Options{ParkAfter: 1})
	w.must(p.Start(w.ctx))
	other, err := d.open(t, nil).Begin()
	w.must(err)
	_, err = other.Exec(`LOCK TABLE books_v1 IN ACCESS EXCLUSIVE MODE`)
	w.must(err)
	failed := (*sqlprojection.EventError)(nil)
	if _, err := p.CatchUp(w.ctx); !errors.As(err, &failed) || failed.Position != 1 {
		t.Errorf("%v", err)
	}
	w.must(other.Rollback())
	w.parked(p, "")
	_, err = p.CatchUp(w.ctx)
	w.must(err)
	w.is("tables", w.dump(db, ""), "1 Sand  0\n--\n")
}
