// Package lineprotocol parses InfluxDB's line protocol point by point: an error is about one line,
// with its number, and the other lines are still read. InfluxData's own library does the parsing;
// only this package imports it.
package lineprotocol

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	influx "github.com/influxdata/line-protocol/v2/lineprotocol"
)

// Point is a parsed line.
type Point struct {
	Line        int // line number, from 1
	Measurement string
	Tags        []Tag
	Fields      []Field
	At          time.Time // zero if the line has no timestamp
}

// Tag is a tag of a point.
type Tag struct{ Key, Value string }

// Field is a field of a point. Its value is as written, without quotes, escapes and type suffix.
type Field struct {
	Key  string
	Kind Kind
	Text string // of a Bool "true" or "false"
}

// Kind is the type of a field.
type Kind byte

// The types of fields. A Number is a float or an integer, signed or not.
const (
	Number Kind = iota
	Bool
	String
)

// Error is the error of a line.
type Error struct {
	Line int
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap implements errors.Unwrap.
func (e *Error) Unwrap() error { return e.Err }

// units are the timestamp precisions of both versions of InfluxDB's write API.
var units = map[string]time.Duration{
	"": time.Nanosecond, "ns": time.Nanosecond, "n": time.Nanosecond, "us": time.Microsecond, "u": time.Microsecond, "µ": time.Microsecond,
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
}

// Unit returns the unit of timestamps with a precision: ns (also for ""), us, ms or s, and n, u, m
// and h of version 1. ok is false for others.
func Unit(precision string) (time.Duration, bool) {
	unit, ok := units[precision]
	return unit, ok
}

// joined is the maximum number of lines of one point: texts may contain line breaks.
const joined = 8

// Points parses points whose timestamps count units. Every error is an *Error.
func Points(text []byte, unit time.Duration) iter.Seq2[Point, error] {
	return func(yield func(Point, error) bool) {
		for number := 1; len(text) > 0; {
			line, rest := cut(text)
			p, there, err := read(line, unit)
			used := 1
			for more, after := line, rest; errors.Is(err, errOpen) && used < joined && len(after) > 0; used++ {
				next, left := cut(after)
				more, after = text[:len(more)+len(next)], left
				joint, ok, failed := read(more, unit)
				if failed == nil {
					p, there, err, rest = joint, ok, nil, after
					used++
					break
				}
			}
			if err != nil {
				used, err = 1, &Error{number, err} // the following lines are parsed on their own
			}
			p.Line = number
			if (there || err != nil) && !yield(p, err) {
				return
			}
			text, number = rest, number+used
		}
	}
}

// cut returns the first line, with its ending, and the rest.
func cut(text []byte) (line, rest []byte) {
	if at := bytes.IndexByte(text, '\n'); at >= 0 {
		return text[:at+1], text[at+1:]
	}
	return text, nil
}

// errOpen is wrapped by the error of a text without a closing quote.
var errOpen = errors.New("a string has no closing quote")

// read parses a line. there is false if the line is empty or a comment.
func read(line []byte, unit time.Duration) (p Point, there bool, err error) {
	d := influx.NewDecoderWithBytes(line)
	if !d.Next() {
		return p, false, nil
	}
	name, err := d.Measurement()
	if err != nil {
		return p, true, plain(err)
	}
	p.Measurement = string(name)
	for {
		key, value, err := d.NextTag()
		if err != nil {
			return p, true, plain(err)
		}
		if key == nil {
			break
		}
		p.Tags = append(p.Tags, Tag{string(key), string(value)})
	}
	if err := p.readFields(d); err != nil {
		return p, true, err
	}
	stamp, err := d.TimeBytes()
	if err == nil && stamp != nil {
		p.At, err = readTime(string(stamp), unit)
	}
	if err == nil && d.Next() {
		err = errors.New("there is data after the point")
	}
	return p, true, plain(err)
}

func (p *Point) readFields(d *influx.Decoder) error {
	for {
		key, kind, text, err := d.NextFieldBytes()
		if err != nil {
			if strings.Contains(err.Error(), "closing quote") {
				return errOpen
			}
			return plain(err)
		}
		if key == nil {
			return nil
		}
		f := Field{Key: string(key), Text: string(text)}
		switch kind {
		case influx.Bool:
			v, err := influx.NewValueFromBytes(kind, text)
			if err != nil {
				return fmt.Errorf("field %q: %w", shorten(f.Key), err)
			}
			f.Kind, f.Text = Bool, strconv.FormatBool(v.BoolV())
		case influx.String:
			f.Kind = String
		}
		p.Fields = append(p.Fields, f)
	}
}

func readTime(stamp string, unit time.Duration) (time.Time, error) {
	n, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || n > math.MaxInt64/int64(unit) || n < math.MinInt64/int64(unit) {
		return time.Time{}, fmt.Errorf("timestamp %q is not a valid number of nanoseconds", shorten(stamp))
	}
	return time.Unix(0, n*int64(unit)).UTC(), nil
}

// plain removes the library's line and column numbers from an error: it parses one line at a time.
func plain(err error) error {
	var at *influx.DecodeError
	if errors.As(err, &at) {
		return fmt.Errorf("column %d: %w", at.Column, at.Err)
	}
	return err
}

func shorten(s string) string { return strings.ToValidUTF8(s[:min(len(s), 40)], "?") }
