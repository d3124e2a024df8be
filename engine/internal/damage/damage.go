// Package damage detects damaged files of a store. It converts the store's various errors to
// row.ErrCorrupt, with text on a single line.
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

// Of converts errors about damaged files to row.ErrCorrupt, with the file's name and on one line.
// It returns other errors unchanged.
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

// isOther reports whether a row file named in the manifest is missing or is a different file. The
// store has no typed error for it.
func isOther(err error) bool {
	text := err.Error()
	return errors.Is(err, os.ErrNotExist) && strings.Contains(text, "(type sstable)") || strings.Contains(text, "object size mismatch")
}

// fileOf returns the name of a file without the database's directory.
func fileOf(name string) string { return path.Base(filepath.ToSlash(name)) }

// Value returns the value of an iterator's row. Its error is converted by Of.
func Value(it *pebble.Iterator) ([]byte, error) {
	v, err := it.ValueAndErr()
	return v, Of(err)
}

// Log logs damage found by the store. Readers get errors as well, so each file is logged only once.
type Log struct {
	log  *slog.Logger
	mu   sync.Mutex
	told map[string]bool // by file, so it is bounded by their number
}

// NewLog returns a Log that writes to a logger.
func NewLog(log *slog.Logger) *Log { return &Log{log: log, told: map[string]bool{}} }

// Reading is called for a block with a wrong checksum. By default the store would end the process.
// That is not necessary: the reader gets an error, and the rest of the database remains usable.
func (d *Log) Reading(info pebble.DataCorruptionInfo) {
	what, _, _ := strings.Cut(info.Details.Error(), "\n")
	d.report(fileOf(info.Path), what)
}

// Background is called when a flush or compaction fails. The store keeps retrying it, so damage is
// logged only once.
func (d *Log) Background(err error) {
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		d.Reading(*info)
		return
	}
	d.log.Error("engine: store: background work failed", "error", Of(err).Error()) // the original text contains a stack trace
}

// Scrubbed is called for damage found by a scrub, in files that may not have been read otherwise.
func (d *Log) Scrubbed(file string, err error) {
	what, _, _ := strings.Cut(err.Error(), "\n")
	d.report(fileOf(file), what)
}

// Files returns the number of damaged files.
func (d *Log) Files() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.told)
}

func (d *Log) report(file, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.told[file] {
		d.told[file] = true
		d.log.Error("engine: a file is damaged; `onefold dynamodb check` shows what it held; restore a backup", "file", file, "error", what)
	}
}
