package readingfiles

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/onefold/onefold/internal/accesslog"
	"github.com/onefold/onefold/internal/eventcsv"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/payload"
)

// Format is how a file tells of readings.
type Format string

// The formats. Auto tells from the beginning of each file which it is.
const (
	Auto  Format = "auto"
	CSV   Format = "csv"
	JSON  Format = "jsonl"
	Lines Format = "line" // InfluxDB's line protocol
)

// Formats are their names, for a flag.
func Formats() []string { return []string{string(Auto), string(CSV), string(JSON), string(Lines)} }

// ErrHeader is returned for a CSV whose columns are not what is asked for.
var ErrHeader = errors.New("wrong_header")

// Options say how files are read. The zero value tells what it can from each file.
type Options struct {
	Format Format
	Device string // whose readings they are, where a file does not say it

	// Of CSV, TimeFormat of line protocol, too:
	DeviceColumn string         // default: one called device, device_id or deviceId, if there is one
	TimeColumn   string         // default: one called time, timestamp, at, ts, datetime or date
	SeqColumn    string         // default: one called seq, if there is one
	Metrics      []Column       // default: all others, by their names
	TimeFormat   string         // see NewClock
	Zone         *time.Location // of times that say none; default UTC
}

// Column is a column of a CSV that is a metric.
type Column struct {
	Name   string
	Metric string // default: Name
	Unit   string // that the values are in; "": it is not said
}

// Row is a reading of a file, or what is wrong with it.
type Row struct {
	telemetry.Incoming
	Number int64  // of the line that it begins in
	Text   []byte // for people; valid until the next row is read
	Err    error
}

// Read reads the readings of an open file. An error beside a row is the last that comes: the file cannot be read on. Errors:
// ErrHeader, those of opening.
func Read(f *accesslog.File, o Options) (Format, iter.Seq2[Row, error], error) {
	head, err := f.Head()
	if err != nil {
		return "", nil, err
	}
	if o.Format == "" || o.Format == Auto {
		o.Format = detect(head)
	}
	switch o.Format {
	case JSON:
		return JSON, rows(accesslog.Lines(f), o.json), nil
	case Lines:
		points, err := o.lines()
		if err != nil {
			return Lines, nil, err
		}
		return Lines, rows(accesslog.Lines(f), points.read), nil
	}
	t, err := o.table(head)
	if err != nil {
		return CSV, nil, err
	}
	return CSV, rows(eventcsv.Rows(accesslog.Lines(f)), t.row), nil
}

// detect tells the format: JSON begins with a brace, and line protocol with a point, or a comment and a point.
func detect(head []byte) Format {
	head = bytes.TrimSpace(head)
	if bytes.HasPrefix(head, []byte{'{'}) {
		return JSON
	}
	for bytes.HasPrefix(head, []byte{'#'}) {
		_, head, _ = bytes.Cut(head, []byte{'\n'})
		head = bytes.TrimLeft(head, " \t\r\n")
	}
	if first, _, _ := bytes.Cut(head, []byte{'\n'}); isPoint(first) {
		return Lines
	}
	return CSV
}

// rows makes readings of lines. An empty line is none.
func rows(lines iter.Seq2[accesslog.Line, error], read func(accesslog.Line) (telemetry.Incoming, bool, error)) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for line, err := range lines {
			row := Row{Number: line.Number, Text: line.Text, Err: err}
			switch malformed := errors.Is(err, accesslog.ErrMalformed) || errors.Is(err, eventcsv.ErrMalformed); {
			case err != nil && !malformed:
				yield(row, err)
				return
			case err == nil && len(bytes.TrimSpace(line.Text)) == 0:
				continue
			case err == nil:
				var any bool
				if row.Incoming, any, row.Err = read(line); !any && row.Err == nil {
					continue
				}
			}
			row.Imported = true
			if !yield(row, nil) {
				return
			}
		}
	}
}

// json reads a reading as devices send it.
func (o *Options) json(line accesslog.Line) (telemetry.Incoming, bool, error) {
	readings, err := payload.Parse(line.Text, o.Device)
	if err != nil {
		return telemetry.Incoming{}, true, err
	}
	if len(readings) != 1 {
		return telemetry.Incoming{}, true, fmt.Errorf("%d readings in one line: write one reading per line", len(readings))
	}
	return readings[0].Incoming, true, readings[0].Err
}
