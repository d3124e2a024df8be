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
	// ErrBackupRunning is returned when another backup of the same database is under way.
	ErrBackupRunning = errors.New("engine: another backup is under way")
	// ErrNotEmpty is returned when a backup, or what is restored, would go into a directory that holds something.
	ErrNotEmpty = backup.ErrNotEmpty
	// ErrBackupIncomplete is returned when a backup was cut off, or is none.
	ErrBackupIncomplete = backup.ErrIncomplete
	// ErrBackupDamaged is returned when files of a backup are missing, changed or added.
	ErrBackupDamaged = backup.ErrDamaged
	// ErrBackupUnusable is returned when the copy of the database that a backup is made of cannot be opened, also the second time.
	ErrBackupUnusable = store.ErrCopy
	// ErrBackupFormat is returned when a backup was made by a newer version.
	ErrBackupFormat = backup.ErrFormat
)

// BackupManifestName is the last file of a backup, which makes a backup of a directory or tar stream.
const BackupManifestName = backup.ManifestName

// BackupManifest says what a backup holds.
type BackupManifest = backup.Manifest

// BackupProgress is told how many bytes of how many are done; total is -1 when nobody knows.
type BackupProgress = backup.Progress

// backupFolder is where a backup is gathered, inside the database's own directory: there its files can be hard links.
const backupFolder = "backup.tmp"

// Backup writes a backup into a directory, which must be empty or absent, while the database is in use. It is the state
// at one moment after the call: every request that was acknowledged before is in it, none is in it by half. On the
// database's own file system the larger files are hard links, which cost nothing until the database has replaced them.
// progress may be nil.
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

// copyOut is a backup to another file system than the database's own.
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

// BackupTo writes a backup as a tar stream, while the database is in use; see Backup. progress may be nil.
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

// withCheckpoint calls fn with a checkpoint that is removed afterwards.
func (db *DB) withCheckpoint(ctx context.Context, fn func(dir string, m BackupManifest) error) (err error) {
	if !db.backup.TryLock() {
		return ErrBackupRunning
	}
	defer db.backup.Unlock()
	dir := db.o.FS.PathJoin(db.dir, backupFolder)
	if err := db.o.FS.RemoveAll(dir); err != nil { // what a process left that was killed
		return err
	}
	defer func() { err = errors.Join(err, db.o.FS.RemoveAll(dir)) }()
	m, err := db.checkpoint(ctx, dir)
	if err != nil {
		return err
	}
	return fn(dir, *m)
}

// checkpoint puts the files of the database as it is now into a new directory.
func (db *DB) checkpoint(ctx context.Context, dir string) (*BackupManifest, error) {
	if db.memory { // there is no log
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

// Restore makes a database, in a directory that must be empty or absent, from a directory that Backup has written. It
// checks everything before the directory appears under its name. progress may be nil.
func Restore(ctx context.Context, from, dir string, progress BackupProgress) (*BackupManifest, error) {
	return restore(dir, func(dir string) (*BackupManifest, error) {
		return backup.Copy(ctx, vfs.Default, from, vfs.Default, dir, progress)
	})
}

// RestoreFrom is Restore from a tar stream that BackupTo has written.
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

// tryStore opens a store that nobody has used yet, without changing it, and looks whether this program knows its format.
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
