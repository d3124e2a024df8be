package readingfiles

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/internal/accesslog"
	"github.com/onefold/onefold/telemetry"
)

// table converts the rows of a CSV file to readings.
type table struct {
	*Header
	o       *Options
	device  int // column indexes; -1: none
	time    int
	seq     int
	columns []column
	clock   *Clock
	begun   bool
	seen    *logimport.Occurrences
}

type column struct {
	Column
	at int
}

var (
	deviceNames = []string{"device", "device_id", "deviceId"}
	timeNames   = []string{"time", "timestamp", "at", "ts", "datetime", "date"}
	seqNames    = []string{"seq"}
)

// table parses the header.
func (o *Options) table(head []byte) (*table, error) {
	header, err := ReadHeader(head)
	if err != nil {
		return nil, err
	}
	t := &table{o: o, Header: header, seen: logimport.NewOccurrences()}
	if t.clock, err = NewClock(o.TimeFormat, o.Zone); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		to      *int
		what    string
		asked   string
		usual   []string
		without bool
	}{
		{&t.device, "--device-column", o.DeviceColumn, deviceNames, true},
		{&t.time, "--time-column", o.TimeColumn, timeNames, false},
		{&t.seq, "--seq-column", o.SeqColumn, seqNames, true},
	} {
		if *c.to, err = t.Find(c.what, c.asked, c.usual, c.without); err != nil {
			return nil, err
		}
	}
	if t.device < 0 && o.Device == "" {
		return nil, fmt.Errorf("%w: no column names the device; give it with --device or --device-column. The columns are %q", ErrHeader, t.Names)
	}
	return t, t.choose()
}

// choose selects the columns that are metrics.
func (t *table) choose() error {
	if t.o.Metrics == nil {
		for i, name := range t.Names {
			if i != t.device && i != t.time && i != t.seq && name != "" {
				t.columns = append(t.columns, column{Column{Name: name, Metric: name}, i})
			}
		}
	}
	for _, c := range t.o.Metrics {
		at := slices.Index(t.Names, c.Name)
		if at < 0 {
			return fmt.Errorf("%w: there is no column %q. The columns are %q", ErrHeader, c.Name, t.Names)
		}
		if c.Metric == "" {
			c.Metric = c.Name
		}
		t.columns = append(t.columns, column{c, at})
	}
	of := map[string]bool{}
	for _, c := range t.columns {
		if of[c.Metric] { // one would silently overwrite the other
			return fmt.Errorf("%w: two columns are the metric %q; select one with --metric. The columns are %q", ErrHeader, c.Metric, t.Names)
		}
		of[c.Metric] = true
	}
	if len(t.columns) == 0 {
		return fmt.Errorf("%w: no column can be a metric. The columns are %q", ErrHeader, t.Names)
	}
	return nil
}

// row converts a row to a reading. The first row is the header. Two equal rows are two readings.
func (t *table) row(line accesslog.Line) (in telemetry.Incoming, any bool, err error) {
	if !t.begun {
		t.begun = true
		return in, false, nil
	}
	cells, err := t.Split(line.Text)
	if err != nil {
		return in, true, err
	}
	if len(cells) != len(t.Names) {
		return in, true, fmt.Errorf("it has %d columns, but the header has %d", len(cells), len(t.Names))
	}
	in.DeviceID = t.o.Device
	if t.device >= 0 {
		in.DeviceID = strings.TrimSpace(cells[t.device])
	}
	if in.At, err = t.clock.Read(cells[t.time]); err != nil {
		return in, true, err
	}
	if t.seq >= 0 && cells[t.seq] != "" {
		seq, err := strconv.ParseInt(strings.TrimSpace(cells[t.seq]), 10, 64)
		if err != nil {
			return in, true, fmt.Errorf("the sequence number %.40q is not an integer", cells[t.seq])
		}
		in.Seq = &seq
	}
	in.Values = make(telemetry.Values, len(t.columns))
	for i := range t.columns {
		if err := t.value(&in, &t.columns[i], strings.TrimSpace(cells[t.columns[i].at])); err != nil {
			return in, true, err
		}
	}
	if in.Seq == nil {
		in.Nth = t.seen.Next(line.Text)
	}
	return in, true, nil
}

// value parses a cell as a number, a boolean or a string. An empty cell has no value.
func (t *table) value(in *telemetry.Incoming, c *column, text string) error {
	if text == "" {
		return nil
	}
	v, err := telemetry.Number(text)
	switch _, number := strconv.ParseFloat(text, 64); {
	case err == nil:
	case strings.EqualFold(text, "true") || strings.EqualFold(text, "false"):
		v = telemetry.Bool(strings.EqualFold(text, "true"))
	case number == nil: // NaN, infinities, too many digits
		return fmt.Errorf("column %q: %w", c.Name, err)
	default:
		v = telemetry.Text(text)
	}
	in.Values[c.Metric] = v
	if c.Unit != "" {
		if in.Units == nil {
			in.Units = map[string]string{}
		}
		in.Units[c.Metric] = c.Unit
	}
	return nil
}
