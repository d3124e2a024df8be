package eventcsv

import (
	"bytes"
	"errors"
	"iter"

	"github.com/onefold/onefold/internal/accesslog"
)

// MaxRow is the maximum length of a row in bytes.
const MaxRow = 256 << 10

// Rows joins lines to rows: a line ending inside quotes belongs to the value. Each row has the
// number of its first line. A quote that is never closed makes one malformed row of up to MaxRow
// bytes, whose error says how many lines it took; reading continues after it. Errors that are not
// about a line end the sequence, as in Lines.
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

// pending is a row with an open quote.
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

// ended returns the row if its last line closed it or made it too long.
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

// broken returns a row that is never closed, as malformed.
func (p *pending) broken() (accesslog.Line, error) {
	row := accesslog.Line{Number: p.number, Text: p.text}
	err := malformed("a quote is not closed within %d lines", p.lines)
	p.lines, p.text = 0, p.text[:0]
	return row, err
}
