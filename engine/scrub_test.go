package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
)

// scrub reads all files of a database and returns the report on each file.
func scrub(t *testing.T, db *engine.DB, after uint64) (all []engine.Scrubbed) {
	t.Helper()
	o := engine.ScrubOptions{After: after, Each: func(s engine.Scrubbed) { all = append(all, s) }}
	if err := db.Scrub(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestScrubFindsEveryFlip changes one bit in one file after another. A scrub must name that file
// and no other, even if the bit is not in a row, and must report it once in the log and the
// metrics.
func TestScrubFindsEveryFlip(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	whole := twoTables(t)
	flips := 150
	if testing.Short() {
		flips = 20
	}
	dir := filepath.Join(t.TempDir(), "db")
	if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	db := must[*engine.DB](t)(engine.Open(dir, engine.Options{TTLInterval: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	defer db.Close()
	files := must[[]string](t)(filepath.Glob(filepath.Join(dir, "*.sst")))
	if all := scrub(t, db, 0); len(all) != len(files) || all[len(all)-1].Left != 0 {
		t.Fatalf("scrubbed %v, want the files %v", all, files)
	}
	damaged := map[string]bool{}
	for i := range flips {
		name := filepath.Base(files[r.IntN(len(files))])
		at, bit := flip(t, filepath.Join(dir, name), r)
		for _, f := range scrub(t, db, 0) {
			if (f.Damage != nil) != (f.Name == name) || f.Damage != nil && !errors.Is(f.Damage, engine.ErrCorrupt) {
				t.Fatalf("bit %d of byte %d of %s is another: of %s it says %v", bit, at, name, f.Name, f.Damage)
			}
		}
		damaged[name] = true
		if i < 10 {
			findings := 0
			sum := must[engine.CheckSummary](t)(db.Check(context.Background(), func(f engine.Finding) { findings++ }))
			if findings == 0 || sum.Findings != int64(findings) {
				t.Errorf("bit %d of byte %d of %s is another: check reports %d findings and sums up %d", bit, at, name, findings, sum.Findings)
			}
		}
		unflip(t, filepath.Join(dir, name), at, bit)
	}
	if n := db.Metrics().DamagedFiles; n != int64(len(damaged)) || strings.Count(log.String(), "is damaged") != len(damaged) {
		t.Errorf("metrics tell %d damaged files, want %d; the log:\n%s", n, len(damaged), &log)
	}
}

// flip changes one bit of a file and returns which.
func flip(t *testing.T, name string, r *rand.Rand) (at int64, bit int) {
	t.Helper()
	at, bit = r.Int64N(must[os.FileInfo](t)(os.Stat(name)).Size()), r.IntN(8)
	unflip(t, name, at, bit)
	return at, bit
}

func unflip(t *testing.T, name string, at int64, bit int) {
	t.Helper()
	f := must[*os.File](t)(os.OpenFile(name, os.O_RDWR, 0))
	var b [1]byte
	must[int](t)(f.ReadAt(b[:], at))
	b[0] ^= 1 << bit
	must[int](t)(f.WriteAt(b[:], at))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestScrubResumes starts a scrub where another ended. A scrub must report a missing file, like an
// unreadable one, only if it is in use.
func TestScrubResumes(t *testing.T) {
	dir := twoTables(t)
	db := must[*engine.DB](t)(engine.Open(dir, engine.Options{TTLInterval: -1, Logger: slog.New(slog.DiscardHandler)}))
	defer db.Close()
	all := scrub(t, db, 0)
	if len(all) < 3 || !slices.IsSortedFunc(all, func(a, b engine.Scrubbed) int { return int(a.Number) - int(b.Number) }) {
		t.Fatalf("scrubbed %v, want the oldest of several first", all)
	}
	if rest := scrub(t, db, all[1].Number); !slices.Equal(rest, all[2:]) {
		t.Errorf("after %d: %v, want %v", all[1].Number, rest, all[2:])
	}
	ctx, cancel := context.WithCancel(context.Background())
	read := 0
	err := db.Scrub(ctx, engine.ScrubOptions{Each: func(engine.Scrubbed) { read++; cancel() }})
	if !errors.Is(err, context.Canceled) || read != 1 {
		t.Errorf("a scrub that is ended after a file: %v after %d files", err, read)
	}
	ctx, cancel = context.WithCancel(context.Background())
	go cancel()
	if err := db.Scrub(ctx, engine.ScrubOptions{BytesPerSecond: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("a scrub that would take a day is ended: %v", err)
	}
}

// TestScrubBesideWrites scrubs while tables are written and compacted, and must find nothing: a
// file that goes away is not damage.
func TestScrubBesideWrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := must[*engine.DB](t)(engine.Open(dir, engine.Options{TTLInterval: -1, NoSync: true, MemTableBytes: 256 << 10, Logger: slog.New(slog.DiscardHandler)}))
	defer db.Close()
	if _, err := db.CreateTable(context.Background(), tableInput("table")); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	over := make(chan struct{})
	work.Go(func() {
		defer close(over)
		for i := range 6000 {
			putItem(t, db, "table", item{"pk": str(fmt.Sprint("p", i%700)), "sk": str("s"), "v": str(strings.Repeat("x", 300))})
			if i%1500 == 1499 {
				if err := db.Compact(context.Background()); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for {
		for _, f := range scrub(t, db, 0) {
			if f.Damage != nil {
				t.Errorf("%s: %v", f.Name, f.Damage)
			}
		}
		select {
		case <-over:
			work.Wait()
			return
		default:
		}
	}
}

// TestScrubOfNoFiles checks that a scrub of a database in memory has nothing to read, and that a
// scrub of a closed database is refused.
func TestScrubOfNoFiles(t *testing.T) {
	db := must[*engine.DB](t)(engine.OpenMemory(engine.Options{TTLInterval: -1}))
	if all := scrub(t, db, 0); len(all) != 0 {
		t.Errorf("scrubbed %v in memory", all)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Scrub(context.Background(), engine.ScrubOptions{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a scrub of a closed database: %v", err)
	}
}
