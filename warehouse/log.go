package warehouse

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// The log has one entry per commit, and from time to time a checkpoint. A checkpoint is the state
// after all entries up to and including its own number.
const (
	logFolder  = "_log/"
	entryEnd   = ".json"
	checkEnd   = ".checkpoint.json.zst"
	logFormat  = 1
	checkEvery = 64             // number of commits
	keepLog    = 24 * time.Hour // how long entries are kept after a checkpoint has replaced them
	keepMissed = 100
)

// Entry is a commit.
type Entry struct {
	Format    int                 `json:"format"`
	Version   int64               `json:"version"` // its number, starting at 1
	ID        string              `json:"id"`      // identifies the commit for its own writer
	At        time.Time           `json:"at"`
	Why       string              `json:"why"` // export, compact, repair, begin, sweep or erase
	Add       []File              `json:"add,omitempty"`
	Remove    []string            `json:"remove,omitempty"` // paths of files
	Source    string              `json:"source,omitempty"` // the stream that the positions belong to
	Positions map[string]Position `json:"positions,omitempty"`
	Forget    []string            `json:"forget,omitempty"` // shards that no longer exist and were read to their ends
	Missed    []Gap               `json:"missed,omitempty"`
	Repair    *Repair             `json:"repair,omitempty"`   // the repair from the table, and its progress
	Repaired  bool                `json:"repaired,omitempty"` // whether the repair is complete
	Skipped   int64               `json:"skipped,omitempty"`  // number of changes that could not be read

	// Fence makes every commit fail that was begun before it, because the files of that commit may
	// be deleted.
	Fence bool `json:"fence,omitempty"`
}

// progress reports whether the entry changes the progress of reading the stream. Only one exporter
// may change it at a time.
func (e *Entry) progress() bool {
	return e.Source != "" || len(e.Positions)+len(e.Forget)+len(e.Missed) > 0 || e.Repair != nil || e.Repaired
}

// conflicts reports whether an entry that was begun before o was written must not be written after
// o.
func (e *Entry) conflicts(o *Entry) bool {
	if o.Fence || e.progress() && o.progress() {
		return true
	}
	gone := make(map[string]bool, len(o.Remove))
	for _, p := range o.Remove {
		gone[p] = true
	}
	for _, p := range e.Remove {
		if gone[p] {
			return true
		}
	}
	return false
}

// Position is the progress of exporting one shard of the stream.
type Position struct {
	After string    `json:"after,omitempty"` // sequence number of the last exported change
	Done  bool      `json:"done,omitempty"`  // whether the shard is closed and After is its last change
	At    time.Time `json:"at,omitzero"`     // when the change was written
}

// Gap records that changes were trimmed from the stream before they were exported.
type Gap struct {
	At    time.Time `json:"at"` // when the loss was noticed
	Shard string    `json:"shard"`
	After string    `json:"after,omitempty"`
}

// Repair is the state of a comparison of the warehouse with the table. There is one at the start,
// and after changes were missed.
type Repair struct {
	Why string `json:"why"`
	// Removes makes the repair remove rows whose facts are missing from the table although they
	// have not expired, because they were deleted. Nothing is removed if the table is a different
	// one than before.
	Removes bool      `json:"removes,omitempty"`
	Since   time.Time `json:"since"`
	// The comparison continues after Dataset, Key, Sub and At.
	Dataset Dataset `json:"dataset,omitempty"`
	Key     string  `json:"key,omitempty"`
	Sub     string  `json:"sub,omitempty"`
	At      int64   `json:"time,omitempty"`
}

func entryName(version int64) string { return fmt.Sprintf("%s%020d%s", logFolder, version, entryEnd) }
func checkName(version int64) string { return fmt.Sprintf("%s%020d%s", logFolder, version, checkEnd) }

// parseLogName tells what an object of the log is: an entry or a checkpoint, and of which version.
func parseLogName(name string) (version int64, checkpoint, ok bool) {
	digits, inLog := strings.CutPrefix(name, logFolder)
	if rest, is := strings.CutSuffix(digits, checkEnd); is {
		digits, checkpoint = rest, true
	} else if rest, is := strings.CutSuffix(digits, entryEnd); is {
		digits = rest
	} else {
		inLog = false
	}
	version, err := strconv.ParseInt(digits, 10, 64)
	return version, checkpoint, inLog && err == nil && len(digits) == 20 && version > 0
}

func parseEntry(name string, b []byte) (*Entry, error) {
	e := &Entry{}
	if err := json.Unmarshal(b, e); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	if e.Format > logFormat {
		return nil, fmt.Errorf("%w: %s has format %d; this program reads format %d", ErrFormat, name, e.Format, logFormat)
	}
	if entryName(e.Version) != name {
		return nil, fmt.Errorf("%w: %s contains version %d", ErrDamaged, name, e.Version)
	}
	return e, placeFiles(e.Add)
}

// placeFiles fills in the partitions of files.
func placeFiles(files []File) (err error) {
	for i := range files {
		if files[i].Partition, err = parsePath(files[i].Path); err != nil {
			return err
		}
	}
	return nil
}

func compress(b []byte) ([]byte, error) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return z.EncodeAll(b, nil), nil
}

func decompress(b []byte) ([]byte, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxMeta))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return z.DecodeAll(b, nil)
}
