//go:build duckdb && cgo

package duck

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
)

func openTest(t testing.TB, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// ask returns the rows of an answer, with values separated by bars.
func ask(t testing.TB, db *DB, query string) (rows []string) {
	t.Helper()
	err := db.Query(t.Context(), query, 0, func([]Column) error { return nil }, func(values []*string) error {
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = "NULL"
			if v != nil {
				texts[i] = *v
			}
		}
		rows = append(rows, strings.Join(texts, "|"))
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return rows
}

// attempt runs a query and returns its error.
func attempt(t *testing.T, db *DB, query string) error {
	return db.Query(t.Context(), query, 0, func([]Column) error { return nil }, func([]*string) error { return nil })
}

// The descriptions of the views match the views, with and without files.
func TestViewsTellTheirColumns(t *testing.T) {
	e := analytics.Event{EventKey: analytics.EventKey{SiteID: "a site/ü", EventID: "01KQ5N8G00AAAAAAAAAAAAAAAA"}, VisitorID: "v", Path: "/"}
	for what, files := range map[string][]string{"empty": nil, "of one event": writeEvents(t, t.TempDir(), []analytics.Event{e})} {
		db := openTest(t, Options{Events: files})
		for _, v := range Views() {
			var columns []string
			for _, c := range v.Columns {
				if c.Meaning == "" || v.Meaning == "" {
					t.Errorf("%s.%s means nothing", v.Name, c.Name)
				}
				columns = append(columns, c.Name+"|"+c.Type)
			}
			for i, is := range ask(t, db, "SELECT column_name, column_type FROM (DESCRIBE "+v.Name+")") {
				if i >= len(columns) || is != columns[i] && !strings.HasPrefix(columns[i], "goals|STRUCT[]") {
					t.Errorf("%s, %s: column %d is %s, told %v", what, v.Name, i, is, columns[min(i, len(columns)-1)])
				}
			}
			ask(t, db, "SELECT * FROM "+v.Name)
		}
		if n := ask(t, db, "SELECT count(*), any_value(site) FROM sessions"); n[0] != map[string]string{"empty": "0|NULL", "of one event": "1|a site/ü"}[what] {
			t.Errorf("%s: %v", what, n)
		}
	}
}

// A query from anyone can read the views, and reaches nothing else.
func TestQueriesOnlyRead(t *testing.T) {
	root := t.TempDir()
	e := analytics.Event{EventKey: analytics.EventKey{SiteID: "s", EventID: "01KQ5N8G00AAAAAAAAAAAAAAAA"}, VisitorID: "v", Path: "/"}
	file := writeEvents(t, root, []analytics.Event{e})[0]
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(root, "secret.csv")
	if err := os.WriteFile(secret, []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(root, "other")
	quoted := strings.ReplaceAll(file, "'", "''")
	db := openTest(t, Options{Events: []string{file}, TempDir: t.TempDir()})
	for _, query := range []string{
		"", ";", "--", "SELECT 1; SELECT 2", "SELECT 1; DROP VIEW events", "selec 1", "SELECT * FROM evnts", "SELECT 1) TO '" + other + "' --", "SELECT $1", "\x00", "SELECT '\xff'",
		"COPY (SELECT 1) TO '" + quoted + "' (USE_TMP_FILE false)", "EXPLAIN ANALYZE COPY (SELECT 1) TO '" + quoted + "' (USE_TMP_FILE false)", "COPY events TO '" + other + "'",
		"EXPORT DATABASE '" + other + "'", "ATTACH '" + other + "'", "INSTALL httpfs", "LOAD httpfs", "SET memory_limit='64GB'", "RESET allowed_paths", "PRAGMA enable_external_access=true",
		"SELECT * FROM read_csv('" + secret + "')", "SELECT * FROM '" + secret + "'", "SELECT * FROM read_text('/etc/hostname')", "SELECT * FROM glob('" + root + "/*')",
		"SELECT * FROM read_parquet('https://example.com/x.parquet')", "CREATE TABLE x AS SELECT 1", "CREATE OR REPLACE VIEW events AS SELECT 1", "DROP VIEW events", "DELETE FROM events",
		"CALL enable_logging('QueryLog')", "PREPARE p AS SELECT 1", "BEGIN", "SELECT getenv('HOME')", "SELECT * FROM query('COPY (SELECT 1) TO ''" + other + "''')", "EXPLAIN SELECT 1",
	} {
		if err := attempt(t, db, query); !errors.Is(err, ErrQuery) {
			t.Errorf("%q: %v", query, err)
		}
	}
	after, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was written, or %v", err)
	}
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another file was written: %v", err)
	}
	if got := ask(t, db, "SELECT count(*) FROM events"); got[0] != "1" {
		t.Error(got)
	}
	err = attempt(t, db, "SELECT path,\n  contry FROM events")
	if err == nil || !strings.Contains(err.Error(), "LINE 2:   contry FROM events\n          ^") || !strings.Contains(err.Error(), `"country"`) {
		t.Errorf("the message does not point at the place: %v", err)
	}
}

func TestWhatMayBeAsked(t *testing.T) {
	db := openTest(t, Options{})
	for query, want := range map[string]string{
		"SELECT 1;  ": "1", "FROM (VALUES (1, 'a'), (2, NULL)) ORDER BY ALL -- end": "1|a,2|NULL", "WITH x AS (SELECT 3 AS a) FROM x": "3",
		"SELECT i FROM range(3) t(i) ORDER BY i DESC": "2,1,0", "SELECT [1, 2], {'a': 'b'}, 1.50, DATE '2026-01-02', TIMESTAMPTZ '2026-01-02 03:04:05Z', 'x'::BLOB, NULL": "[1, 2]|{'a': b}|1.50|2026-01-02|2026-01-02 03:04:05+00|x|NULL",
		"DESCRIBE (SELECT 1 AS a)": "a|INTEGER|YES|NULL|NULL|NULL", "PIVOT (SELECT 'x' AS k, 2 AS v) ON k IN ('x', 'y') USING sum(v)": "2|NULL", "SELECT 1 AS a, 2 AS a": "1|2",
	} {
		if got := strings.Join(ask(t, db, query), ","); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// A query uses no more resources than it may.
func TestQueriesAreBounded(t *testing.T) {
	big := "SELECT count(*) FROM (SELECT DISTINCT hash(i) AS h, repeat(h::VARCHAR, 20) FROM range(3000000) t(i))"
	if err := attempt(t, openTest(t, Options{MemoryMB: 64, Threads: 1}), big); !errors.Is(err, ErrTooLarge) {
		t.Errorf("memory: %v", err)
	}
	if err := attempt(t, openTest(t, Options{MemoryMB: 64, Threads: 1, TempDir: t.TempDir(), TempMB: 16}), big); !errors.Is(err, ErrTooLarge) {
		t.Errorf("disk: %v", err)
	}
	endless := "SELECT count(*) FROM range(100000000000) a, range(100000000000) b"
	db := openTest(t, Options{Timeout: 50 * time.Millisecond})
	if err := attempt(t, db, endless); !errors.Is(err, ErrTimeout) {
		t.Errorf("time: %v", err)
	}
	if got := ask(t, db, "SELECT 1"); got[0] != "1" {
		t.Errorf("after a time-out: %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	db = openTest(t, Options{})
	err := db.Query(ctx, "SELECT i FROM range(100000000000) t(i), range(1000000000)", 0, func([]Column) error { cancel(); return nil }, func([]*string) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	n := 0
	if err := db.Query(t.Context(), "FROM range(100)", 7, func([]Column) error { return nil }, func([]*string) error { n++; return nil }); err != nil || n != 7 {
		t.Errorf("%d rows: %v", n, err)
	}
}

func TestOtherForms(t *testing.T) {
	out := filepath.Join(t.TempDir(), "it's out.parquet")
	db := openTest(t, Options{SaveTo: out})
	query := "SELECT i AS n, 'a\"b' AS s, NULL AS x, [i] AS l FROM range(2) t(i) ORDER BY i DESC"
	var objects []string
	if err := db.JSON(t.Context(), query, func(o string) error { objects = append(objects, o); return nil }); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(objects, "\n"); got != `{"n":1,"s":"a\"b","x":null,"l":[1]}`+"\n"+`{"n":0,"s":"a\"b","x":null,"l":[0]}` {
		t.Error(got)
	}
	if n, err := db.Save(t.Context(), query); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if got := ask(t, db, "SELECT n, s FROM '"+strings.ReplaceAll(out, "'", "''")+"'"); len(got) != 2 || got[0] != `1|a"b` {
		t.Error(got)
	}
	if plan, err := db.Explain(t.Context(), query); err != nil || !strings.Contains(plan, "RANGE") {
		t.Error(plan, err)
	}
	if _, err := openTest(t, Options{}).Save(t.Context(), query); !errors.Is(err, ErrQuery) {
		t.Errorf("saved to nowhere: %v", err)
	}
}

// The guide's queries run.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/warehouse-sql.md")
	if err != nil {
		t.Fatal(err)
	}
	db := openTest(t, Options{})
	asked := 0
	for block := range strings.SplitSeq(string(text), "\n\n") {
		if !strings.HasPrefix(block, "    ") || !strings.Contains(block, "SELECT ") {
			continue
		}
		if _, quoted, found := strings.Cut(block, "onefold query \""); found {
			block, _, _ = strings.Cut(quoted, "\"")
		}
		ask(t, db, block)
		asked++
	}
	if asked != 4 {
		t.Errorf("%d queries", asked)
	}
}
