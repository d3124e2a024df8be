package salvage_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/engine/salvage"
)

// wreck is a database on disk, its current contents, and every value that its items ever had.
type wreck struct {
	fs   *vfs.MemFS
	now  map[string]string // by table and key
	ever map[string]map[string]bool
}

// newWreck writes tables with indexes and a stream to several files. It changes some items and
// deletes some. The database is either closed, or left as a killed process leaves it.
func newWreck(t *testing.T, r *rand.Rand, closed bool) *wreck {
	t.Helper()
	ctx := context.Background()
	w := &wreck{fs: vfs.NewCrashableMem(), now: map[string]string{}, ever: map[string]map[string]bool{}}
	db := must[*engine.DB](t)(engine.Open("db", engine.Options{TTLInterval: -1, DiskReserve: -1, FS: w.fs}))
	for _, name := range []string{"first", "second"} {
		must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput(name)))
	}
	for round := range 3 {
		for range 250 {
			name, n := []string{"first", "second"}[r.IntN(2)], r.IntN(300)
			key := fmt.Sprintf("%s/p%d", name, n)
			if r.IntN(8) == 0 {
				must[*dynamodb.DeleteItemOutput](t)(db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &name, Key: item{"pk": str(fmt.Sprint("p", n)), "sk": str("s")}}))
				delete(w.now, key)
				continue
			}
			v := fmt.Sprint(r.Uint64(), strings.Repeat("-", r.IntN(300)))
			putItem(t, db, name, item{"pk": str(fmt.Sprint("p", n)), "sk": str("s"), "gsi1pk": str("g"), "gsi1sk": str(fmt.Sprint(n)), "v": str(v)})
			if w.now[key] = v; w.ever[key] == nil {
				w.ever[key] = map[string]bool{}
			}
			w.ever[key][v] = true
		}
		if round == 0 {
			if err := db.Compact(ctx); err != nil {
				t.Fatal(err)
			}
		} else if round == 1 {
			must[*engine.BackupManifest](t)(db.Backup(ctx, "backup", nil))
		}
	}
	killed := w.fs.CrashClone(vfs.CrashCloneCfg{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if !closed {
		w.fs = killed
	}
	return w
}

// copied returns a copy of the files of a database, in memory.
func (w *wreck) copied(t *testing.T) vfs.FS {
	t.Helper()
	to := vfs.NewMem()
	if err := to.MkdirAll("db", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range must[[]string](t)(w.fs.List("db")) {
		if info := must[vfs.FileInfo](t)(w.fs.Stat("db/" + name)); !info.IsDir() {
			writeFile(t, to, "db/"+name, readFile(t, w.fs, "db/"+name))
		}
	}
	return to
}

func readFile(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f := must[vfs.File](t)(fs.Open(name))
	defer f.Close()
	return must[[]byte](t)(io.ReadAll(f))
}

func writeFile(t *testing.T, fs vfs.FS, name string, b []byte) {
	t.Helper()
	f := must[vfs.File](t)(fs.Create(name, vfs.WriteCategoryUnspecified))
	must[int](t)(f.Write(b))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// contents reads all items through the tables, and checks that the index agrees.
func contents(t *testing.T, db *engine.DB) (map[string]string, error) {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"first", "second"} {
		for _, index := range []*string{nil, ptr("gsi1")} {
			var from item
			for {
				out, err := db.Scan(context.Background(), &dynamodb.ScanInput{TableName: &name, IndexName: index, ExclusiveStartKey: from})
				if err != nil {
					return all, err
				}
				for _, it := range out.Items {
					key := name + "/" + it["pk"].(*types.AttributeValueMemberS).Value
					v := it["v"].(*types.AttributeValueMemberS).Value
					if index != nil && all[key] != v {
						return all, fmt.Errorf("the index says of %s another thing than the table", key)
					}
					all[key] = v
				}
				if from = out.LastEvaluatedKey; from == nil {
					break
				}
			}
		}
	}
	return all, nil
}

// flip copies the database, flips one bit in it, and returns where. It chooses each file with the
// same probability, because otherwise it would never choose a small file.
func (w *wreck) flip(t *testing.T, r *rand.Rand) (fs vfs.FS, where string) {
	t.Helper()
	fs = w.copied(t)
	names := slices.DeleteFunc(must[[]string](t)(fs.List("db")), func(name string) bool { return len(readFile(t, fs, "db/"+name)) == 0 })
	slices.Sort(names)
	name := names[r.IntN(len(names))]
	b := readFile(t, fs, "db/"+name)
	at, bit := r.IntN(len(b)), r.IntN(8)
	b[at] ^= 1 << bit
	writeFile(t, fs, "db/"+name, b)
	return fs, fmt.Sprintf("bit %d of byte %d of %d of %s", bit, at, len(b), name)
}

// detected opens a database and reports whether opening or checking it reveals a fault. If not, the
// contents must be right.
func (w *wreck) detected(t *testing.T, fs vfs.FS, where string) bool {
	t.Helper()
	var log bytes.Buffer
	o := w.on(fs)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	db, err := engine.Open("db", o)
	if err != nil {
		return true
	}
	defer func() { _ = db.Close() }()
	if strings.Contains(log.String(), "the end of the log cannot be read") {
		return true
	}
	sum, err := db.Check(context.Background(), func(engine.Finding) {})
	if err != nil || sum.Findings > 0 {
		return true
	}
	all, err := contents(t, db)
	if err != nil {
		t.Errorf("%s: %v, and the check says nothing", where, err)
	}
	if !maps.Equal(all, w.now) {
		t.Errorf("%s: %d items, %d were written, some are other ones, and nothing is said", where, len(all), len(w.now))
	}
	return false
}

// on returns options to open a database that may be damaged.
func (w *wreck) on(fs vfs.FS) engine.Options {
	return engine.Options{FS: fs, TTLInterval: -1, DiskReserve: -1, Logger: slog.New(slog.DiscardHandler), OnFatal: func(error) {}}
}

// salvaged salvages the database. It checks that the result is consistent, and that everything
// missing is reported.
func (w *wreck) salvaged(t *testing.T, fs vfs.FS, where string) (told int) {
	t.Helper()
	ctx := context.Background()
	tables, anywhere := map[string]bool{}, false
	var losses []string
	_, err := salvage.Run(ctx, "db", "to", salvage.Options{FS: fs, Report: func(l salvage.Loss) {
		tables[l.Table], anywhere = true, anywhere || l.Table == ""
		losses = append(losses, l.String())
	}})
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return 0
	}
	db := must[*engine.DB](t)(engine.Open("to", w.on(fs)))
	defer func() { _ = db.Close() }()
	if len(losses) == 0 {
		must[engine.CheckSummary](t)(db.Check(ctx, func(f engine.Finding) { t.Errorf("%s: %s", where, f.String()) }))
	}
	all, err := contents(t, db)
	if err != nil && !anywhere {
		t.Errorf("%s: %v", where, err)
		return len(losses)
	}
	for key, v := range all {
		name, _, _ := strings.Cut(key, "/")
		if v != w.now[key] && (!tables[name] && !anywhere || !w.ever[key][v]) {
			t.Errorf("%s: %s is %.20s, was %.20s; told: %q", where, key, v, w.now[key], losses)
		}
	}
	for key := range w.now {
		name, _, _ := strings.Cut(key, "/")
		if _, there := all[key]; !there && !tables[name] && !anywhere {
			t.Errorf("%s: %s is missing; told: %q", where, key, losses)
		}
	}
	return len(losses)
}

// TestFlippedBits flips one bit of a database at a random place. The flip must be detected or do no
// harm, and everything readable must be salvaged. ONEFOLD_FLIPS sets the number of flips, and
// ONEFOLD_FLIP_SEED repeats a run.
func TestFlippedBits(t *testing.T) {
	flips := 40
	if testing.Short() {
		flips = 4
	}
	if n, err := strconv.Atoi(os.Getenv("ONEFOLD_FLIPS")); err == nil && n > 0 {
		flips = n
	}
	seed := rand.Uint64()
	if n, err := strconv.ParseUint(os.Getenv("ONEFOLD_FLIP_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("seed %d", seed)
	for _, closed := range []bool{true, false} {
		t.Run(map[bool]string{true: "closed", false: "killed"}[closed], func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := newWreck(t, r, closed)
			if told := w.salvaged(t, w.copied(t), "whole"); told > 0 {
				t.Errorf("losses of a database that is whole: %d", told)
			}
			found, lost := 0, 0
			for i := range flips {
				t.Run(strconv.Itoa(i), func(t *testing.T) {
					fs, where := w.flip(t, r)
					if w.salvaged(t, fs, where) > 0 {
						lost++
					}
					if w.detected(t, fs, where) {
						found++
					}
				})
			}
			t.Logf("%d of %d flips were detected, %d cost something", found, flips, lost)
		})
	}
}
