package readingfiles

import (
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/internal/accesslog"
	"github.com/onefold/onefold/internal/lineprotocol"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/payload"
)

// isPoint reports whether a line is a point of line protocol. The header of a CSV file is not,
// because it has no fields.
func isPoint(line []byte) bool {
	for _, err := range lineprotocol.Points(line, time.Nanosecond) {
		return err == nil
	}
	return false
}

// points parses line protocol with one point per line.
type points struct{ payload.Lines }

// lines returns the parser for the options.
func (o *Options) lines() (points, error) {
	unit, known := units[o.TimeFormat]
	if !known && o.TimeFormat != "" {
		return points{}, fmt.Errorf("invalid: the time format of line protocol must be unix, unix-ms, unix-us or unix-ns, not %.60q", o.TimeFormat)
	}
	p := points{payload.Lines{Unit: unit, Device: o.Device}}
	if o.DeviceColumn != "" {
		p.DeviceTags = []string{o.DeviceColumn}
	}
	return p, nil
}

// read converts a point to a reading. any is false for a comment.
func (p points) read(line accesslog.Line) (in telemetry.Incoming, any bool, err error) {
	lines, err := p.Parse(line.Text)
	switch {
	case err != nil:
		return in, true, err
	case len(lines) == 0:
		return in, false, nil
	case lines[0].Err != nil:
		return in, true, lines[0].Err
	case lines[0].At.IsZero():
		return in, true, errors.New("it has no time")
	}
	return lines[0].Incoming, true, nil
}
