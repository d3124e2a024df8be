package engine_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine"
)

// busy opens a database on disk with writers that run until end is called. It returns after the
// first writes.
func busy(t *testing.T, dir string) (*engine.DB, *crashRun) {
	t.Helper()
	db := must[*engine.DB](t)(engine.Open(dir, engine.Options{StreamShards: 2, RollEvery: 50, MemTableBytes: 64 << 10, TTLInterval: -1}))
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput("crash")))
	enableTTL(t, db, "crash")
	r := startWriters(db, [crashWriters]int64{})
	r.await(100)
	return db, r
}

// await returns when the given number of writes has been acknowledged.
func (r *crashRun) await(writes int64) {
	for total := int64(0); total < writes && len(r.errs) == 0; {
		total = 0
		for w := range r.acked {
			total += r.acked[w].Load()
		}
	}
}

func (r *crashRun) values() (acked [crashWriters]int64) {
	for w := range acked {
		acked[w] = r.acked[w].Load()
	}
	return acked
}

// checkRestored opens a restored database and looks for the writes that were acknowledged before
// the backup started.
func checkRestored(t *testing.T, dir string, r *crashRun, acked [crashWriters]int64) {
	t.Helper()
	db := must[*engine.DB](t)(engine.Open(dir, engine.Options{TTLInterval: -1}))
	checkCrash(t, db, r, acked)
	putItem(t, db, "crash", item{"pk": str("new"), "sk": str("item")})
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestBackupWhileWriting makes backups in every way while the database is written to. Each backup
// must contain what was acknowledged when it started, and its items, indexes and streams must
// agree.
func TestBackupWhileWriting(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	db, r := busy(t, filepath.Join(dir, "data"))
	var acked [3][crashWriters]int64
	var stream bytes.Buffer
	acked[0] = r.values()
	m := must[*engine.BackupManifest](t)(db.Backup(ctx, filepath.Join(dir, "out"), nil))
	if len(m.Tables) != 1 || m.Tables[0].Name != "crash" || m.Tables[0].Items == 0 || m.Bytes() == 0 {
		t.Errorf("manifest %+v", m)
	}
	r.await(200)
	acked[1] = r.values()
	must[*engine.BackupManifest](t)(db.BackupTo(ctx, &stream, nil))
	r.await(300)
	acked[2] = r.values()
	var done, total int64
	must[*engine.BackupManifest](t)(db.Backup(ctx, filepath.Join(dir, "later")+"/", func(d, of int64) { done, total = d, of }))
	if done == 0 || done != total {
		t.Errorf("progress: %d of %d", done, total)
	}
	r.end(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "backup.tmp")); err == nil {
		t.Error("the checkpoint was not removed")
	}
	for i, name := range []string{"out", "stream", "later"} {
		to := filepath.Join(dir, "restored-"+name)
		if name == "stream" {
			must[*engine.BackupManifest](t)(engine.RestoreFrom(ctx, &stream, to, nil))
		} else {
			must[*engine.BackupManifest](t)(engine.Restore(ctx, filepath.Join(dir, name), to, nil))
		}
		checkRestored(t, to, r, acked[i])
	}
}

// TestBackupOfMemory moves a database from memory to disk by a backup.
func TestBackupOfMemory(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	db := memory(t, engine.Options{})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("crash")))
	r := startWriters(db, [crashWriters]int64{})
	r.await(300)
	acked := r.values()
	must[*engine.BackupManifest](t)(db.Backup(ctx, filepath.Join(dir, "out"), nil))
	r.end(t)
	must[*engine.BackupManifest](t)(engine.Restore(ctx, filepath.Join(dir, "out"), filepath.Join(dir, "data"), nil))
	checkRestored(t, filepath.Join(dir, "data"), r, acked)
}

func TestRestoreErrors(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	db, r := busy(t, filepath.Join(dir, "data"))
	r.end(t)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	out := filepath.Join(dir, "out")
	must[*engine.BackupManifest](t)(db.Backup(ctx, out, nil))
	var stream bytes.Buffer
	must[*engine.BackupManifest](t)(db.BackupTo(ctx, &stream, nil))
	refused := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	_, err := db.Backup(ctx, out, nil)
	refused("a backup over a backup", err, engine.ErrNotEmpty)
	_, err = engine.Restore(ctx, out, filepath.Join(dir, "data"), nil)
	refused("a restore over a database", err, engine.ErrNotEmpty)
	_, err = engine.Restore(ctx, filepath.Join(dir, "data"), filepath.Join(dir, "to"), nil)
	refused("a directory that is no backup", err, engine.ErrBackupIncomplete)
	_, err = engine.Restore(ctx, filepath.Join(dir, "nowhere"), filepath.Join(dir, "to"), nil)
	refused("a directory that is not there", err, os.ErrNotExist)
	_, err = engine.RestoreFrom(ctx, io.LimitReader(&stream, 2048), filepath.Join(dir, "to"), nil)
	refused("a stream that ends", err, engine.ErrBackupIncomplete)
	_, err = engine.RestoreFrom(ctx, strings.NewReader(""), filepath.Join(dir, "to"), nil)
	refused("an empty stream", err, engine.ErrBackupIncomplete)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = engine.Restore(cancelled, out, filepath.Join(dir, "to"), nil)
	refused("a call that was cancelled", err, context.Canceled)
	_, err = db.BackupTo(ctx, failing{}, nil)
	refused("a writer that fails", err, errFull)
	entries := must[[]os.DirEntry](t)(os.ReadDir(dir))
	if len(entries) != 2 {
		t.Errorf("refused, and left %v", entries)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// TestCloseEndsBackup closes a database in the middle of a backup. Close must wait for the backup,
// which either ends early or succeeds.
func TestCloseEndsBackup(t *testing.T) {
	db, r := busy(t, t.TempDir())
	r.end(t)
	closed := make(chan error, 1)
	begun := false
	_, err := db.BackupTo(context.Background(), writes(func() {
		if !begun {
			begun = true
			go func() { closed <- db.Close() }()
		}
	}), nil)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the backup: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("the close: %v", err)
	}
	if _, err := db.Check(context.Background(), func(engine.Finding) {}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a check after it: %v", err)
	}
}

// writes is a writer that calls a function and discards what is written to it.
type writes func()

func (w writes) Write(b []byte) (int, error) {
	w()
	return len(b), nil
}
