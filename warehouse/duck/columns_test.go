//go:build duckdb && cgo

package duck

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/warehouse"
)

// Files that were written before a dimension was introduced lack its column. They are read together
// with newer files, or alone, and the column is NULL.
func TestOldFilesLackColumns(t *testing.T) {
	root := t.TempDir()
	var events []analytics.Event
	for day := range 3 {
		at := time.Date(2026, 5, 12+day, 12, 0, 0, 0, time.UTC)
		e := analytics.Event{EventKey: analytics.EventKey{SiteID: "blog", EventID: ulid.MustNew(ulid.Timestamp(at), strings.NewReader("0123456789")).String()}, Path: fmt.Sprint("/", day)}
		for _, d := range analytics.TraitDefs {
			*d.Of(&e.Traits) = "x"
		}
		events = append(events, e)
	}
	files := writeEvents(t, root, events)
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(filepath.Dir(a), filepath.Dir(b)) })
	last := string(analytics.TraitDefs[len(analytics.TraitDefs)-1].Name)
	for i, lacks := range []string{last, last + ", scroll"} {
		old := filepath.Join(filepath.Dir(files[i]), "old.parquet")
		rewrite(t, files[i], old, lacks)
		files[i] = old
	}
	columns, err := warehouse.ColumnsOf(files[0])
	if err != nil || slices.Contains(columns, last) || !slices.Contains(columns, "event_id") {
		t.Fatalf("columns of the old file: %v, %v", columns, err)
	}
	for _, c := range []struct {
		files []string
		want  string
	}{
		{files, "/0 NULL, /1 NULL, /2 x"}, {[]string{files[2], files[0]}, "/0 NULL, /2 x"}, {files[:2], "/0 NULL, /1 NULL"}, {files[:1], "/0 NULL"}, {files[2:], "/2 x"},
	} {
		d, err := Open(t.Context(), Options{Events: c.files})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		err = d.Query(t.Context(), "SELECT path, ifnull("+last+", 'NULL') FROM events ORDER BY path", 0, func([]Column) error { return nil }, func(row []*string) error {
			got = append(got, *row[0]+" "+*row[1])
			return nil
		})
		if text := strings.Join(got, ", "); err != nil || text != c.want {
			t.Errorf("%d files: %s (%v), want %s", len(c.files), text, err, c.want)
		}
		for _, view := range []string{"session_events", "sessions", "conversions"} {
			if err := d.Query(t.Context(), "FROM "+view, 0, func([]Column) error { return nil }, func([]*string) error { return nil }); err != nil {
				t.Errorf("%d files: %s: %v", len(c.files), view, err)
			}
		}
		plan, err := d.Explain(t.Context(), "SELECT "+last+" FROM events WHERE date = DATE '2026-05-14'")
		if reads := strings.Count(plan, "Total Files Read: 1"); err != nil || slices.Contains(c.files, files[2]) && reads != 1 {
			t.Errorf("%d files, of a day: %d scans of one file, %v\n%s", len(c.files), reads, err, plan)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Tags are lists. They are NULL where there are none.
func TestTagsAreLists(t *testing.T) {
	var rows []warehouse.Row
	for i, tags := range [][]string{{"student:1", `a "b", c`}, nil} {
		e := eventstore.Event{EventKey: eventstore.EventKey{ID: eventstore.ID{Type: "course", ID: "c"}, Seq: int64(i + 1)}, EventID: fmt.Sprintf("01KQ5N8G00AAAAAAAAAAAAAAA%d", i), EventType: "Enrolled",
			RecordedAt: time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC), Envelope: eventstore.Envelope{Tags: tags}}
		row, err := warehouse.NewDomainEventRow(&e)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	p := warehouse.PartitionOf(warehouse.DomainEvents, "Enrolled", rows[0].Key().At)
	db := openTest(t, Options{DomainEvents: writeRows(t, t.TempDir(), map[warehouse.Partition][]warehouse.Row{p: rows})})
	got := ask(t, db, "SELECT seq, len(tags), tags[2] FROM domain_events ORDER BY seq")
	if want := []string{`1|2|a "b", c`, "2|NULL|NULL"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// rewrite copies a Parquet file without some of its columns.
func rewrite(t *testing.T, from, to, without string) {
	t.Helper()
	db, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), "COPY (SELECT * EXCLUDE ("+without+") FROM read_parquet("+quote(from)+", hive_partitioning = false)) TO "+quote(to)+" (FORMAT parquet)"); err != nil {
		t.Fatal(err)
	}
}
