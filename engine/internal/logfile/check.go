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

// Number returns the number in the name of a file with the given suffix, such as ".log".
func Number(name, suffix string) (number uint64, ok bool) {
	digits, is := strings.CutSuffix(name, suffix)
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, is && err == nil
}

// AmbiguousEnd is the end of a log that may be an interrupted write or may be damaged.
type AmbiguousEnd struct {
	Log string // name of the file
	Span
}

// Check checks the logs and the manifest of a store that was not closed for damage. Damage that
// cannot be distinguished from an interrupted write is a doubt. wrong describes the damage, "" if
// there is none. The store need not exist.
func Check(fs vfs.FS, dir string) (wrong string, doubts []AmbiguousEnd, err error) {
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
	first, later := false, false // whether the first required log exists, and later ones
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
			doubts = append(doubts, AmbiguousEnd{log, s})
		}
	}
	if m.Cut && later && !first { // a log is removed only after the manifest on disk no longer requires it, and this one still does
		return name + ": its last record cannot be read", nil, nil
	}
	return "", doubts, nil
}

// newestLog returns the greatest number of a log.
func newestLog(names []string) (newest uint64) {
	for _, log := range names {
		if number, ok := Number(log, ".log"); ok {
			newest = max(newest, number)
		}
	}
	return newest
}

// openedLog returns the number of the log created when the store was opened, after its manifest,
// which may name a log that does not exist. It returns 0 if the manifest names the first required
// log.
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
