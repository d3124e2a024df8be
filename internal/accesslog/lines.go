package accesslog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// MaxLine is the maximum length of a line in bytes: 1 MiB, many times what a web server accepts.
const MaxLine = 1 << 20

// Line is one line of a file.
type Line struct {
	// Number counts from 1.
	Number int64
	// Text is the line without its line ending (LF or CRLF). It is valid until the next line is read.
	Text []byte
}

// Lines reads r to its end, line by line. For a line longer than MaxLine it yields the number, no
// text, and an error that wraps ErrMalformed; the line is skipped in constant memory, and reading
// continues. Any other error is r's own and ends the sequence; a line that it cut short is not
// yielded. A last line without an ending counts as a line.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		s := lineReader{r: bufio.NewReaderSize(r, 64<<10)}
		for number := int64(1); ; number++ {
			text, err := s.next()
			switch {
			case err == nil, errors.Is(err, ErrMalformed):
				if !yield(Line{Number: number, Text: text}, err) {
					return
				}
			case errors.Is(err, io.EOF):
				return
			default:
				yield(Line{Number: number}, fmt.Errorf("accesslog: read line %d: %w", number, err))
				return
			}
		}
	}
}

// lineReader cuts lines out of a reader's buffer, and copies only those that do not fit into it.
type lineReader struct {
	r    *bufio.Reader
	long []byte
}

// next returns the next line. It copies a line only if the reader's buffer does not hold all of it,
// and reads on to the end of a line that is too long without keeping it.
func (s *lineReader) next() ([]byte, error) {
	chunk, err := s.r.ReadSlice('\n')
	if err == nil {
		return trimEnding(chunk), nil
	}
	s.long = s.long[:0]
	tooLong := false
	for errors.Is(err, bufio.ErrBufferFull) {
		if tooLong = tooLong || len(s.long)+len(chunk) > MaxLine; !tooLong {
			s.long = append(s.long, chunk...)
		}
		chunk, err = s.r.ReadSlice('\n')
	}
	ended := errors.Is(err, io.EOF)
	switch {
	case err != nil && !ended:
		return nil, err
	case ended && len(chunk) == 0 && len(s.long) == 0 && !tooLong:
		return nil, io.EOF
	case tooLong || len(s.long)+len(trimEnding(chunk)) > MaxLine:
		return nil, malformed("the line is longer than 1 MiB")
	}
	s.long = append(s.long, chunk...)
	return trimEnding(s.long), nil
}

func trimEnding(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
}
