// Package damage says what of a store's files is not as it was written: it makes errors of it that a caller can tell from
// others, on one line. It exists so that no caller of the store has to know how that tells of damage; only the engine uses it.
package damage

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/row"
)

// Of makes row.ErrCorrupt, on one line and with the file's name, of what the store says of bytes that are not as they
// were written. Other errors stay as they are.
func Of(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) && !isOther(err) {
		return err
	}
	what, _, _ := strings.Cut(err.Error(), "\n")
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return fmt.Errorf("%w: %s: %s", row.ErrCorrupt, fileOf(info.Path), what)
	}
	return fmt.Errorf("%w: %s", row.ErrCorrupt, what)
}

// isOther reports whether a file of rows is not there, or not the one, that the manifest names. The store has no error of its own for it.
func isOther(err error) bool {
	text := err.Error()
	return errors.Is(err, os.ErrNotExist) && strings.Contains(text, "(type sstable)") || strings.Contains(text, "object size mismatch")
}

// fileOf is a file's name without its directory, which is the database's.
func fileOf(name string) string { return path.Base(filepath.ToSlash(name)) }

// Value is the value of an iterator's row, and Of.
func Value(it *pebble.Iterator) ([]byte, error) {
	v, err := it.ValueAndErr()
	return v, Of(err)
}

// Log tells of damage that the store comes upon. Each reader gets an error besides, so a file is told once.
type Log struct {
	log  *slog.Logger
	mu   sync.Mutex
	told map[string]bool // by file; there are no more than files
}

// NewLog returns one that writes to a logger.
func NewLog(log *slog.Logger) *Log { return &Log{log: log, told: map[string]bool{}} }

// Reading is told of a block that does not fit its checksum. That is no reason to end the process, which is what the
// store does without: the reader gets an error, and the rest of the database is as good as ever.
func (d *Log) Reading(info pebble.DataCorruptionInfo) {
	what, _, _ := strings.Cut(info.Details.Error(), "\n")
	d.tell(fileOf(info.Path), what)
}

// Background is told what a flush or compaction failed by. It is tried again and again, so damage is told once.
func (d *Log) Background(err error) {
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		d.Reading(*info)
		return
	}
	d.log.Error("engine: store: background work failed", "error", Of(err).Error()) // its own form has a stack
}

// Scrubbed is told what a file that nobody has read otherwise is damaged by.
func (d *Log) Scrubbed(file string, err error) {
	what, _, _ := strings.Cut(err.Error(), "\n")
	d.tell(fileOf(file), what)
}

// Files is how many damaged files were told of.
func (d *Log) Files() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.told)
}

func (d *Log) tell(file, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.told[file] {
		d.told[file] = true
		d.log.Error("engine: a file is damaged; check tells what of it, and a backup brings it back", "file", file, "error", what)
	}
}
