package exports

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"slices"
)

// headBytes is how much of a file is examined to detect its format.
const headBytes = 64 << 10

// Detect reports whether a file is an export of daily counts: a folder or archive of tables, or a
// single table. Errors: those of the file system.
func Detect(name string) (yes bool, err error) {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		return err == nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err = errors.Join(f.Close(), ignore(err, io.EOF, io.ErrUnexpectedEOF)); err != nil {
		return false, err
	}
	return bytes.HasPrefix(head[:n], []byte("PK\x03\x04")) || hasTable(head[:n]), nil
}

func ignore(err error, these ...error) error {
	if slices.Contains(these, err) {
		return nil
	}
	return err
}

// hasTable reports whether the beginning of a file contains a table of daily counts.
func hasTable(head []byte) bool {
	s := newSections(bytes.NewReader(head))
	for {
		if more, err := s.next(); err != nil || !more {
			return false
		}
		r := csv.NewReader(s)
		r.FieldsPerRecord = -1
		if header, err := r.Read(); err == nil && len(header) <= maxColumns {
			if _, err := layoutOf(header, s.comments); err == nil {
				return true
			}
		}
	}
}
