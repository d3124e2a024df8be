package sqlprojection_test

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection/sqlprojection"
	"github.com/onefold/onefold/eventstore/registry"
)

// The schema and the query that the guide gives to sqlc. $1 works for SQLite as well.
const (
	sqlcSchema = `CREATE TABLE "{books}" (id text PRIMARY KEY, title text NOT NULL);`
	sqlcQuery  = `-- name: AddBook :exec
INSERT INTO "{books}" (id, title) VALUES ($1, $2);`
)

// DBTX, New, Queries and AddBook are the code that sqlc 1.31.1 generates from this schema and query.
type DBTX interface {
	ExecContext(context.Context, string, ...interface{}) (sql.Result, error)
	PrepareContext(context.Context, string) (*sql.Stmt, error)
	QueryContext(context.Context, string, ...interface{}) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...interface{}) *sql.Row
}

func New(db DBTX) *Queries {
	return &Queries{db: db}
}

type Queries struct {
	db DBTX
}

const addBook = `-- name: AddBook :exec
INSERT INTO "{books}" (id, title) VALUES ($1, $2)
`

type AddBookParams struct {
	ID    string
	Title string
}

func (q *Queries) AddBook(ctx context.Context, arg AddBookParams) error {
	_, err := q.db.ExecContext(ctx, addBook, arg.ID, arg.Title)
	return err
}

func TestSqlc(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/guides/sql-projections.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{sqlcSchema, sqlcQuery} {
		if !strings.Contains(string(guide), "\n"+text+"\n") {
			t.Errorf("the guide does not show\n%s", text)
		}
	}
	onEach(t, func(t *testing.T, empty func() database) {
		w := newWorld(t)
		w.append(1, Acquired{"Sand"})
		w.feed()
		db := empty().open(t, nil)
		p, err := sqlprojection.New(w.store.Store, db, sqlprojection.Definition{Name: "books", Version: 1, Tables: []string{"books"}, Schema: sqlcSchema,
			Apply: sqlprojection.Handlers(w.reg, registry.Do(func(tx *sqlprojection.Tx, e Acquired) error {
				return New(tx).AddBook(tx.Context(), AddBookParams{ID: tx.Event().EventKey.ID.ID, Title: e.Title})
			}))}, sqlprojection.Options{})
		w.must(err)
		_, err = p.CatchUp(w.ctx)
		w.must(err)
		w.is("books", w.rows(db, `SELECT id, title FROM books`), "1 Sand\n")
	})
}

// Prepared statements, queries and rows of a Tx name the tables of the version.
func TestTx(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w := newWorld(t)
		w.append(1, Acquired{"Sand"})
		w.append(2, Acquired{"Emma"})
		w.feed()
		db := empty().open(t, nil)
		d := sqlprojection.Definition{Name: "counts", Version: 1, Tables: []string{"counts"}, Schema: `CREATE TABLE {counts} (n bigint)`,
			Apply: func(tx *sqlprojection.Tx, _ *eventstore.FeedEvent) error {
				var n int
				if err := tx.QueryRow(`SELECT COUNT(*) FROM {counts}`).Scan(&n); err != nil {
					return err
				}
				rows, err := tx.Query(`SELECT n FROM {counts}`)
				if err != nil {
					return err
				}
				for rows.Next() {
					n++
				}
				if err := rows.Close(); err != nil {
					return err
				}
				insert, err := tx.PrepareContext(tx.Context(), `INSERT INTO {counts} (n) VALUES ($1)`)
				if err != nil {
					return err
				}
				_, err = insert.ExecContext(tx.Context(), n)
				return err
			}}
		p, err := sqlprojection.New(w.store.Store, db, d, sqlprojection.Options{})
		w.must(err)
		_, err = p.CatchUp(w.ctx)
		w.must(err)
		w.is("counts", w.rows(db, p.SQL(`SELECT n FROM {counts} ORDER BY n`)), "0\n2\n")
	})
}
