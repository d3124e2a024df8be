// Package payload reads the JSON in which devices tell what they measure, the same over HTTP, over MQTT and in files:
//
//	{"device": "boiler-1", "at": "2026-05-12T14:00:00.250Z", "seq": 17,
//	 "values": {"temperature": 71.25, "valve": "open", "alarm": false}, "units": {"temperature": "C"}, "tags": {"tank": "north"}}
//
// or an array of such. Only values are required. What is wrong with one reading is said of that reading; the others are
// read. It is for whatever takes readings in.
package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/telemetry"
)

// MaxReadings is how many readings one text may have.
const MaxReadings = 5_000

// Errors of whole texts: nothing of it was read.
var (
	// ErrSyntax is returned when a text is no JSON, or neither an object nor an array.
	ErrSyntax = errors.New("payload: not readings in JSON")
	// ErrTooMany is returned when an array has more than MaxReadings.
	ErrTooMany = fmt.Errorf("payload: more than %d readings at once", MaxReadings)
)

// Reading is one reading of a text, or what is wrong with it.
type Reading struct {
	telemetry.Incoming
	// Err says why it cannot be read, for people; nil if it can.
	Err error
}

// Outcome is what becomes of a reading that cannot be read.
func (r *Reading) Outcome() telemetry.Outcome {
	return telemetry.Outcome{Status: telemetry.Rejected, Reason: telemetry.BadValue, Detail: r.Err.Error()}
}

// Parse reads one reading, or an array of them. Readings that name no device are of the given one. Errors: ErrSyntax,
// ErrTooMany.
func Parse(text []byte, device string) ([]Reading, error) {
	text = bytes.TrimSpace(text)
	if readings, ok := parseQuickly(text, device); ok {
		return readings, nil
	}
	return parseCarefully(text, device)
}

// parseCarefully finds out of each reading what is wrong with it.
func parseCarefully(text []byte, device string) ([]Reading, error) {
	if len(text) > 0 && text[0] == '{' {
		r, err := parseOne(text, device)
		if err != nil && !json.Valid(text) {
			return nil, fmt.Errorf("%w: %v", ErrSyntax, err)
		}
		return []Reading{r}, nil
	}
	in := json.NewDecoder(bytes.NewReader(text))
	if start, err := in.Token(); err != nil || start != json.Delim('[') {
		return nil, fmt.Errorf("%w: it begins with neither { nor [", ErrSyntax)
	}
	var readings []Reading
	for in.More() {
		if len(readings) == MaxReadings {
			return nil, ErrTooMany
		}
		var one json.RawMessage
		if err := in.Decode(&one); err != nil {
			return nil, fmt.Errorf("%w: reading %d: %v", ErrSyntax, len(readings)+1, err)
		}
		r, _ := parseOne(one, device) // the reading has it
		readings = append(readings, r)
	}
	if _, err := in.Token(); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrSyntax, err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: there is something after the readings", ErrSyntax)
	}
	return readings, nil
}

// Value reads what a topic of one metric carries: a number, a truth value, or any other text as it is. The bool is false
// for a text that is none in UTF-8, or empty.
func Value(text []byte) (telemetry.Value, bool) {
	text = bytes.TrimSpace(text)
	var v telemetry.Value
	if err := v.UnmarshalJSON(text); err == nil && !v.IsZero() && json.Valid(text) {
		return v, true
	}
	return telemetry.Text(string(text)), len(text) > 0 && text[0] != '{' && text[0] != '['
}

// received is a reading in JSON as it comes.
type received = form[map[string]sent]

// form is a reading in JSON.
type form[V any] struct {
	Device  string            `json:"device"`
	At      moment            `json:"at,omitzero"`
	Seq     *int64            `json:"seq,omitempty"`
	Session string            `json:"session,omitempty"`
	Nth     int               `json:"nth,omitempty"`
	Values  V                 `json:"values"`
	Units   map[string]string `json:"units,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"`
}

// readingOf is a reading as it was sent, of a device if it names none.
func readingOf(f *received, device string, err error) Reading {
	if f.Device == "" {
		f.Device = device
	}
	values, omitted := valuesOf(f.Values)
	return Reading{Err: err, Incoming: telemetry.Incoming{
		DeviceID: f.Device, At: f.At.Time, Seq: f.Seq, Session: f.Session, Nth: f.Nth, Values: values, Omitted: omitted, Units: f.Units, Tags: f.Tags,
	}}
}

// maxNth bounds how many readings are the same.
const maxNth = 1_000_000

// Append appends readings as Parse reads them, in an array.
func Append(b []byte, readings []telemetry.Incoming) ([]byte, error) {
	forms := make([]form[telemetry.Values], len(readings))
	for i := range readings {
		r := &readings[i]
		forms[i] = form[telemetry.Values]{r.DeviceID, moment{r.At}, r.Seq, r.Session, r.Nth, r.Values, r.Units, r.Tags}
	}
	text, err := json.Marshal(forms)
	return append(b, text...), err
}

func parseOne(text []byte, device string) (Reading, error) {
	var f received
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	err := in.Decode(&f)
	if err == nil && in.More() {
		err = errors.New("there is something after the reading")
	}
	if err == nil && (f.Nth < 0 || f.Nth > maxNth) {
		err = fmt.Errorf("nth %d: from 0 to %d", f.Nth, maxNth)
	}
	return readingOf(&f, device, err), err
}

// sent is a value as a device sent it. What is no value is no reason to refuse the others: err says what is wrong with it.
type sent struct {
	telemetry.Value
	err error
}

var errNested = errors.New("a value is a number, a text, true or false")

// UnmarshalJSON takes any JSON.
func (v *sent) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && (b[0] == '[' || b[0] == '{') {
		v.err = errNested
		return nil
	}
	v.err = v.Value.UnmarshalJSON(b)
	return nil
}

// valuesOf tells values from what is none.
func valuesOf(all map[string]sent) (telemetry.Values, []telemetry.Omitted) {
	if all == nil {
		return nil, nil
	}
	var omitted []telemetry.Omitted
	values := make(telemetry.Values, len(all))
	for name, v := range all {
		if v.err != nil {
			omitted = append(omitted, telemetry.Omitted{Metric: name, Reason: telemetry.BadValue, Detail: fmt.Sprintf("metric %q: %v", name, v.err)})
			continue
		}
		values[name] = v.Value
	}
	slices.SortFunc(omitted, func(a, b telemetry.Omitted) int { return strings.Compare(a.Metric, b.Metric) })
	return values, omitted
}

// moment is a time as devices write it: RFC 3339, or a number of milliseconds since 1970.
type moment struct{ time.Time }

// maxMilliseconds is the year 9999: what is beyond is no number of milliseconds.
const maxMilliseconds = 253402300799999

func (m *moment) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		err := m.Time.UnmarshalJSON(text)
		if err == nil && m.IsZero() { // a clock that was never set, not a reading without a time
			m.Time = m.Add(time.Millisecond)
		}
		return err
	}
	if string(text) == "null" {
		return nil
	}
	ms, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || ms < 0 || ms > maxMilliseconds {
		return fmt.Errorf("time %.40s: use RFC 3339, or whole milliseconds since 1970", text)
	}
	m.Time = time.UnixMilli(ms).UTC()
	return nil
}
