package engine_test

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
)

// TestModelAtLength runs TestModel for ONEFOLD_MODEL_OPS operations, on one database after another.
// An operation is an item read or written by key, or a page. The checks in between, which read
// everything, do not count.
func TestModelAtLength(t *testing.T) {
	text := os.Getenv("ONEFOLD_MODEL_OPS")
	if text == "" {
		t.Skip("the number of operations is missing: this test runs for minutes, so set ONEFOLD_MODEL_OPS to one, such as 10000000")
	}
	wanted, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	options := []engine.Options{{}, {StreamShards: 3, RollEvery: 40}, {StreamShards: 16}}
	var done int64
	for n := 0; done < wanted; n++ {
		o := options[n%len(options)]
		o.TTLInterval = -1
		db, err := engine.OpenMemory(o)
		if err != nil {
			t.Fatal(err)
		}
		m := newModel(t, db, seed+uint64(n))
		for range 4 {
			for range 400 {
				before := operations(db)
				m.step()
				done += operations(db) - before
			}
			m.check()
		}
		noFindings(t, db)
		m.must(db.Close())
	}
	t.Logf("%d operations", done)
}

func operations(db *engine.DB) int64 {
	use := db.Metered().Tables["model"]
	return use.Reads + use.Writes
}

func noFindings(t *testing.T, db *engine.DB) {
	t.Helper()
	if _, err := db.Check(context.Background(), func(f engine.Finding) { t.Errorf("%+v", f) }); err != nil {
		t.Fatal(err)
	}
}
