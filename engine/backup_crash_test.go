package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/onefold/onefold/engine"
)

// crashes clones a disk before each write to it. A clone is what is left if the process is killed
// (percent 100) or the power fails (percent 0) at that moment.
type crashes struct {
	fs      *vfs.MemFS
	percent int

	mu     sync.Mutex
	clones []*vfs.MemFS
	before []string // the write that each clone lacks
}

// crash returns a disk with all (100) or none (0) of the unsynced data. With all of it, files whose
// removal was not synced are back.
func crash(fs *vfs.MemFS, percent int) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(1, 1))})
}

// MaybeError implements errorfs.Injector.
func (c *crashes) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clones = append(c.clones, crash(c.fs, c.percent))
	c.before = append(c.before, fmt.Sprintf("write %d, kind %d, of %s", len(c.clones), op.Kind, op.Path))
	return nil
}

// String implements errorfs.Injector.
func (c *crashes) String() string { return fmt.Sprintf("clones keep %d %%", c.percent) }

// TestBackupAfterCrash kills the process or cuts the power before every write that happens while a
// database that was not closed is opened, and while it is closed. The database must open again, and
// a backup that is made right afterwards must open too. Pebble creates its log after the manifest.
// Without the log it makes checkpoints with an empty manifest.
func TestBackupAfterCrash(t *testing.T) {
	it := item{"pk": str("a"), "sk": str("b")}
	for _, percent := range []int{0, 100} {
		disk := vfs.NewCrashableMem()
		open := func(what string, fs vfs.FS) *engine.DB {
			db, err := engine.Open("data", engine.Options{FS: fs, MemTableBytes: 1 << 20, TTLInterval: -1, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			return db
		}
		db := open("new", disk)
		must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput("crash")))
		putItem(t, db, "crash", it)
		c := &crashes{fs: crash(disk, 100), percent: percent}
		for _, db := range []*engine.DB{db, open("not closed", errorfs.Wrap(c.fs, c))} {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for i, fs := range c.clones {
			what := fmt.Sprintf("%s, before %s", c, c.before[i])
			backupHas(t, what, fs, open(what, fs), it)
		}
		t.Logf("%d moments, of which %s", len(c.clones), c)
	}
}

// backupHas makes a backup of a database, closes the database, and looks for an item in the backup.
func backupHas(t *testing.T, what string, fs vfs.FS, db *engine.DB, it item) {
	t.Helper()
	if _, err := db.Backup(context.Background(), "backup", nil); err != nil {
		t.Errorf("%s: backup: %v", what, err)
	}
	if err := errors.Join(db.Close(), fs.Remove("backup/"+engine.BackupManifestName)); err != nil { // with this file, a backup cannot be opened as a database
		t.Errorf("%s: close: %v", what, err)
	}
	db, err := engine.Open("backup", engine.Options{FS: fs, TTLInterval: -1})
	if err != nil {
		t.Errorf("%s: open the backup: %v", what, err)
		return
	}
	if out, err := db.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: ptr("crash"), Key: it}); err != nil || out.Item == nil {
		t.Errorf("%s: the backup does not have the item (%v)", what, err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("%s: close the backup: %v", what, err)
	}
}

// forgetful is a disk that loses what is written to the manifests of backups, the given number of
// times.
type forgetful struct {
	vfs.FS
	times int
}

// Create implements vfs.FS.
func (f *forgetful) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	if err == nil && f.times > 0 && strings.HasPrefix(name, "backup.partial/MANIFEST-") {
		f.times--
		return forgetfulFile{file}, nil
	}
	return file, err
}

type forgetfulFile struct{ vfs.File }

func (forgetfulFile) Write(p []byte) (int, error) { return len(p), nil }

// TestBackupCanBeOpened loses the part of a database copy that is needed to open it. If this happens
// once, the engine makes a second copy. If it always happens, the engine returns an error and there
// is no backup.
func TestBackupCanBeOpened(t *testing.T) {
	it := item{"pk": str("a"), "sk": str("b")}
	for times, want := range map[int]error{1: nil, 100: engine.ErrBackupUnusable} {
		fs := &forgetful{FS: vfs.NewMem(), times: times}
		db := must[*engine.DB](t)(engine.Open("data", engine.Options{FS: fs, MemTableBytes: 1 << 20, TTLInterval: -1, Logger: slog.New(slog.DiscardHandler)}))
		must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput("crash")))
		putItem(t, db, "crash", it)
		if want == nil {
			backupHas(t, "once", fs, db, it)
			continue
		}
		if _, err := db.Backup(context.Background(), "backup", nil); !errors.Is(err, want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("always: got %v, want %v", err, want)
		}
		if names, err := fs.List(""); err != nil || len(names) != 1 {
			t.Errorf("left %v (%v)", names, err)
		}
		putItem(t, db, "crash", it) // the database continues to work
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestBackupOfDamagedLog damages the log of an open database on disk. The backup must contain what
// the log contained.
func TestBackupOfDamagedLog(t *testing.T) {
	fs := vfs.NewMem()
	var db *engine.DB
	for range 2 { // the log of a new database does not record how much of it is on disk
		if db != nil {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		db = must[*engine.DB](t)(engine.Open("data", engine.Options{FS: fs, TTLInterval: -1, Logger: slog.New(slog.DiscardHandler)}))
	}
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput("crash")))
	it := item{"pk": str("a"), "sk": str("b")}
	for i := range 100 {
		putItem(t, db, "crash", item{"pk": str("before"), "sk": str(strconv.Itoa(i))})
	}
	putItem(t, db, "crash", it)
	for _, name := range must[[]string](t)(fs.List("data")) {
		if strings.HasSuffix(name, ".log") {
			overwrite(t, fs, "data/"+name, 2000)
		}
	}
	backupHas(t, "damaged", fs, db, it)
}

// overwrite overwrites a few bytes of a file.
func overwrite(t *testing.T, fs vfs.FS, name string, at int64) {
	t.Helper()
	f, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("damage"), at)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
