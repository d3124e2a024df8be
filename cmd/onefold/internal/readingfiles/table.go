package readingfiles

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold/onefold/cmd/onefold/internal/intake"
	"github.com/onefold/onefold/internal/accesslog"
	"github.com/onefold/onefold/telemetry"
)

// table reads the rows of a CSV.
type table struct {
	o       *Options
	comma   rune
	header  []string
	device  int // columns; -1: none
	time    int
	seq     int
	columns []column
	clock   *Clock
	begun   bool
	seen    *intake.Occurrences
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

// table reads the header.
func (o *Options) table(head []byte) (*table, error) {
	line, _, _ := bytes.Cut(bytes.TrimPrefix(head, []byte("\ufeff")), []byte{'\n'})
	t := &table{o: o, comma: separator(line), seen: intake.NewOccurrences()}
	var err error
	if t.header, err = t.split(line); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	for i := range t.header {
		t.header[i] = strings.TrimSpace(t.header[i])
	}
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
		if *c.to, err = t.find(c.what, c.asked, c.usual, c.without); err != nil {
			return nil, err
		}
	}
	if t.device < 0 && o.Device == "" {
		return nil, fmt.Errorf("%w: no column names the device; --device or --device-column says whose readings they are. The columns are %q", ErrHeader, t.header)
	}
	return t, t.choose()
}

// separator is the character between columns: the most frequent of those in use.
func separator(line []byte) rune {
	best, n := ',', 0
	for _, c := range []rune{',', ';', '\t'} {
		if found := bytes.Count(line, []byte(string(c))); found > n {
			best, n = c, found
		}
	}
	return best
}

func (t *table) split(line []byte) ([]string, error) {
	r := csv.NewReader(bytes.NewReader(line))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = t.comma, -1, false
	return r.Read()
}

// find is the column of a name that was asked for, or of one of the usual ones.
func (t *table) find(flag, asked string, usual []string, without bool) (int, error) {
	if asked != "" {
		usual, without = []string{asked}, false
	}
	for _, name := range usual {
		if at := slices.IndexFunc(t.header, func(h string) bool { return h == name || asked == "" && strings.EqualFold(h, name) }); at >= 0 {
			return at, nil
		}
	}
	if without {
		return -1, nil
	}
	return -1, fmt.Errorf("%w: there is no column %s; %s says which it is. The columns are %q", ErrHeader, strings.Join(usual, ", "), flag, t.header)
}

// choose finds the columns that are metrics.
func (t *table) choose() error {
	if t.o.Metrics == nil {
		for i, name := range t.header {
			if i != t.device && i != t.time && i != t.seq && name != "" {
				t.columns = append(t.columns, column{Column{Name: name, Metric: name}, i})
			}
		}
	}
	for _, c := range t.o.Metrics {
		at := slices.Index(t.header, c.Name)
		if at < 0 {
			return fmt.Errorf("%w: there is no column %q. The columns are %q", ErrHeader, c.Name, t.header)
		}
		if c.Metric == "" {
			c.Metric = c.Name
		}
		t.columns = append(t.columns, column{c, at})
	}
	if len(t.columns) == 0 {
		return fmt.Errorf("%w: no column is left that could be a metric. The columns are %q", ErrHeader, t.header)
	}
	return nil
}

// row makes a reading of a row. The first is the header, and no reading. Two rows that are the same are two readings.
func (t *table) row(line accesslog.Line) (in telemetry.Incoming, any bool, err error) {
	if !t.begun {
		t.begun = true
		return in, false, nil
	}
	cells, err := t.split(line.Text)
	if err != nil {
		return in, true, err
	}
	if len(cells) != len(t.header) {
		return in, true, fmt.Errorf("it has %d columns, and the header %d", len(cells), len(t.header))
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
			return in, true, fmt.Errorf("the sequence number %.40q is no whole number", cells[t.seq])
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

// value reads a cell: a number, a truth value, or a text. An empty one is no value.
func (t *table) value(in *telemetry.Incoming, c *column, text string) error {
	if text == "" {
		return nil
	}
	v, err := telemetry.Number(text)
	switch _, number := strconv.ParseFloat(text, 64); {
	case err == nil:
	case strings.EqualFold(text, "true") || strings.EqualFold(text, "false"):
		v = telemetry.Bool(strings.EqualFold(text, "true"))
	case number == nil: // NaN, infinities, what has too many digits
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
