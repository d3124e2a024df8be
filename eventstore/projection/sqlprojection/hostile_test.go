package sqlprojection_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

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
