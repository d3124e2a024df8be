package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine/internal/backup"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/store"
)

var (
	// ErrBackupRunning is returned if another backup of the same database is running.
	ErrBackupRunning = errors.New("engine: another backup is running")
	// ErrNotEmpty is returned if the target directory of a backup or restore is not empty.
	ErrNotEmpty = backup.ErrNotEmpty
	// ErrBackupIncomplete is returned if a backup was interrupted, or the source is not a backup.
	ErrBackupIncomplete = backup.ErrIncomplete
	// ErrBackupDamaged is returned if files of a backup are missing, modified or added.
	ErrBackupDamaged = backup.ErrDamaged
	// ErrBackupUnusable is returned if the copied database cannot be opened, after two attempts to
	// copy it.
	ErrBackupUnusable = store.ErrCopy
	// ErrBackupFormat is returned if a backup was made by a newer version.
	ErrBackupFormat = backup.ErrFormat
)

// BackupManifestName is the name of the last file in a backup. Only a directory or tar stream that
// contains it is a backup.
const BackupManifestName = backup.ManifestName

// BackupManifest describes the contents of a backup.
type BackupManifest = backup.Manifest

// BackupProgress is called with the number of bytes done and the total, or -1 if the total is
// unknown.
type BackupProgress = backup.Progress

// backupFolder is where a backup is prepared. It is inside the database's own directory, so that
// its files can be hard links.
const backupFolder = "backup.tmp"

// Backup writes a backup to a directory, which must be empty or absent, while the database is in
// use. The backup is the state at one moment after the call: it contains every request acknowledged
// before the call, and no request partially. On the database's own file system, large files are
// hard links, which need no space until the database replaces them. progress may be nil. Errors:
// ErrBackupRunning, ErrNotEmpty, ErrBackupUnusable, ErrClosed, and those of ctx and the disk.
func (db *DB) Backup(ctx context.Context, dir string, progress BackupProgress) (*BackupManifest, error) {
	ctx, done, err := db.operate(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	fs := db.o.FS
	if db.memory {
		fs = vfs.Default
	}
	m, err := backup.Fill(fs, dir, func(dir string) (*BackupManifest, error) {
		if db.memory {
			return db.copyOut(ctx, fs, dir, progress)
		}
		m, err := db.checkpoint(ctx, dir)
		if err != nil {
			return nil, err
		}
		return backup.Seal(ctx, fs, dir, *m, progress)
	})
	if err != nil {
		return nil, fmt.Errorf("engine: backup: %w", err)
	}
	return m, nil
}

// copyOut makes a backup on a file system other than the database's own.
func (db *DB) copyOut(ctx context.Context, fs vfs.FS, dir string, progress BackupProgress) (m *BackupManifest, err error) {
	err = db.withCheckpoint(ctx, func(from string, of BackupManifest) error {
		if _, err := backup.Seal(ctx, db.o.FS, from, of, nil); err != nil {
			return err
		}
		if _, err := backup.Copy(ctx, db.o.FS, from, fs, dir, progress); err != nil {
			return err
		}
		m, err = backup.Seal(ctx, fs, dir, of, nil)
		return err
	})
	return m, err
}

// BackupTo writes a backup as a tar stream, while the database is in use. progress may be nil. See
// Backup.
func (db *DB) BackupTo(ctx context.Context, w io.Writer, progress BackupProgress) (m *BackupManifest, err error) {
	ctx, done, err := db.operate(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	err = db.withCheckpoint(ctx, func(dir string, of BackupManifest) error {
		m, err = backup.WriteTar(ctx, w, db.o.FS, dir, of, progress)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("engine: backup: %w", err)
	}
	return m, nil
}

// withCheckpoint calls fn with a checkpoint of the database, and removes it afterwards.
func (db *DB) withCheckpoint(ctx context.Context, fn func(dir string, m BackupManifest) error) (err error) {
	if !db.backup.TryLock() {
		return ErrBackupRunning
	}
	defer db.backup.Unlock()
	dir := db.o.FS.PathJoin(db.dir, backupFolder)
	if err := db.o.FS.RemoveAll(dir); err != nil { // left by a killed process
		return err
	}
	defer func() { err = errors.Join(err, db.o.FS.RemoveAll(dir)) }()
	m, err := db.checkpoint(ctx, dir)
	if err != nil {
		return err
	}
	return fn(dir, *m)
}

// checkpoint links or copies the current files of the database to a new directory.
func (db *DB) checkpoint(ctx context.Context, dir string) (*BackupManifest, error) {
	if db.memory { // a memory database has no log
		if err := db.store.Flush(); err != nil {
			return nil, err
		}
	}
	m := &BackupManifest{Taken: db.now().UTC()}
	tables := *db.tables.Load()
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		m.Tables = append(m.Tables, backup.Table{Name: name, Items: max(0, tables[name].items.Load()), Bytes: max(0, tables[name].bytes.Load())})
	}
	format, err := db.store.Checkpoint(ctx, dir, db.o.store(db.memory))
	m.Store = int(format)
	return m, err
}

// Restore restores a database from a directory written by Backup to a directory that must be empty
// or absent. It verifies everything before the directory appears under its name. progress may be
// nil. Errors: ErrNotEmpty, ErrBackupIncomplete, ErrBackupDamaged, ErrBackupFormat.
func Restore(ctx context.Context, from, dir string, progress BackupProgress) (*BackupManifest, error) {
	return restore(dir, func(dir string) (*BackupManifest, error) {
		return backup.Copy(ctx, vfs.Default, from, vfs.Default, dir, progress)
	})
}

// RestoreFrom is Restore from a tar stream written by BackupTo.
func RestoreFrom(ctx context.Context, r io.Reader, dir string, progress BackupProgress) (*BackupManifest, error) {
	return restore(dir, func(dir string) (*BackupManifest, error) {
		return backup.Extract(ctx, r, vfs.Default, dir, progress)
	})
}

func restore(dir string, unpack func(dir string) (*BackupManifest, error)) (*BackupManifest, error) {
	m, err := backup.Fill(vfs.Default, dir, func(dir string) (*BackupManifest, error) {
		m, err := unpack(dir)
		if err == nil {
			if err = tryStore(dir); err != nil && !errors.Is(err, ErrFormat) {
				err = fmt.Errorf("%w: %w", ErrBackupDamaged, err)
			}
		}
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("engine: restore: %w", err)
	}
	return m, nil
}

// tryStore checks that this program can open the store in a directory, without changing it.
func tryStore(dir string) error {
	o, err := Options{}.withDefaults()
	if err != nil {
		return err
	}
	format, err := store.Try(dir, o.store(false))
	if err == nil && (len(format) != 1 || format[0] > catalog.FormatSupported) {
		err = ErrFormat
	}
	return err
}
