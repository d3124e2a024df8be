//go:build duckdb && cgo

package querycli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/onefold/onefold/warehouse"
)

// remote is a warehouse that appears to be remote.
type remote struct {
	warehouse.Objects
	opened []string
}

func (r *remote) Open(ctx context.Context, name string) (warehouse.Object, error) {
	if strings.HasSuffix(name, ".parquet") {
		r.opened = append(r.opened, name)
	}
	return r.Objects.Open(ctx, name)
}

// fill creates a warehouse of page views of two sites, one per hour for three days.
func fill(t *testing.T, dir string) *warehouse.Warehouse {
	t.Helper()
	objects, err := warehouse.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, err := warehouse.Open(t.Context(), objects, warehouse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	entry := &warehouse.Entry{Why: "test"}
	for _, site := range []string{"blog", "the shop"} {
		for day := range 3 {
			var rows []warehouse.Row
			start := time.Date(2026, 4, 20+day, 0, 0, 0, 0, time.UTC)
			for hour := range 24 {
				at := start.Add(time.Duration(hour) * time.Hour).UnixMilli()
				rows = append(rows, &warehouse.EventRow{Time: at, EventID: fmt.Sprintf("%026d", at), VisitorID: "v", Kind: "pageview", Path: "/\x1b[31m", EventClient: warehouse.EventClient{Country: "DE"}, ZoneMinutes: 330})
			}
			f, ok, err := w.WriteFile(t.Context(), warehouse.PartitionOf(warehouse.Events, site, start.UnixMilli()), warehouse.Sorted(rows))
			if err != nil || !ok {
				t.Fatal(err)
			}
			entry.Add = append(entry.Add, f)
		}
	}
	if err := w.Commit(t.Context(), w.Version(), entry); err != nil {
		t.Fatal(err)
	}
	return w
}

// console runs the command with a given standard input.
type console struct {
	*testing.T
	Env
	remote *remote
}

func newConsole(t *testing.T, dir string) *console {
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
	c := &console{T: t, remote: &remote{}}
	c.Beside = dir
	c.Objects = func(_ context.Context, url string) (warehouse.Objects, error) {
		path, far := strings.CutPrefix(url, "far://")
		d, err := warehouse.OpenDir(path)
		if !far {
			return d, err
		}
		c.remote.Objects = d
		return c.remote, err
	}
	return c
}

func (c *console) run(in string, args ...string) (stdout, stderr string, err error) {
	c.Helper()
	var out, log bytes.Buffer
	e := c.Env
	e.In, e.Out, e.Err = strings.NewReader(in), &out, &log
	var cli struct {
		Query Query `cmd:""`
	}
	parser, err := kong.New(&cli, kong.BindTo(c.Context(), (*context.Context)(nil)), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		c.Fatal(err)
	}
	command, err := parser.Parse(append([]string{"query"}, args...))
	if err != nil {
		return "", "", err
	}
	err = command.Run(&e)
	return out.String(), log.String(), err
}

func (c *console) want(want, in string, args ...string) {
	c.Helper()
	if got, _, err := c.run(in, args...); got != want || err != nil {
		c.Errorf("%q: got\n%s\n%v; want\n%s", args, got, err, want)
	}
}

func TestQuery(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a warehouse")
	fill(t, dir)
	c := newConsole(t, dir)
	byDay := "SELECT site, day, count(*) AS views, NULL AS x FROM events WHERE site = 'blog' GROUP BY ALL ORDER BY day"
	c.want("site,day,views,x\nblog,2026-04-20,19,\nblog,2026-04-21,24,\nblog,2026-04-22,24,\nblog,2026-04-23,5,\n", "", "--format", "csv", byDay)
	c.want("site  day         views  x\n────  ──────────  ─────  ─\nblog  2026-04-20     19  ∅\nblog  2026-04-21     24  ∅\n(first 2 rows only; raise --limit to see more, or write all with --format csv)\n", byDay, "--limit", "2", "-")
	c.want("[\n"+`{"site":"blog","day":"2026-04-21","views":24,"x":null}`+"\n]\n", byDay, "--format", "json", "--from", "2026-04-21", "--to", "2026-04-21")
	c.want("[]\n", "", "--format", "json", "SELECT * FROM readings")
	c.want("path\n──────\n/·[31m\n", "", "SELECT DISTINCT path FROM events")
	c.want("site,n\nthe shop,72\n", "", "--format", "csv", "--site", "the shop", "SELECT site, count(*) AS n FROM events GROUP BY ALL")

	file := filepath.Join(t.TempDir(), "query.sql")
	if err := os.WriteFile(file, []byte("-- visits\n"+byDay+";\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.parquet")
	if _, said, err := c.run("", "--format", "parquet", "--out", out, "--file", file); err != nil || !strings.HasPrefix(said, "4 rows in ") {
		t.Errorf("%s, %v", said, err)
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) != 1 || left[0].Name() != "out.parquet" {
		t.Errorf("%v, %v", left, err)
	}
	c.want("", "", "--format", "csv", "--out", out, byDay)
	if text, err := os.ReadFile(out); err != nil || !strings.HasPrefix(string(text), "site,day") {
		t.Errorf("%s, %v", text, err)
	}
	if plan, _, err := c.run("", "--explain", byDay); err != nil || !strings.Contains(plan, "READ_PARQUET") {
		t.Errorf("%s, %v", plan, err)
	}
}

// Only the needed files are copied, each once, within the limit of the cache.
func TestCopies(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir)
	c := newConsole(t, "far://"+dir)
	query := "SELECT count(*) FROM events"
	c.want("count_star()\n24\n", "", "--format", "csv", "--site", "blog", "--from", "2026-04-21", "--to", "2026-04-21", query)
	if n := len(c.remote.opened); n != 3 { // files of the days before and after are needed too
		t.Errorf("%d files were read: %v", n, c.remote.opened)
	}
	c.want("count_star()\n144\n", "", "--format", "csv", query)
	c.want("count_star()\n144\n", "", "--format", "csv", query)
	if n := len(c.remote.opened); n != 6 {
		t.Errorf("%d files were read: %v", n, c.remote.opened)
	}
	if _, _, err := c.run("", "--cache", "0", query); err == nil || !strings.HasPrefix(err.Error(), "too_large: ") {
		t.Errorf("no room: %v", err)
	}
	old := time.Now().Add(-2 * inUse)
	walk := func(do func(string)) {
		if err := filepath.WalkDir(os.Getenv("XDG_CACHE_HOME"), func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				do(path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	walk(func(path string) {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	})
	(&cache{dir: os.Getenv("XDG_CACHE_HOME"), most: 1}).trim()
	walk(func(path string) { t.Errorf("%s is left", path) })
}

// Files that are merged into others after they were listed are listed again.
func TestFilesThatMove(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir)
	c := newConsole(t, dir)
	query := Query{SQL: "SELECT count(*) AS n FROM events", Format: "csv", Limit: 1, Memory: 256, Temp: 16, Timeout: time.Minute}
	p, err := query.open(t.Context(), &c.Env)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	e := c.Env
	e.Out = &out
	files := p.w.Files()
	if err := os.Remove(filepath.Join(dir, files[0].Path)); err != nil {
		t.Fatal(err)
	}
	if err := query.ask(t.Context(), &e, p, query.SQL); !errors.Is(err, errMoved) || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestBadQueries(t *testing.T) {
	dir := t.TempDir()
	c := newConsole(t, filepath.Join(dir, "nowhere"))
	if _, _, err := c.run("", "SELECT 1"); !errors.Is(err, ErrNoWarehouse) {
		t.Error(err)
	}
	c.Beside = dir
	if _, _, err := c.run("", "SELECT 1"); !errors.Is(err, ErrNoWarehouse) {
		t.Error(err)
	}
	fill(t, dir)
	out := filepath.Join(t.TempDir(), "out")
	for want, args := range map[string][]string{
		"bad_query: the query is empty": {"-"}, "bad_query: Parser Error": {"--out", out, "--format", "csv", "selec"}, "bad_query: one SELECT": {"DROP VIEW events"},
		"--from: cannot parse day \"yesterday\"": {"--from", "yesterday", "SELECT 1"}, "--from 2026-04-02 is after": {"--from", "2026-04-02", "--to", "2026-04-01", "SELECT 1"}, "--limit must be": {"--limit", "0", "SELECT 1"},
		"--format parquet needs a file": {"--format", "parquet", "SELECT 1"}, "no_file: ": {"--out", filepath.Join(out, "x", "y"), "SELECT 1"}, "bad_query: Catalog Error": {"SELECT * FROM evnts"},
		"--memory must be": {"--memory", "1", "SELECT 1"}, "timeout: ": {"--timeout", "50ms", "SELECT count(*) FROM range(10000000000) a, range(10000000000) b"},
	} {
		if _, _, err := c.run("", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
