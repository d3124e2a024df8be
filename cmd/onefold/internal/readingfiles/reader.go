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

// Format is the format of a file.
type Format string

// The formats. Auto detects the format from the beginning of each file.
const (
	Auto  Format = "auto"
	CSV   Format = "csv"
	JSON  Format = "jsonl"
	Lines Format = "line" // InfluxDB line protocol
)

// Formats returns the names of the formats for a flag.
func Formats() []string { return []string{string(Auto), string(CSV), string(JSON), string(Lines)} }

// ErrHeader is returned for a CSV file whose columns do not match the options.
var ErrHeader = errors.New("wrong_header")

// Options configure the parsing of files. The zero value detects as much as possible.
type Options struct {
	Format Format
	Device string // device of readings in files that do not name it

	// For CSV files. TimeFormat also applies to line protocol.
	DeviceColumn string         // default: device, device_id or deviceId, if present
	TimeColumn   string         // default: time, timestamp, at, ts, datetime or date
	SeqColumn    string         // default: seq, if present
	Metrics      []Column       // default: all other columns, by name
	TimeFormat   string         // see NewClock
	Zone         *time.Location // zone of times without one; default UTC
}

// Column is a column of a CSV file that holds a metric.
type Column struct {
	Name   string
	Metric string // default: Name
	Unit   string // unit of the values; "": unspecified
}

// Row is a reading of a file, or the error in its row.
type Row struct {
	telemetry.Incoming
	Number int64  // number of the row's first line
	Text   []byte // for messages; valid until the next row is read
	Err    error
}

// Read reads the readings of an open file. If the iterator yields an error, it is the last element:
// the file cannot be read further. Errors: ErrHeader, those of opening.
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

// detect detects the format: JSON begins with a brace, line protocol with a point, or with a
// comment and a point.
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

// rows converts lines to rows. It skips empty lines.
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

// json parses a reading in the JSON format of devices.
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
