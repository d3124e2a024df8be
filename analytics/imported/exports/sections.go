package exports

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/onefold/onefold/internal/mask"
)

// sections splits a CSV file into tables. Google Analytics writes several tables into one file,
// each preceded by comment lines and separated by empty lines. An empty line ends a table, unless
// it is inside quotes.
type sections struct {
	r        *bufio.Reader
	line     int64    // number of the last line read, from 1
	comments []string // of the section, without #
	pending  []byte   // read but not returned yet
	begun    bool     // the byte order mark was checked
	quoted   bool     // inside quotes
	inLine   bool     // inside a line that is longer than the buffer
	record   int      // bytes of the current record
	over     bool     // the section has ended
	err      error    // of the file; io.EOF at its end
	masks    *mask.Masker
}

const (
	maxComments = 100
	lineBuffer  = 64 << 10
)

func newSections(r io.Reader) *sections {
	return &sections{r: bufio.NewReaderSize(r, lineBuffer), over: true}
}

// next moves to the next table and returns false at the end of the file.
func (s *sections) next() (bool, error) {
	if !s.begun {
		s.begun = true
		if err := s.mark(); err != nil {
			return false, err
		}
	}
	if _, err := io.Copy(io.Discard, s); err != nil { // skip the rest of an unread table
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

// mark skips a UTF-8 byte order mark, and rejects other encodings.
func (s *sections) mark() error {
	first, _ := s.r.Peek(3) // shorter files have no mark; the error is returned again later
	switch {
	case bytes.HasPrefix(first, []byte("\xef\xbb\xbf")):
		_, err := s.r.Discard(3)
		return err
	case bytes.HasPrefix(first, []byte("\xff\xfe")), bytes.HasPrefix(first, []byte("\xfe\xff")):
		return fmt.Errorf("%w: the file is in UTF-16; save it as UTF-8", ErrFormat)
	}
	return nil
}

// read returns a line, or the part of it that fits in the buffer. whole reports a complete line.
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

// hand makes a part of a record available to Read.
func (s *sections) hand(part []byte, _ bool) {
	s.pending = part
	s.record += len(part)
	if bytes.Count(part, []byte{'"'})%2 == 1 {
		s.quoted = !s.quoted
	}
	if s.record > maxRecord {
		s.err = fmt.Errorf("%w: the row at line %d has more than %d bytes or an unclosed quote", ErrTooMuch, s.line, maxRecord)
	}
	if !s.quoted && !s.inLine {
		s.record = 0
	}
}

// Read returns the bytes of the current table.
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
