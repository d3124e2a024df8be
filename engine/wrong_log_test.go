package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/engine/enginetest"
)

// TestMiswrittenLog writes one bit of the log wrong, without an error from the disk, and
// closes the database. Nothing may be lost, because the written data is still in memory at that
// point.
func TestMiswrittenLog(t *testing.T) {
	for _, at := range []int{1, 5, 20, 60} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			var log bytes.Buffer
			disk := enginetest.NewDisk(vfs.NewMem())
			o := engine.Options{FS: disk, TTLInterval: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			db := must[*engine.DB](t)(engine.Open("data", o))
			must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput("table")))
			disk.Break(enginetest.Flipped, at)
			const items = 50
			for i := range items {
				putItem(t, db, "table", item{"pk": str(fmt.Sprint("p", i)), "sk": str("s"), "v": str(strings.Repeat("x", 100))})
			}
			if hit, file := disk.Hit(); !hit || !strings.HasSuffix(file, ".log") {
				t.Fatalf("hit %t, %s", hit, file)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), "the log cannot be read as it was written") {
				t.Errorf("the log says nothing of it: %s", &log)
			}
			db = must[*engine.DB](t)(engine.Open("data", o))
			if all := scanAll(t, db, "table", ""); len(all) != items {
				t.Errorf("%d items are left of %d", len(all), items)
			}
			checkClean(t, db)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
