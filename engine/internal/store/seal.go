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

// sealName is the file that says how the others were when the store was closed. Pebble takes what it cannot read at the end of
// its log or manifest for a write that was cut off, and drops it, as it has to after a crash. After a store was closed there is
// no such write: what differs then is damage. The tables of rows have checksums of their own.
const sealName = "SEAL"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// saveLog looks whether the log can be read as it was written, and writes what it holds to tables if it cannot: as long as the store
// is open, that is in memory, too.
func (s *Store) saveLog() {
	if s.Failure() != nil {
		return
	}
	wrong, doubts, err := logfile.Check(s.disk.FS, s.disk.dir)
	if err != nil || wrong == "" && len(doubts) == 0 {
		return // what cannot be read now is noticed when the store is sealed
	}
	s.warn("engine: store: the log cannot be read as it was written; what it holds is written to tables", "damaged", wrong, "in doubt", len(doubts))
	if err := s.Flush(); err != nil {
		s.warn("engine: store: what the log holds was not written to tables", "error", err)
	}
}

// seal notes how the files of a closed store are. Errors: row.ErrCorrupt when the log or the manifest cannot be read: they have no seal
// that vouches for them.
func seal(fs vfs.FS, dir string) error {
	switch wrong, doubts, err := logfile.Check(fs, dir); {
	case err != nil:
		return err
	case wrong != "":
		return fmt.Errorf("%w: %s", row.ErrCorrupt, wrong)
	case len(doubts) > 0:
		return fmt.Errorf("%w: %s: %s cannot be read", row.ErrCorrupt, doubts[0].Log, doubts[0].Span)
	}
	// After a power loss, a file that was removed must not be back beside a seal that does not name it.
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

// unseal compares the files of a store that was closed with what they were then. A store that was not closed has no seal: of its
// logs and its manifest it is looked whether something is damaged that was on disk. The seal is broken before the store is
// opened, which changes the files. Errors: row.ErrCorrupt.
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
			return fmt.Errorf("%w: %s is not as it was when the database was closed", row.ErrCorrupt, file)
		} // else a program that knows of no seals has opened the store since, and moved its marker
	} // else the seal is what is damaged
	if keep {
		return nil
	}
	return errors.Join(fs.Remove(fs.PathJoin(dir, sealName)), syncDir(fs, dir))
}

// afterCrash looks at a store that was not closed. A log whose end may be damaged is kept under another name, because Pebble drops
// the end, and the log when it has taken in the rest.
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

// doubtful begins the name of a log that is kept because its end is in doubt.
const doubtful = "doubtful-"

// sealed takes the lines of a seal, if it is as it was written.
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

// difference names a file of which two seals say different things.
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

// markers are the lines of a seal that tell where the manifest is.
func markers(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, "marker.manifest.") })
}

// sealOf describes the files of a store, one a line: name, size, checksum.
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

// sealable reports whether a file is one that Pebble reads and whose bytes nothing else vouches for.
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
