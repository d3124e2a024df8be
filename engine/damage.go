package engine

import (
	"fmt"
	"log/slog"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// storeError makes ErrCorrupt, on one line and with the file's name, of what the store says of bytes that are not as they
// were written. Other errors stay as they are.
func storeError(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) {
		return err
	}
	what, _, _ := strings.Cut(err.Error(), "\n")
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return fmt.Errorf("%w: %s: %s", ErrCorrupt, fileOf(info.Path), what)
	}
	return fmt.Errorf("%w: %s", ErrCorrupt, what)
}

// fileOf is a file's name without its directory, which is the database's.
func fileOf(name string) string { return path.Base(filepath.ToSlash(name)) }

// valueOf is the value of an iterator's row, and storeError.
func valueOf(it *pebble.Iterator) ([]byte, error) {
	v, err := it.ValueAndErr()
	return v, storeError(err)
}

// damageLog tells of damage that the store comes upon. Each reader gets an error besides, so a file is told once.
type damageLog struct {
	log  *slog.Logger
	mu   sync.Mutex
	told map[string]bool // by file; there are no more than files
}

// reading is told of a block that does not fit its checksum. That is no reason to end the process, which is what the
// store does without: the reader gets an error, and the rest of the database is as good as ever.
func (d *damageLog) reading(info pebble.DataCorruptionInfo) {
	what, _, _ := strings.Cut(info.Details.Error(), "\n")
	d.tell(fileOf(info.Path), what)
}

// background is told what a flush or compaction failed by. It is tried again and again, so damage is told once.
func (d *damageLog) background(err error) {
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		d.reading(*info)
		return
	}
	d.log.Error("engine: store: background work failed", "error", storeError(err))
}

func (d *damageLog) tell(file, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.told[file] {
		d.told[file] = true
		d.log.Error("engine: a file is damaged; check tells what of it, and a backup brings it back", "file", file, "error", what)
	}
}
