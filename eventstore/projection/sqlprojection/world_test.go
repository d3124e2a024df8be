package sqlprojection_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/eventstore/projection/sqlprojection"
	"github.com/onefold/onefold/eventstore/registry"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
)

// The events of a copy of a book.
type (
	Acquired struct{ Title string }
	Lent     struct{ Member string }
	Returned struct{}
	Faulty   struct{ Kind string } // cannot be applied until it is fixed
)

// tester is what tests and benchmarks have in common.
type tester interface {
	enginetest.T
	Fatal(args ...any)
}

// world is an event store in memory with a library.
type world struct {
	tester
	ctx   context.Context
	store *eventstoretest.Store
	reg   *registry.Registry
	fixed atomic.Bool
}

func newWorld(t tester) *world {
	w := &world{tester: t, ctx: context.Background(), store: eventstoretest.New(t, eventstore.Options{}), reg: registry.New(registry.Options{})}
	registry.Register[Acquired](w.reg, "Acquired", 1)
	registry.Register[Lent](w.reg, "Lent", 1)
	registry.Register[Returned](w.reg, "Returned", 1)
	registry.Register[Faulty](w.reg, "Faulty", 1)
	return w
}

func (w *world) must(err error) {
	if err != nil {
		w.Helper()
		w.Fatal(err)
	}
}

func copyOf(n any) eventstore.ID { return eventstore.ID{Type: "copy", ID: fmt.Sprint(n)} }

func (w *world) append(n any, events ...any) {
	w.Helper()
	encoded, err := w.reg.EncodeAll(eventstore.Envelope{}, events...)
	w.must(err)
	_, err = w.store.Append(w.ctx, copyOf(n), eventstore.Any(), encoded)
	w.must(err)
}

// feed puts what was appended into the feed.
func (w *world) feed() {
	w.Helper()
	source, err := streamsource.OfTable(w.ctx, w.store.DB, w.store.DB, w.store.Table.Name())
	w.must(err)
	worker, err := fold.NewWorker(w.store.Table, source, []*fold.Fold{eventstore.FeedFold()}, fold.Options{
		Logger: slog.New(slog.DiscardHandler), Clock: w.store.DB.Now,
		Sleep: func(ctx context.Context, _ time.Duration) error { w.store.Advance(time.Second); return ctx.Err() },
	})
	w.must(err)
	w.must(worker.Drain(w.ctx))
}

const librarySchema = `
CREATE TABLE {books} (id text PRIMARY KEY, title text NOT NULL, lent_to text NOT NULL, times bigint NOT NULL);
CREATE TABLE {members} (member text PRIMARY KEY, lent bigint NOT NULL, story text NOT NULL);
CREATE INDEX {books}_by_member ON {books} (lent_to)`

var errFaulty = errors.New("a faulty event")

// library counts lent copies by member, across streams. Applying an event twice, or in another order,
// changes it.
func (w *world) library(version int) sqlprojection.Definition {
	return sqlprojection.Definition{
		Name: "library", Version: version, Tables: []string{"books", "members"}, Schema: librarySchema,
		Apply: sqlprojection.Handlers(w.reg,
			registry.Do(func(tx *sqlprojection.Tx, e Acquired) error {
				_, err := tx.Exec(`INSERT INTO {books} (id, title, lent_to, times) VALUES ($1, $2, '', 0) ON CONFLICT (id) DO UPDATE SET title = excluded.title`, tx.Event().EventKey.ID.ID, e.Title)
				return err
			}),
			registry.Do(func(tx *sqlprojection.Tx, e Lent) error {
				if _, err := tx.Exec(`UPDATE {books} SET lent_to = $1, times = times + 1 WHERE id = $2`, e.Member, tx.Event().EventKey.ID.ID); err != nil {
					return err
				}
				_, err := tx.Exec(`INSERT INTO {members} (member, lent, story) VALUES ($1, 1, $2)
					ON CONFLICT (member) DO UPDATE SET lent = {members}.lent + 1, story = {members}.story || excluded.story`, e.Member, tx.Event().EventKey.ID.ID+" ")
				return err
			}),
			registry.Do(func(tx *sqlprojection.Tx, _ Returned) error {
				_, err := tx.Exec(`UPDATE {books} SET lent_to = '' WHERE id = $1`, tx.Event().EventKey.ID.ID)
				return err
			}),
			registry.Do(w.faulty),
		),
	}
}

func (w *world) faulty(tx *sqlprojection.Tx, e Faulty) error {
	if _, err := tx.Exec(`INSERT INTO {books} (id, title, lent_to, times) VALUES ($1, 'half', '', 0)
		ON CONFLICT (id) DO UPDATE SET title = 'half'`, tx.Event().EventKey.ID.ID); err != nil {
		return err
	}
	if w.fixed.Load() {
		return nil
	}
	switch e.Kind {
	case "panic":
		panic("at the \x00 disco \xff")
	case "sql":
		_, err := tx.Exec(`INSERT INTO nowhere VALUES (1)`)
		return err
	case "swallow": // PostgreSQL aborts the transaction, of which Apply says nothing
		_, err := tx.Exec(`INSERT INTO nowhere VALUES (1)`)
		if err == nil {
			return errors.New("there is a table nowhere")
		}
		return nil
	}
	return errFaulty
}

func (w *world) project(db *sql.DB, version int, o sqlprojection.Options) *sqlprojection.Projection {
	w.Helper()
	p, err := sqlprojection.New(w.store.Store, db, w.library(version), o)
	w.must(err)
	return p
}

// dump returns the rows of the library's tables with a suffix, "" for the views, and the position.
func (w *world) dump(db *sql.DB, suffix string) string {
	w.Helper()
	return w.rows(db, `SELECT id, title, lent_to, times FROM books`+suffix+` ORDER BY id`) + "--\n" +
		w.rows(db, `SELECT member, lent, story FROM members`+suffix+` ORDER BY member`)
}

func (w *world) rows(db *sql.DB, query string) string {
	w.Helper()
	rows, err := db.Query(query)
	w.must(err)
	defer rows.Close()
	columns, err := rows.Columns()
	w.must(err)
	var b strings.Builder
	for rows.Next() {
		values, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		w.must(rows.Scan(to...))
		fmt.Fprintln(&b, values...)
	}
	w.must(rows.Err())
	return b.String()
}

func (w *world) is(what, have, want string) {
	w.Helper()
	if have != want {
		w.Errorf("%s:\n%s\nwant\n%s", what, have, want)
	}
}
