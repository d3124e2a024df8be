package warehouse_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/onefold/onefold/warehouse"
)

// While a file is written, its rows are in a temporary file without a name, and so cannot be left
// behind by a process that is killed.
func TestTemporaryRowsHaveNoName(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps the name of an open file")
	}
	h, dir := newFixture(t), t.TempDir()
	w, err := warehouse.Open(h.ctx, h.memory, warehouse.Options{Temp: dir})
	h.must(err)
	row := &warehouse.EventRow{Time: noon.UnixMilli(), EventID: "01", Kind: "pageview", Path: "/"}
	written := 0
	_, ok, err := w.WriteFile(h.ctx, warehouse.PartitionOf(warehouse.Events, "shop", noon.UnixMilli()), func(yield func(warehouse.Row, error) bool) {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 0 {
			t.Errorf("the temporary folder has %v (%v)", entries, err)
		}
		written++
		yield(row, nil)
	})
	h.must(err)
	if !ok || written != 1 {
		t.Errorf("%d rows, %t", written, ok)
	}
}
