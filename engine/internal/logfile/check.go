package logfile

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Number reads the number of a file of some kind, such as ".log", from its name.
func Number(name, suffix string) (number uint64, ok bool) {
	digits, is := strings.CutSuffix(name, suffix)
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, is && err == nil
}

// Doubt is the end of a log that may be a write that was cut off, and may be damaged.
type Doubt struct {
	Log string // the file
	Span
}

// Check looks whether the logs and the manifest of a store that was not closed are damaged, as far as that can be told from a
// write that was cut off; what cannot be told is a doubt. wrong is what is damaged, "" for nothing. There may be no store yet.
func Check(fs vfs.FS, dir string) (wrong string, doubts []Doubt, err error) {
	names, err := fs.List(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "marker.manifest.") }) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	m, name, err := ReadManifest(fs, dir)
	if errors.Is(err, ErrManifest) {
		return name + ": it cannot be read to its end", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	opened := openedLog(name, m.Log)
	newest := newestLog(names)
	first, later := false, false // whether there is the first log that counts, and others
	for _, log := range names {
		number, ok := Number(log, ".log")
		if !ok || number < m.Log {
			continue
		}
		first, later = first || number == m.Log || number == opened, later || number > m.Log
		lost, err := lostOf(fs, fs.PathJoin(dir, log), number)
		if err != nil {
			return "", nil, err
		}
		for _, s := range lost {
			if s.Damaged || s.Closed && number < newest {
				return fmt.Sprintf("%s: %s cannot be read", log, s), nil, nil
			}
			doubts = append(doubts, Doubt{log, s})
		}
	}
	if m.Cut && later && !first { // a log is removed when the manifest says on disk that it does not count, and this one says that it does
		return name + ": its last record cannot be read", nil, nil
	}
	return "", doubts, nil
}

// newestLog is the greatest number of a log.
func newestLog(names []string) (newest uint64) {
	for _, log := range names {
		if number, ok := Number(log, ".log"); ok {
			newest = max(newest, number)
		}
	}
	return newest
}

// openedLog is the log that was made when the store was opened, after its manifest, which may say a number that no log has; 0 if the
// manifest says since which log they count.
func openedLog(manifest string, says uint64) uint64 {
	number, ok := Number(strings.TrimPrefix(manifest, "MANIFEST-"), "")
	if !ok || says >= number {
		return 0
	}
	return number + 1
}

func lostOf(fs vfs.FS, path string, number uint64) (lost []Span, err error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return Read(f, info.Size(), number, func([]byte) error { return nil })
}
