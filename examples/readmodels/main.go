// Command readmodels maintains read models of a library in SQLite, with full-text search.
// docs/guides/sql-projections.md begins with it.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "modernc.org/sqlite"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/embedded"
	"github.com/onefold/onefold/eventstore/projection/sqlprojection"
	"github.com/onefold/onefold/eventstore/registry"
)

// The events of a copy of a book.
type (
	Acquired struct{ Title string }
	Lent     struct{ Member string }
)

const schema = `
	CREATE TABLE {books} (id text PRIMARY KEY, title text NOT NULL, lent_to text NOT NULL, times integer NOT NULL);
	CREATE INDEX {books}_by_member ON {books} (lent_to);
	CREATE VIRTUAL TABLE {titles} USING fts5 (id UNINDEXED, title);
	CREATE VIEW {search} AS SELECT id, title, {titles} AS query, rank FROM {titles}`

// library keeps a row for each book, and an index of the words in titles.
func library(r *registry.Registry) sqlprojection.Definition {
	return sqlprojection.Definition{
		Name: "library", Version: 1, Tables: []string{"books", "titles", "search"}, Schema: schema,
		Apply: sqlprojection.Handlers(r,
			registry.Do(func(tx *sqlprojection.Tx, e Acquired) error {
				id := tx.Event().EventKey.ID.ID
				if _, err := tx.Exec(`INSERT INTO {books} (id, title, lent_to, times) VALUES ($1, $2, '', 0)`, id, e.Title); err != nil {
					return err
				}
				_, err := tx.Exec(`INSERT INTO {titles} (id, title) VALUES ($1, $2)`, id, e.Title)
				return err
			}),
			registry.Do(func(tx *sqlprojection.Tx, e Lent) error {
				_, err := tx.Exec(`UPDATE {books} SET lent_to = $1, times = times + 1 WHERE id = $2`, e.Member, tx.Event().EventKey.ID.ID)
				return err
			}),
		),
	}
}

// find prints the books whose titles contain words that begin with a text.
func find(ctx context.Context, db *sql.DB, text string, out io.Writer) error {
	query := `"` + strings.ReplaceAll(text, `"`, `""`) + `"*` // quoted: otherwise it could be an invalid query
	rows, err := db.QueryContext(ctx, `SELECT b.title, b.lent_to, b.times FROM search s JOIN books b ON b.id = s.id
		WHERE s.query MATCH $1 ORDER BY s.rank, b.id`, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var title, lentTo string
		var times int
		if err := rows.Scan(&title, &lentTo, &times); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: lent to %s, %d times\n", title, lentTo, times)
	}
	return rows.Err()
}

// lend appends events, and waits until the read models include them.
func lend(ctx context.Context, store *eventstore.Store, r *registry.Registry, books *sqlprojection.Projection) error {
	before, err := books.Position(ctx)
	if err != nil {
		return err
	}
	events, err := r.EncodeAll(eventstore.Envelope{}, Acquired{"The Art of Computer Programming"}, Lent{"ada"}, Lent{"grace"})
	if err != nil {
		return err
	}
	id := eventstore.ID{Type: "copy", ID: "taocp-1"}
	c, err := store.Append(ctx, id, eventstore.NoStream(), events)
	if err != nil {
		return err
	}
	return books.WaitForEvent(ctx, eventstore.EventKey{ID: id, Seq: c.Version}, before)
}

func run(ctx context.Context, dir string, out io.Writer) (err error) {
	app, err := embedded.Open(ctx, filepath.Join(dir, "events"), embedded.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "library.db")+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r := registry.New(registry.Options{})
	registry.Register[Acquired](r, "Acquired", 1)
	registry.Register[Lent](r, "Lent", 1)
	books, err := sqlprojection.New(app.Store, db, library(r), sqlprojection.Options{})
	if err = errors.Join(err, r.Check()); err == nil {
		err = errors.Join(app.Start(ctx), books.Start(ctx)) // app writes the feed
	}
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	var failed error
	wait.Go(func() { failed = books.Run(running) }) // errors that are retried go to Options.Feed.Status
	defer func() {
		stop()
		wait.Wait()
		err = errors.Join(err, failed)
	}()
	if err := lend(ctx, app.Store, r, books); err != nil {
		return err
	}
	return find(ctx, db, "prog", out)
}

func main() {
	dir, err := os.MkdirTemp("", "readmodels")
	if err == nil {
		err = errors.Join(run(context.Background(), dir, os.Stdout), os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "readmodels:", err)
		os.Exit(1)
	}
}
