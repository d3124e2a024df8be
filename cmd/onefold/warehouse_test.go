package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/warehouse"
)

// exported returns the number of events in a warehouse, and of distinct ones.
func exported(t *testing.T, dir string) (rows, different int) {
	t.Helper()
	d, err := warehouse.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, err := warehouse.Open(context.Background(), d, warehouse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range w.Files(warehouse.Events) {
		if err := w.Verify(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		for r, err := range w.Rows(t.Context(), f) {
			if err != nil {
				t.Fatal(err)
			}
			rows++
			seen[r.Key().ID] = true
		}
	}
	named := len(w.Files())
	there, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*.parquet"))
	if err != nil || len(there) != named {
		t.Errorf("there are %d files, and the log names %d: %v", len(there), named, err)
	}
	return rows, len(seen)
}

// An export that is killed at any moment and restarted ends with every event once.
func TestKilledExport(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	const lines = 6_000
	dir := t.TempDir()
	data, place, log := filepath.Join(dir, "data"), filepath.Join(dir, "facts"), filepath.Join(dir, "access.log")
	generatedLog(t, log, lines)
	onefold(t, "--data", data, "site", "create", "s")
	onefold(t, "--data", data, "import", "--site", "s", log)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	killed := 0
	for wait := 150 * time.Millisecond; ; wait += 60 * time.Millisecond {
		cmd := process(t, "--data", data, "warehouse", "export", "--to", place, "--rows", "500")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(wait/2+time.Duration(random.Int64N(int64(wait))), func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		if kill.Stop(); err == nil {
			break
		}
		if killed++; killed > 200 {
			t.Fatal("it never ends")
		}
	}
	t.Logf("killed %d times", killed)
	onefold(t, "--data", data, "warehouse", "export", "--to", place)
	var found []struct{ Table, Both, Missing, Extra int }
	if err := json.Unmarshal([]byte(onefold(t, "--json", "--data", data, "warehouse", "check", "--to", place)), &found); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Table < lines/2 || found[0].Both != found[0].Table || found[0].Missing+found[0].Extra > 0 {
		t.Fatalf("check found %+v", found)
	}
	if rows, different := exported(t, place); rows != found[0].Table || different != rows {
		t.Errorf("%d rows of %d different events, want %d", rows, different, found[0].Table)
	}
}
