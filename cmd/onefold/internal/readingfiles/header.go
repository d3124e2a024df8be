package readingfiles

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
)

// Header is the first line of a CSV file: the names of its columns, and their separator.
type Header struct {
	Names []string
	comma rune
}

// ReadHeader reads the header from the beginning of a file. Errors: ErrHeader.
func ReadHeader(head []byte) (*Header, error) {
	line, _, _ := bytes.Cut(bytes.TrimPrefix(head, []byte("\ufeff")), []byte{'\n'})
	h := &Header{comma: separator(line)}
	var err error
	if h.Names, err = h.Split(line); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	for i := range h.Names {
		h.Names[i] = strings.TrimSpace(h.Names[i])
	}
	return h, nil
}

// separator returns the separator of columns: the most frequent of the usual ones.
func separator(line []byte) rune {
	best, n := ',', 0
	for _, c := range []rune{',', ';', '\t'} {
		if found := bytes.Count(line, []byte(string(c))); found > n {
			best, n = c, found
		}
	}
	return best
}

// Split splits a row into cells.
func (h *Header) Split(line []byte) ([]string, error) {
	r := csv.NewReader(bytes.NewReader(line))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = h.comma, -1, false
	return r.Read()
}

// Find returns the index of the column named asked, or of one of the usual names. It returns -1 if
// there is none and without allows that. Errors: ErrHeader, which names the flag that selects the
// column.
func (h *Header) Find(flag, asked string, usual []string, without bool) (int, error) {
	if asked != "" {
		usual, without = []string{asked}, false
	}
	for _, name := range usual {
		if at := slices.IndexFunc(h.Names, func(n string) bool { return n == name || asked == "" && strings.EqualFold(n, name) }); at >= 0 {
			return at, nil
		}
	}
	if without {
		return -1, nil
	}
	return -1, fmt.Errorf("%w: there is no column %s; name the column with %s. The columns are %q", ErrHeader, strings.Join(usual, ", "), flag, h.Names)
}
