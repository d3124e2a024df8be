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
	// ErrExists is returned if a file to restore already exists.
	ErrExists = errors.New("file_exists")
	// ErrForeign is returned for a stream that is truncated or not a backup of this kind.
	ErrForeign = errors.New("bad_backup")
)

// Restore creates a database in dir from a backup, with its companion files. A backup of the table
// alone is accepted too. Nothing is overwritten. Either everything is restored, or nothing. For
// errors see Explain.
func Restore(ctx context.Context, r io.Reader, dir string, progress engine.BackupProgress) (m *engine.BackupManifest, files int, err error) {
	a := &stagedFiles{dir: dir, folder: dir + ".beside.partial"}
	defer func() { err = errors.Join(err, a.clear()) }()
	// One side reads the archive, keeps the companion files, and passes everything else on. The
	// other side restores the table from that.
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

// whole reports whether an archive contains all bytes of a file. A sparse entry has only some, and
// declares any number of others to be zeros.
func whole(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return false
		}
	}
	return h.Typeflag == tar.TypeReg
}

// Plain returns the stream, or an error with advice if it is compressed. name is the name of the
// stream, and command the command that reads it from standard input.
func Plain(r io.Reader, name, command string) (io.Reader, error) {
	in := bufio.NewReader(r)
	first, _ := in.Peek(4) // a shorter stream is not a backup, which the restore detects
	for tool, magic := range map[string]string{"gzip": "\x1f\x8b", "zstd": "\x28\xb5\x2f\xfd", "xz": "\xfd7zX", "bzip2": "BZh"} {
		if bytes.HasPrefix(first, []byte(magic)) {
			return nil, fmt.Errorf("compressed: %s is compressed; decompress it first: `%s -dc FILE | %s`", name, tool, command)
		}
	}
	return in, nil
}

// Explain adds advice to an error of a restore. from is the backup, dir the destination.
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

// reason returns the first line of an error, without a leading error code.
func reason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, ErrForeign.Error()+": ")
}
