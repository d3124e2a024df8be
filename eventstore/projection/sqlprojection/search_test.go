package sqlprojection_test

import (
	"os"
	"strings"
	"testing"

	"github.com/onefold/onefold/eventstore/projection/sqlprojection"
	"github.com/onefold/onefold/eventstore/registry"
)

// search is full-text search as the guide shows it.
type search struct{ schema, insert, find string }

var searches = map[string]search{
	"sqlite": {`CREATE VIRTUAL TABLE {titles} USING fts5 (id UNINDEXED, title);
CREATE VIEW {search} AS SELECT id, title, {titles} AS query, rank FROM {titles}`,
		`INSERT INTO {titles} (id, title) VALUES ($1, $2)`,
		`SELECT id, title FROM search WHERE query MATCH $1 ORDER BY rank, id`},
	"postgres": {`CREATE TABLE {titles} (id text PRIMARY KEY, title text NOT NULL,
  words tsvector GENERATED ALWAYS AS (to_tsvector('english', title)) STORED);
CREATE INDEX {titles}_words ON {titles} USING gin (words);
CREATE VIEW {search} AS SELECT id, title, words FROM {titles}`,
		`INSERT INTO {titles} (id, title) VALUES ($1, $2)`,
		`SELECT id, title FROM search, websearch_to_tsquery('english', $1) AS query
WHERE words @@ query ORDER BY ts_rank(words, query) DESC, id`},
}

func (w *world) searchable(version int, s search) sqlprojection.Definition {
	return sqlprojection.Definition{Name: "titles", Version: version, Tables: []string{"titles", "search"}, Schema: s.schema,
		Apply: sqlprojection.Handlers(w.reg, registry.Do(func(tx *sqlprojection.Tx, e Acquired) error {
			_, err := tx.Exec(s.insert, tx.Event().EventKey.ID.ID, e.Title)
			return err
		}))}
}

// Views over tables of the version are switched and removed as tables are.
func TestSearch(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/guides/sql-projections.md")
	if err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, empty func() database) {
		w, d := newWorld(t), empty()
		for i, title := range []string{"Gardening", "Programming computers, programming", "Programming Pearls", "Ficciones"} {
			w.append(i+1, Acquired{title})
		}
		w.feed()
		s, db := searches[d.name], d.open(t, nil)
		for _, text := range []string{s.schema, s.find} {
			if !strings.Contains(string(guide), "\n"+text+"\n") {
				t.Errorf("the guide does not show\n%s", text)
			}
		}
		for version := 1; version <= 2; version++ {
			p, err := sqlprojection.New(w.store.Store, db, w.searchable(version, s), sqlprojection.Options{})
			w.must(err)
			_, err = p.CatchUp(w.ctx)
			w.must(err)
			for words, want := range map[string]string{
				"programming": "2,3",
				"computers":   "2",
				"nothing":     "",
				`"pearls"`:    "3",
			} {
				var ids []string
				rows, err := db.Query(s.find, words)
				w.must(err)
				for rows.Next() {
					var id, title string
					w.must(rows.Scan(&id, &title))
					ids = append(ids, id)
				}
				w.must(rows.Close())
				w.is(words, strings.Join(ids, ","), want)
			}
			if version == 2 {
				w.must(p.Remove(w.ctx, 1))
			}
		}
		tables := map[string]string{"sqlite": `SELECT name FROM sqlite_master WHERE name LIKE '%\_v1%' ESCAPE '\'`,
			"postgres": `SELECT relname FROM pg_class WHERE relname LIKE '%\_v1%' AND relnamespace = current_schema()::regnamespace`}
		w.is("what is left of version 1", w.rows(db, tables[d.name]), "")
	})
}
