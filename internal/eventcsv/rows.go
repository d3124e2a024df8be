package eventcsv

import (
	"bytes"
	"errors"
	"iter"

	"github.com/onefold/onefold/internal/accesslog"
)

// MaxRow is the length in bytes beyond which a row is not read.
const MaxRow = 256 << 10

// Rows puts lines together to rows: a line ending inside quotes belongs to the value. Each has the number of the line that
// it begins in. A quote that is never closed makes one malformed row of up to MaxRow bytes, which says how many lines it
// took; reading goes on behind it. Errors that are not of a line end the lines, as they do there.
func Rows(lines iter.Seq2[accesslog.Line, error]) iter.Seq2[accesslog.Line, error] {
	return func(yield func(accesslog.Line, error) bool) {
		var open pending
		for line, err := range lines {
			switch {
			case err != nil && !errors.Is(err, accesslog.ErrMalformed):
				if open.lines > 0 && !yield(open.broken()) {
					return
				}
				yield(line, err)
				return
			case err != nil:
				if open.lines > 0 && !yield(open.broken()) || !yield(line, malformed("the line is too long")) {
					return
				}
			case open.lines == 0 && bytes.Count(line.Text, quote)%2 == 0:
				if !yield(line, nil) {
					return
				}
			default:
				open.add(line)
				if row, err, ended := open.ended(line); ended && !yield(row, err) {
					return
				}
			}
		}
		if open.lines > 0 {
			yield(open.broken())
		}
	}
}

var quote = []byte{'"'}

// pending is a row of which a value is still open.
type pending struct {
	number int64
	lines  int
	text   []byte
}

func (p *pending) add(line accesslog.Line) {
	if p.lines == 0 {
		p.number = line.Number
	} else {
		p.text = append(p.text, '\n')
	}
	p.text = append(p.text, line.Text...)
	p.lines++
}

// ended takes the row out, if its last line closed it or made it too long.
func (p *pending) ended(last accesslog.Line) (row accesslog.Line, err error, ended bool) {
	switch {
	case len(p.text) > MaxRow:
		row, err = p.broken()
		return row, err, true
	case p.lines > 1 && bytes.Count(last.Text, quote)%2 == 1:
		row = accesslog.Line{Number: p.number, Text: p.text}
		p.lines, p.text = 0, p.text[:0]
		return row, nil, true
	}
	return row, nil, false
}

// broken takes a row out that nothing closes.
func (p *pending) broken() (accesslog.Line, error) {
	row := accesslog.Line{Number: p.number, Text: p.text}
	err := malformed("a quote is not closed within %d lines", p.lines)
	p.lines, p.text = 0, p.text[:0]
	return row, err
}
