package warehouse

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// The log: an entry a commit, and now and then a checkpoint, which is the state after all entries up to its own number.
const (
	logFolder  = "_log/"
	entryEnd   = ".json"
	checkEnd   = ".checkpoint.json.zst"
	logFormat  = 1
	checkEvery = 64             // commits
	keepLog    = 24 * time.Hour // entries that a checkpoint makes needless stay for so long
	keepMissed = 100
)

// Entry is a commit.
type Entry struct {
	Format    int                 `json:"format"`
	Version   int64               `json:"version"` // its number, from 1
	ID        string              `json:"id"`      // by which whoever wrote it knows it again
	At        time.Time           `json:"at"`
	Why       string              `json:"why"` // export, compact, repair, begin, sweep, erase
	Add       []File              `json:"add,omitempty"`
	Remove    []string            `json:"remove,omitempty"` // paths
	Source    string              `json:"source,omitempty"` // the stream that positions are of
	Positions map[string]Position `json:"positions,omitempty"`
	Forget    []string            `json:"forget,omitempty"` // shards that are gone, and were read to their ends
	Missed    []Missed            `json:"missed,omitempty"`
	Repair    *Repair             `json:"repair,omitempty"`   // what is to be made good from the table, as far as it is done
	Repaired  bool                `json:"repaired,omitempty"` // all of it is
	Skipped   int64               `json:"skipped,omitempty"`  // changes that could not be read

	// Fence makes the commits of all fail that were begun before: their files may be deleted.
	Fence bool `json:"fence,omitempty"`
}

// progress reports whether the entry changes how far the stream is read, which one exporter does at a time.
func (e *Entry) progress() bool {
	return e.Source != "" || len(e.Positions)+len(e.Forget)+len(e.Missed) > 0 || e.Repair != nil || e.Repaired
}

// conflicts reports whether an entry that was begun before o was written cannot be written after it.
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

// Position is how far a shard of the stream is exported.
type Position struct {
	After string    `json:"after,omitempty"` // sequence number of the last change
	Done  bool      `json:"done,omitempty"`  // the shard is closed, and that was the last
	At    time.Time `json:"at,omitzero"`     // when the change was written
}

// Missed says that changes were trimmed before they were exported.
type Missed struct {
	At    time.Time `json:"at"` // when that was noticed
	Shard string    `json:"shard"`
	After string    `json:"after,omitempty"`
}

// Repair is under way while the warehouse is compared with the table: at first, and after changes were missed.
type Repair struct {
	Why string `json:"why"`
	// Removes says that rows whose facts are not in the table though they have not expired are taken out: they were
	// deleted. Of another table than before, nothing is.
	Removes bool      `json:"removes,omitempty"`
	Since   time.Time `json:"since"`
	// Dataset, Key and At are where the comparison goes on: behind them.
	Dataset Dataset `json:"dataset,omitempty"`
	Key     string  `json:"key,omitempty"`
	Sub     string  `json:"sub,omitempty"`
	At      int64   `json:"time,omitempty"`
}

func entryName(version int64) string { return fmt.Sprintf("%s%020d%s", logFolder, version, entryEnd) }
func checkName(version int64) string { return fmt.Sprintf("%s%020d%s", logFolder, version, checkEnd) }

// parseLogName says what an object of the log is.
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
		return nil, fmt.Errorf("%w: %s has format %d, and this program reads %d", ErrFormat, name, e.Format, logFormat)
	}
	if entryName(e.Version) != name {
		return nil, fmt.Errorf("%w: %s says it is %d", ErrDamaged, name, e.Version)
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
