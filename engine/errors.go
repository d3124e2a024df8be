package engine

import (
	"errors"

	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
)

var (
	// ErrClosed is returned after the database has been closed.
	ErrClosed = errors.New("engine: database is closed")
	// ErrFormat is returned if a directory has a newer format than this program supports.
	ErrFormat = errors.New("engine: directory was written by a newer version")
	// ErrCorrupt is returned if stored bytes do not have the documented form or do not match their
	// checksum. The rest of the database remains readable.
	ErrCorrupt = row.ErrCorrupt
	// ErrFatal is returned once the disk has failed; see Options.OnFatal. All writes acknowledged
	// before are on the disk.
	ErrFatal = store.ErrFatal
	// ErrInUse is returned if a directory is already open, in this process or another.
	ErrInUse = store.ErrInUse
	// ErrBackup is returned if a directory is a backup, which opening would modify.
	ErrBackup = errors.New("engine: directory is a backup; restore it first")
	// ErrNoDirectory is returned if no directory is given.
	ErrNoDirectory = errors.New("engine: directory is empty; use OpenMemory for a database in memory")
	// errWrongKey is returned if an item would be stored under a key other than its own, which is a
	// bug in this package.
	errWrongKey = errors.New("its attributes differ from the key that it would be stored under")
)
