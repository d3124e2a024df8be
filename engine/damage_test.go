package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine"
)

// twoTables makes a database with two tables on disk.
func twoTables(t *testing.T) (dir string) {
	t.Helper()
	ctx := context.Background()
	dir = filepath.Join(t.TempDir(), "db")
	db := must[*engine.DB](t)(engine.Open(dir, engine.Options{TTLInterval: -1, NoSync: true}))
	for _, name := range []string{"first", "second"} {
		must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput(name)))
		for i := range 600 {
			putItem(t, db, name, item{"pk": str(fmt.Sprint("p", i)), "sk": str("s"), "gsi1pk": str("g"), "gsi1sk": str(fmt.Sprint(i)), "v": str(strings.Repeat(name, i%40))})
		}
	}
	if err := errors.Join(db.Compact(ctx), db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// damage copies a database and damages its largest file, at the offset that the function at returns
// for the file's size.
func damage(t *testing.T, of string, at func(size int64) int64) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "db")
	if err := os.CopyFS(dir, os.DirFS(of)); err != nil {
		t.Fatal(err)
	}
	var largest string
	var size int64
	for _, name := range must[[]string](t)(filepath.Glob(filepath.Join(dir, "*.sst"))) {
		if info := must[os.FileInfo](t)(os.Stat(name)); info.Size() > size {
			largest, size = name, info.Size()
		}
	}
	f := must[*os.File](t)(os.OpenFile(largest, os.O_RDWR, 0))
	must[int](t)(f.WriteAt([]byte{0xde, 0xad, 0xbe, 0xef}, at(size)))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDamagedFile damages a file in several places. Reads must fail with ErrCorrupt, Check must
// report the damage and nothing else, and no backup may be made.
func TestDamagedFile(t *testing.T) {
	whole := twoTables(t)
	for name, at := range map[string]func(int64) int64{
		"first block": func(int64) int64 { return 10 },
		"middle":      func(size int64) int64 { return size / 2 },
		"later":       func(size int64) int64 { return size * 3 / 4 },
		"end":         func(size int64) int64 { return size - 20 },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			var log bytes.Buffer
			db, err := engine.Open(damage(t, whole, at), engine.Options{TTLInterval: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if errors.Is(err, engine.ErrCorrupt) {
				return // the damage is in the rows that describe the tables
			}
			if err != nil {
				t.Fatal(err)
			}
			checkDamaged(t, db)
			for what, err := range map[string]error{"sizes": second(db.Sizes(ctx, true)), "backup": second(db.BackupTo(ctx, io.Discard, nil)),
				"backup to a directory": second(db.Backup(ctx, filepath.Join(t.TempDir(), "b"), nil))} {
				if !errors.Is(err, engine.ErrCorrupt) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: got %v", what, err)
				}
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			if strings.Count(log.String(), "\n") > 1 {
				t.Errorf("logged %s", log.String())
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// checkDamaged expects Check to report damaged files and nothing else.
func checkDamaged(t *testing.T, db *engine.DB) {
	t.Helper()
	sum := must[engine.CheckSummary](t)(db.Check(context.Background(), func(f engine.Finding) {
		if f.Kind != "file-damaged" || !strings.Contains(f.Text, ".sst") || strings.Contains(f.Text, "\n") {
			t.Errorf("found %s", f.String())
		}
		t.Log(f.String())
	}))
	if sum.Findings == 0 || sum.Tables != 2 {
		t.Errorf("checked %+v", sum)
	}
}

// TestOpenErrors opens directories that do not contain a database of the engine.
func TestOpenErrors(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	db := must[*engine.DB](t)(engine.Open(at("db"), engine.Options{}))
	must[*engine.BackupManifest](t)(db.Backup(ctx, at("backup"), nil))
	for name, want := range map[string]error{at("backup"): engine.ErrBackup, at("db"): engine.ErrInUse, "": engine.ErrNoDirectory} {
		if _, err := engine.Open(name, engine.Options{}); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", name, err, want)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	must[*engine.BackupManifest](t)(engine.Restore(ctx, at("backup"), at("restored"), nil)) // the backup is unchanged
}
