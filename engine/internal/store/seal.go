package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine/internal/logfile"
	"github.com/onefold/onefold/engine/internal/row"
)

// sealName is the file that describes the other files as they were when the store was closed.
// Pebble treats unreadable data at the end of its log or manifest as an interrupted write and drops
// it, as it must after a crash. If the store was closed, there is no such write, so any difference
// is damage. Row files have their own checksums.
const sealName = "SEAL"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// saveLog checks that the log can be read, and writes its contents to row files if not. While the
// store is open, these contents are also in memory.
func (s *Store) saveLog() {
	if s.Failure() != nil {
		return
	}
	wrong, doubts, err := logfile.Check(s.disk.FS, s.disk.dir)
	if err != nil || wrong == "" && len(doubts) == 0 {
		return // unreadable files are detected when the store is sealed
	}
	s.warn("engine: store: the log cannot be read as it was written; what it holds is written to tables", "damaged", wrong, "in doubt", len(doubts))
	if err := s.Flush(); err != nil {
		s.warn("engine: store: what the log holds was not written to tables", "error", err)
	}
}

// seal describes the files of a closed store. Errors: row.ErrCorrupt if the log or manifest cannot
// be read, so that no seal vouches for them.
func seal(fs vfs.FS, dir string) error {
	switch wrong, doubts, err := logfile.Check(fs, dir); {
	case err != nil:
		return err
	case wrong != "":
		return fmt.Errorf("%w: %s", row.ErrCorrupt, wrong)
	case len(doubts) > 0:
		return fmt.Errorf("%w: %s: %s cannot be read", row.ErrCorrupt, doubts[0].Log, doubts[0].Span)
	}
	// After a power loss, a deleted file must not reappear alongside a seal that does not list it.
	if err := syncDir(fs, dir); err != nil {
		return err
	}
	lines, err := sealOf(fs, dir)
	if err != nil {
		return err
	}
	text := []byte(strings.Join(lines, "\n") + "\n")
	text = fmt.Appendf(text, "%08x\n", crc32.Checksum(text, castagnoli))
	f, err := fs.Create(fs.PathJoin(dir, sealName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close(), syncDir(fs, dir))
}

// unseal compares the files of a closed store with its seal. A store that was not closed has no
// seal; its logs and manifest are checked for damage to data that had been on disk. The seal is
// removed before the store is opened, because opening modifies the files. Errors: row.ErrCorrupt.
func unseal(fs vfs.FS, dir string, keep bool, warn func(msg string, args ...any)) error {
	text, err := readAll(fs, fs.PathJoin(dir, sealName))
	if errors.Is(err, os.ErrNotExist) {
		return afterCrash(fs, dir, keep, warn)
	}
	if err != nil {
		return err
	}
	if noted, ok := sealed(text); ok {
		now, err := sealOf(fs, dir)
		if err != nil {
			return err
		}
		if file, ok := difference(noted, now); ok && slices.Equal(markers(noted), markers(now)) {
			return fmt.Errorf("%w: %s has changed since the database was closed", row.ErrCorrupt, file)
		} // else a program that knows of no seals has opened the store since, and moved its marker
	} // otherwise the seal itself is damaged
	if keep {
		return nil
	}
	return errors.Join(fs.Remove(fs.PathJoin(dir, sealName)), syncDir(fs, dir))
}

// afterCrash checks a store that was not closed. A log whose end may be damaged is copied under
// another name, because Pebble drops the end, and deletes the log after replaying the rest.
func afterCrash(fs vfs.FS, dir string, keep bool, warn func(msg string, args ...any)) error {
	wrong, doubts, err := logfile.Check(fs, dir)
	if err == nil && wrong != "" {
		err = fmt.Errorf("%w: %s", row.ErrCorrupt, wrong)
	}
	if err != nil || keep {
		return err
	}
	for _, d := range doubts {
		kept := doubtful + d.Log
		if err := vfs.Copy(fs, fs.PathJoin(dir, d.Log), fs.PathJoin(dir, kept)); err != nil {
			warn("engine: store: the end of the log is in doubt and was not kept", "log", d.Log, "error", err)
			continue
		}
		warn("engine: store: the end of the log cannot be read. If the power failed, this is a write that was not acknowledged. If not, the log is damaged, and writes of the last moments are lost",
			"log", d.Log, "bytes", d.Span.String(), "kept", kept)
	}
	return nil
}

// doubtful is the prefix for copies of logs whose end is in doubt.
const doubtful = "doubtful-"

// sealed returns the lines of a seal, if its checksum is right.
func sealed(text []byte) (lines []string, ok bool) {
	at := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
	if string(text[at:]) != fmt.Sprintf("%08x\n", crc32.Checksum(text[:at], castagnoli)) {
		return nil, false
	}
	in := bufio.NewScanner(bytes.NewReader(text[:at]))
	for in.Scan() {
		lines = append(lines, in.Text())
	}
	return lines, in.Err() == nil
}

// difference returns a file about which two seals disagree.
func difference(noted, now []string) (file string, ok bool) {
	for _, lists := range [][2][]string{{noted, now}, {now, noted}} {
		for _, line := range lists[0] {
			if !slices.Contains(lists[1], line) {
				file, _, _ = strings.Cut(line, " ")
				return file, true
			}
		}
	}
	return "", false
}

// markers returns the lines of a seal that identify the manifest.
func markers(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, "marker.manifest.") })
}

// sealOf describes the files of a store, one per line: name, size, checksum.
func sealOf(fs vfs.FS, dir string) (lines []string, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		info, err := fs.Stat(fs.PathJoin(dir, name))
		if err != nil {
			return nil, err
		}
		if info.IsDir() || !sealable(name) {
			continue
		}
		sum, err := sumOf(fs, fs.PathJoin(dir, name))
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("%s %d %s", name, info.Size(), sum))
	}
	slices.Sort(lines)
	return lines, nil
}

// sealable reports whether Pebble reads a file whose contents have no other protection.
func sealable(name string) bool {
	return strings.HasSuffix(name, ".log") && !strings.HasPrefix(name, doubtful) || strings.HasPrefix(name, "MANIFEST-") || strings.HasPrefix(name, "OPTIONS-") || strings.HasPrefix(name, "marker.")
}

func sumOf(fs vfs.FS, name string) (_ string, err error) {
	f, err := fs.Open(name, vfs.SequentialReadsOption)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := crc32.New(castagnoli)
	_, err = io.Copy(sum, f)
	return fmt.Sprintf("%08x", sum.Sum32()), err
}

func readAll(fs vfs.FS, name string) (_ []byte, err error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(f)
}

// syncDir makes the names in a directory durable.
func syncDir(fs vfs.FS, dir string) error {
	f, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
