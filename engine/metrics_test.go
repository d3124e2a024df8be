package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine"
)

// slowTables is a file system on which writing the first table waits until writers wait for it.
type slowTables struct {
	vfs.FS
	stalling func() bool // called until it returns true
}

func (f *slowTables) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".sst") {
		for end := time.Now().Add(hangs); !f.stalling() && time.Now().Before(end); {
			runtime.Gosched()
		}
	}
	return f.FS.Create(name, c)
}

// TestMetrics makes writers wait for a flush, and checks how the database reports this and
// everything else.
func TestMetrics(t *testing.T) {
	fs := &slowTables{FS: vfs.NewMem(), stalling: func() bool { return true }}
	db := must[*engine.DB](t)(engine.Open("data", engine.Options{FS: fs, TTLInterval: -1, MemTableBytes: 64 << 10, DiskReserve: -1}))
	if _, err := db.CreateTable(t.Context(), tableInput("table")); err != nil {
		t.Fatal(err)
	}
	before := db.Metrics()
	if before.Stalls != 0 || before.Stalling || before.Stalled != 0 || before.Syncs.Count == 0 || before.Syncs.Sum <= 0 {
		t.Errorf("before: %+v", before)
	}
	var stalled atomic.Bool // once true it stays true, so that nothing waits when the database is closed
	fs.stalling = func() bool {
		if db.Metrics().Stalls > 0 {
			stalled.Store(true)
		}
		return stalled.Load()
	}
	for i := 0; db.Metrics().Stalls == 0 && i < 200; i++ {
		putItem(t, db, "table", item{"pk": str("a"), "sk": str(fmt.Sprint(i)), "text": str(strings.Repeat("x", 8<<10))})
	}
	m := db.Metrics()
	if m.Stalls == 0 || m.Stalled <= 0 || m.Stalling || m.CommitsWaiting != 0 || m.Failures != 0 {
		t.Errorf("after a stall: %+v", m)
	}
	if m.Flushes == 0 || m.Tables == 0 || m.L0Files == 0 || m.ReadAmp == 0 || m.Bytes == 0 || m.LogBytes == 0 || m.LogBytesWritten == 0 || m.FlushBytesWritten == 0 || m.MemTableBytes == 0 || m.BlockCacheMaxBytes == 0 {
		t.Errorf("after flushes: %+v", m)
	}
	if last := len(m.Syncs.Counts) - 1; m.Syncs.Count <= before.Syncs.Count || len(m.Syncs.Bounds) != last+1 || m.Syncs.Counts[last] != m.Syncs.Count {
		t.Errorf("syncs: %+v", m.Syncs)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if m := db.Metrics(); m.Bytes != 0 || m.Syncs.Count != 0 {
		t.Errorf("closed: %+v", m)
	}
}
