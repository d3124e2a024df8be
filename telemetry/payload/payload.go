// Package payload parses readings in JSON, in the same format for HTTP, MQTT and files:
//
//	{"device": "boiler-1", "at": "2026-05-12T14:00:00.250Z", "seq": 17,
//	 "values": {"temperature": 71.25, "valve": "open", "alarm": false}, "units": {"temperature": "C"}, "tags": {"tank": "north"}}
//
// or an array of such objects. Only values are required. An error in one reading does not affect
// the others.
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

// MaxReadings is the maximum number of readings in one text.
const MaxReadings = 5_000

// Errors of a whole text. No reading of it is used.
var (
	// ErrSyntax is returned when a text is not JSON, or neither an object nor an array.
	ErrSyntax = errors.New("payload: not readings in JSON")
	// ErrTooMany is returned when an array has more than MaxReadings elements.
	ErrTooMany = fmt.Errorf("payload: more than %d readings at once", MaxReadings)
)

// Reading is one reading of a text, or its error.
type Reading struct {
	telemetry.Incoming
	// Err explains to people why the reading cannot be parsed; nil if it can.
	Err error
}

// Outcome returns the outcome of a reading with an error.
func (r *Reading) Outcome() telemetry.Outcome {
	return telemetry.Outcome{Status: telemetry.Rejected, Reason: telemetry.BadValue, Detail: r.Err.Error()}
}

// Parse parses one reading or an array of readings. Readings without a device belong to the given
// one. Errors: ErrSyntax, ErrTooMany.
func Parse(text []byte, device string) ([]Reading, error) {
	text = bytes.TrimSpace(text)
	if readings, ok := parseQuickly(text, device); ok {
		return readings, nil
	}
	return parseCarefully(text, device)
}

// parseCarefully parses readings with a separate error for each.
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
		return nil, fmt.Errorf("%w: the body must begin with { or [", ErrSyntax)
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
		r, _ := parseOne(one, device) // the error is also in the reading
		readings = append(readings, r)
	}
	if _, err := in.Token(); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrSyntax, err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: there is data after the readings", ErrSyntax)
	}
	return readings, nil
}

// Value parses the payload of a topic for one metric: a number, a truth value, or any other text as
// it is. It returns false for an empty text, and for JSON objects and arrays.
func Value(text []byte) (telemetry.Value, bool) {
	text = bytes.TrimSpace(text)
	var v telemetry.Value
	if err := v.UnmarshalJSON(text); err == nil && !v.IsZero() && json.Valid(text) {
		return v, true
	}
	return telemetry.Text(string(text)), len(text) > 0 && text[0] != '{' && text[0] != '['
}

// received is a reading as received.
type received = form[map[string]sent]

// form is the JSON form of a reading.
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

// readingOf converts a received reading. device is used if the reading names none.
func readingOf(f *received, device string, err error) Reading {
	if f.Device == "" {
		f.Device = device
	}
	values, omitted := valuesOf(f.Values)
	return Reading{Err: err, Incoming: telemetry.Incoming{
		DeviceID: f.Device, At: f.At.Time, Seq: f.Seq, Session: f.Session, Nth: f.Nth, Values: values, Omitted: omitted, Units: f.Units, Tags: f.Tags,
	}}
}

// maxNth limits the number of equal readings.
const maxNth = 1_000_000

// Append appends readings as an array in the format of Parse.
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
		err = errors.New("there is data after the reading")
	}
	if err == nil && (f.Nth < 0 || f.Nth > maxNth) {
		err = fmt.Errorf("nth %d: use 0 to %d", f.Nth, maxNth)
	}
	return readingOf(&f, device, err), err
}

// sent is a value as received. An invalid value does not affect the others: err says what is wrong.
type sent struct {
	telemetry.Value
	err error
}

var errNested = errors.New("a value must be a number, a string, true or false")

// UnmarshalJSON accepts any JSON.
func (v *sent) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && (b[0] == '[' || b[0] == '{') {
		v.err = errNested
		return nil
	}
	v.err = v.Value.UnmarshalJSON(b)
	return nil
}

// valuesOf separates valid values from invalid ones.
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

// moment is a time in JSON: RFC 3339, or milliseconds since 1970.
type moment struct{ time.Time }

// maxMilliseconds is the end of the year 9999; greater numbers are invalid.
const maxMilliseconds = 253402300799999

func (m *moment) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		err := m.Time.UnmarshalJSON(text)
		if err == nil && m.IsZero() { // a clock that was never set is not a missing time
			m.Time = m.Add(time.Millisecond)
		}
		return err
	}
	if string(text) == "null" {
		return nil
	}
	ms, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || ms < 0 || ms > maxMilliseconds {
		return fmt.Errorf("time %.40s: use RFC 3339 or whole milliseconds since 1970", text)
	}
	m.Time = time.UnixMilli(ms).UTC()
	return nil
}
