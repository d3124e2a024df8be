package wholebackup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/onefold/onefold/engine"
)

var (
	// ErrThere is returned when a file that would be restored is there already.
	ErrThere = errors.New("file_exists")
	// ErrForeign is returned for a stream that is cut off, or no backup of this kind.
	ErrForeign = errors.New("bad_backup")
)

// Restore makes a database in dir of a backup, and puts beside it what was beside. A backup of the table alone will do. Nothing is
// written over. All is there afterwards, or nothing. For errors see Explain.
func Restore(ctx context.Context, r io.Reader, dir string, progress engine.BackupProgress) (m *engine.BackupManifest, files int, err error) {
	a := &aside{dir: dir, folder: dir + ".beside.partial"}
	defer func() { err = errors.Join(err, a.clear()) }()
	err = piped(ctx, func(w io.Writer) error {
		in, out := tar.NewReader(r), tar.NewWriter(w)
		err := each(in, func(h *tar.Header) error {
			if !whole(h) {
				return fmt.Errorf("%w: %.80q is not a file, or is incomplete", ErrForeign, h.Name)
			}
			name, beside := strings.CutPrefix(h.Name, prefix)
			if !beside {
				return pass(out, &tar.Header{Typeflag: tar.TypeReg, Name: h.Name, Size: h.Size}, in)
			}
			return a.keep(name, h, in)
		})
		if err != nil {
			return err
		}
		return out.Close()
	}, func(r io.Reader) (err error) {
		m, err = engine.RestoreFrom(ctx, r, dir, progress)
		return err
	})
	if err == nil {
		err = a.put()
	}
	if err != nil {
		return nil, 0, err
	}
	return m, len(a.kept), nil
}

// whole reports whether an archive has all bytes of a file: of a sparse one it has a few, and says that the rest, any number of
// them, are zeros.
func whole(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return false
		}
	}
	return h.Typeflag == tar.TypeReg
}

// Plain returns what it reads, unless that is compressed: then it says what to do. name is what is read, and command what reads
// standard input.
func Plain(r io.Reader, name, command string) (io.Reader, error) {
	in := bufio.NewReader(r)
	first, _ := in.Peek(4) // a shorter stream is no backup, which is found out
	for tool, magic := range map[string]string{"gzip": "\x1f\x8b", "zstd": "\x28\xb5\x2f\xfd", "xz": "\xfd7zX", "bzip2": "BZh"} {
		if bytes.HasPrefix(first, []byte(magic)) {
			return nil, fmt.Errorf("compressed: %s is compressed; decompress it first: `%s -dc FILE | %s`", name, tool, command)
		}
	}
	return in, nil
}

// Explain says of an error of a restore what to do about it. from is what was restored, into dir.
func Explain(err error, from, dir string) error {
	switch {
	case errors.Is(err, engine.ErrNotEmpty):
		return fmt.Errorf("not_empty: %s is not empty, and nothing is overwritten: choose an empty or absent directory, or remove the leftover files (%w)", dir, err)
	case errors.Is(err, engine.ErrBackupFormat), errors.Is(err, engine.ErrFormat):
		return fmt.Errorf("newer_backup: %s was made by a newer version and was not restored: restore it with that version (%w)", from, err)
	}
	for _, bad := range []error{ErrForeign, engine.ErrBackupIncomplete, engine.ErrBackupDamaged, tar.ErrHeader, tar.ErrFieldTooLong, io.ErrUnexpectedEOF} {
		if errors.Is(err, bad) {
			return fmt.Errorf("%w: %s is truncated, damaged or not a backup, and was not restored: copy it again from its source, or use another backup (%s)", ErrForeign, from, reason(err))
		}
	}
	return err
}

// reason is the first line of an error, without the code that is put before it.
func reason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, ErrForeign.Error()+": ")
}
