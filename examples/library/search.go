package main

import (
	"errors"
	"html/template"
	"net/http"
	"strings"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection/sqlprojection"
	"github.com/onefold/onefold/eventstore/registry"
)

const schema = `
	CREATE TABLE {copies} (id text PRIMARY KEY, title text NOT NULL, free boolean NOT NULL);
	CREATE INDEX {copies}_by_title ON {copies} (title);
	CREATE VIRTUAL TABLE {titles} USING fts5 (title);
	CREATE VIEW {search} AS SELECT title, {titles} AS query, rank FROM {titles}`

// catalog keeps a row for each copy, and an index of the words in titles.
func catalog(r *registry.Registry) sqlprojection.Definition {
	return sqlprojection.Definition{
		Name: "catalog", Version: 1, Tables: []string{"copies", "titles", "search"}, Schema: schema,
		Only: []eventstore.FeedOption{eventstore.OfAggregateType("copy")},
		Apply: sqlprojection.Handlers(r,
			registry.Do(func(tx *sqlprojection.Tx, e Acquired) error {
				if _, err := tx.Exec(`INSERT INTO {titles} (title) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM {copies} WHERE title = $1)`, e.Title); err != nil {
					return err
				}
				_, err := tx.Exec(`INSERT INTO {copies} (id, title, free) VALUES ($1, $2, true)`, tx.Event().EventKey.ID.ID, e.Title)
				return err
			}),
			registry.Do(func(tx *sqlprojection.Tx, _ Lent) error { return free(tx, false) }),
			registry.Do(func(tx *sqlprojection.Tx, _ Offered) error { return free(tx, false) }),
			registry.Do(func(tx *sqlprojection.Tx, _ Returned) error { return free(tx, true) }),
			registry.Do(func(tx *sqlprojection.Tx, _ Withdrawn) error { return free(tx, true) }),
		),
	}
}

func free(tx *sqlprojection.Tx, is bool) error {
	_, err := tx.Exec(`UPDATE {copies} SET free = $1 WHERE id = $2`, is, tx.Event().EventKey.ID.ID)
	return err
}

// found is a title on the page.
type found struct {
	Title        string
	Copies, Free int
}

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Library</title>
<h1>Library</h1>
<form role="search"><input name="q" type="search" value="{{.Query}}" aria-label="Words of a title" autofocus> <button>Search</button></form>
{{if .Found}}<table><tr><th>Title<th>Copies<th>Free{{range .Found}}<tr><td>{{.Title}}<td>{{.Copies}}<td>{{.Free}}{{end}}</table>
{{else if .Query}}<p>No title has words that begin like this.{{end}}
`))

// ServeHTTP serves the search page.
func (l *Library) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var view struct {
		Query string
		Found []found
	}
	if view.Query = strings.TrimSpace(r.FormValue("q")); view.Query != "" {
		var err error
		if view.Found, err = l.search(r, view.Query); err != nil {
			http.Error(w, "The catalog cannot be read: "+err.Error(), http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Execute(w, view) // the reader may have gone
}

// search returns up to 20 titles with words that begin like those of a text.
func (l *Library) search(r *http.Request, text string) (all []found, err error) {
	words := strings.Fields(strings.ReplaceAll(text, `"`, ` `))
	for i, word := range words {
		words[i] = `"` + word + `"*` // quoted: otherwise it could be an invalid query
	}
	rows, err := l.sql.QueryContext(r.Context(), `SELECT s.title, count(*), sum(c.free) FROM search s JOIN copies c ON c.title = s.title
		WHERE s.query MATCH $1 GROUP BY s.title ORDER BY min(s.rank), s.title LIMIT 20`, strings.Join(words, " "))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var f found
		if err := rows.Scan(&f.Title, &f.Copies, &f.Free); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, rows.Err()
}
