package eventbench

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// openTable opens a table of events in a directory.
func openTable(ctx context.Context, dir string, _ workbench.Time) (*workbench.Store, error) {
	db, err := engine.Open(dir, engine.Options{})
	if err == nil {
		err = eventstore.Schema.Ensure(ctx, db, "onefold")
	}
	return &workbench.Store{DB: db, Table: table.New(db, "onefold", table.Options{})}, err
}

// contendedStreams runs the contended benchmark, and returns the length of each aggregate.
func contendedStreams(t *testing.T, turn time.Duration) (lengths map[string]int64, all int64) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "contended")
	b := &bench{Options{Setup: workbench.Setup{Open: openTable}, Rounds: 1, Turn: turn, CPUSeconds: func() float64 { return 0 }}}
	if _, err := b.contend(t.Context(), dir, 8); err != nil {
		t.Fatal(err)
	}
	s, err := openTable(t.Context(), dir, workbench.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.DB.Close()
	lengths = map[string]int64{}
	store, err := eventstore.New(s.Table, eventstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for h, err := range store.HeadsOfType(t.Context(), "bench") {
		if err != nil {
			t.Fatal(err)
		}
		lengths[h.ID.ID] = h.Version
		all += h.Version
	}
	return lengths, all
}

// All writers decide on the same aggregate, and switch to the next one together. Otherwise there
// would be no contention to measure.
func TestContendersStayTogether(t *testing.T) {
	lengths, all := map[string]int64{}, int64(0)
	for turn := 50 * time.Millisecond; all < 3*perContended; turn *= 2 { // until there are enough
		lengths, all = contendedStreams(t, turn)
	}
	t.Logf("%d appends: %v", all, lengths)
	last := fmt.Sprint("contended-", len(lengths)-1)
	for _, id := range slices.Sorted(maps.Keys(lengths)) {
		if n := lengths[id]; n > perContended || n < perContended-8 && id != last { // a few may have given up
			t.Errorf("%s has %d events, want %d", id, n, perContended)
		}
	}
}
