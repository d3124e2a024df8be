package engine

import (
	"errors"

	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
)

var (
	// ErrClosed is returned when the database has been closed.
	ErrClosed = errors.New("engine: database is closed")
	// ErrFormat is returned when a directory holds a newer format than this program knows.
	ErrFormat = errors.New("engine: directory was written by a newer version")
	// ErrCorrupt is returned when bytes on disk do not have the documented form, or do not fit their checksum. What else
	// the database holds can be read.
	ErrCorrupt = row.ErrCorrupt
	// ErrFatal is returned once the disk has failed; see Options.OnFatal. What was acknowledged before is on it.
	ErrFatal = store.ErrFatal
	// ErrInUse is returned when a directory is open elsewhere, in this process or another.
	ErrInUse = store.ErrInUse
	// ErrBackup is returned when a directory is a backup, which opening would change.
	ErrBackup = errors.New("engine: directory is a backup: restore it first")
	// ErrNoDirectory is returned when a database is opened without the name of its directory.
	ErrNoDirectory = errors.New("engine: no directory is named; OpenMemory needs none")
	// errWrongKey is returned for an item that is about to be stored under another key than its own: a fault of this package.
	errWrongKey = errors.New("its attributes are not those of the key that it would be stored under")
)
