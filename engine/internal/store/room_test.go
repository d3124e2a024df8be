package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/dynamo"
)

// TestReviveWhenNothingIsTried refuses writes while tables are written and do not fit, and admits
// writes again when no table is written any more. A compaction that did not fit may not be
// repeated, and no flush comes while writes are refused.
func TestReviveWhenNothingIsTried(t *testing.T) {
	r := &room{usage: func() (vfs.DiskUsage, error) { return vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 41}, nil }}
	admitted := func() bool {
		err := r.admit(Growth, 1)
		if err != nil && !dynamo.IsFull(err) {
			t.Fatal(err)
		}
		return err == nil
	}
	if !admitted() {
		t.Fatal("there is room")
	}
	r.block()
	for range 20 {
		r.failed(ErrFatal)
		r.revive()
		if admitted() {
			t.Fatal("it was tried just now, and did not fit")
		}
	}
	r.tables.Add(1)
	for range busyLooks / 2 {
		if r.revive(); admitted() {
			t.Fatal("a table is being written, and may not fit")
		}
	}
	r.tables.Add(-1)
	r.revive() // sees that no table is being written
	for look := range idleLooks {
		if admitted() {
			t.Fatalf("admitted after %d looks", look)
		}
		r.revive()
	}
	if !admitted() {
		t.Error("nothing is tried any more, and nothing is admitted")
	}
}
