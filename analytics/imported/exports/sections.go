package exports

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// sections divides a CSV file into its tables: exports of Google Analytics write several of them into one file, each
// behind lines of comments, with empty lines between. An empty line ends a table, one within quotes does not.
type sections struct {
	r        *bufio.Reader
	line     int64    // number of the line last read, from 1
	comments []string // of the section, without #
	pending  []byte   // read and not handed on
	begun    bool     // the file's first bytes were looked at
	quoted   bool     // within quotes
	inLine   bool     // within a line that is longer than the buffer
	record   int      // bytes of the record
	over     bool     // the section is read
	err      error    // of the file, io.EOF at its end
}

const (
	maxComments = 100
	lineBuffer  = 64 << 10
)

func newSections(r io.Reader) *sections {
	return &sections{r: bufio.NewReaderSize(r, lineBuffer), over: true}
}

// next goes to the next table; false at the file's end.
func (s *sections) next() (bool, error) {
	if !s.begun {
		s.begun = true
		if err := s.mark(); err != nil {
			return false, err
		}
	}
	if _, err := io.Copy(io.Discard, s); err != nil { // the rest of a table that nobody wanted
		return false, err
	}
	s.comments = nil
	for s.err == nil {
		part, whole := s.read()
		switch {
		case len(bytes.TrimSpace(part)) == 0 && whole:
			continue
		case part[0] == '#' && whole:
			if len(s.comments) < maxComments {
				s.comments = append(s.comments, strings.TrimSpace(strings.TrimLeft(string(part), "# ")))
			}
			continue
		}
		s.over = false
		s.hand(part, whole)
		return true, nil
	}
	if s.err == io.EOF {
		return false, nil
	}
	return false, s.err
}

// mark passes over a mark of UTF-8, and refuses other encodings.
func (s *sections) mark() error {
	first, _ := s.r.Peek(3) // a shorter file has no mark; its error comes again
	switch {
	case bytes.HasPrefix(first, []byte("\xef\xbb\xbf")):
		_, err := s.r.Discard(3)
		return err
	case bytes.HasPrefix(first, []byte("\xff\xfe")), bytes.HasPrefix(first, []byte("\xfe\xff")):
		return fmt.Errorf("%w: the file is in UTF-16; save it as UTF-8", ErrFormat)
	}
	return nil
}

// read reads a line, or as much of it as the buffer holds. whole says that it is a line from its beginning to its end.
func (s *sections) read() (part []byte, whole bool) {
	part, err := s.r.ReadSlice('\n')
	first := !s.inLine
	s.inLine = err == bufio.ErrBufferFull
	if first && len(part) > 0 {
		s.line++
	}
	if !s.inLine {
		s.err = err
	}
	return part, first && !s.inLine
}

// hand takes a part of a record.
func (s *sections) hand(part []byte, _ bool) {
	s.pending = part
	s.record += len(part)
	if bytes.Count(part, []byte{'"'})%2 == 1 {
		s.quoted = !s.quoted
	}
	if s.record > maxRecord {
		s.err = fmt.Errorf("%w: the row at line %d has more than %d bytes, or a quote that does not end", ErrTooMuch, s.line, maxRecord)
	}
	if !s.quoted && !s.inLine {
		s.record = 0
	}
}

// Read reads the table.
func (s *sections) Read(p []byte) (int, error) {
	for len(s.pending) == 0 {
		if s.over {
			return 0, io.EOF
		}
		if s.err != nil {
			s.over = true
			if s.err == io.EOF {
				return 0, io.EOF
			}
			return 0, s.err
		}
		part, whole := s.read()
		if whole && !s.quoted && len(bytes.TrimSpace(part)) == 0 {
			s.over, s.record = true, 0
			return 0, io.EOF
		}
		s.hand(part, whole)
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}
