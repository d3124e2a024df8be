//go:build duckdb && cgo

package duck

import (
	"path/filepath"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/warehouse"
)

// writeEvents creates a warehouse of events, which are in order of time, and returns the names of
// its files. Names must be quoted.
func writeEvents(t testing.TB, root string, events []analytics.Event) (files []string) {
	t.Helper()
	parts := map[warehouse.Partition][]warehouse.Row{}
	for i := range events {
		row, err := warehouse.NewEventRow(&events[i], events[i].ExpiresAt)
		if err != nil {
			t.Fatal(err)
		}
		p := warehouse.PartitionOf(warehouse.Events, events[i].SiteID, row.Time)
		parts[p] = append(parts[p], row)
	}
	return writeRows(t, root, parts)
}

// writeRows writes rows as files of a warehouse.
func writeRows(t testing.TB, root string, parts map[warehouse.Partition][]warehouse.Row) (files []string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, err := warehouse.OpenDir(filepath.Join(root, "it's"))
	must(err)
	w, err := warehouse.Open(t.Context(), dir, warehouse.Options{})
	must(err)
	for p, rows := range parts {
		f, _, err := w.WriteFile(t.Context(), p, warehouse.Sorted(rows))
		must(err)
		files = append(files, filepath.Join(dir.Root(), filepath.FromSlash(f.Path)))
	}
	return files
}
