package payload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/lineprotocol"
	"github.com/onefold/onefold/telemetry"
)

// MaxLines is how many points one text of line protocol may have.
const MaxLines = 20_000

// Lines say how InfluxDB's line protocol becomes readings. A point is a reading, and each of its fields a value:
//
//	boiler,device=b1 temperature=71.25,valve="open" 1778594400000000000
//
// are boiler.temperature and boiler.valve of device b1. A field that is called value has its measurement's name alone. Tags
// that do not name the device are part of the metric's name, since in InfluxDB they tell series apart: cpu.idle{cpu=cpu0}.
type Lines struct {
	// Unit is what timestamps count; default nanoseconds. What is finer than a millisecond tells readings apart that say the
	// same.
	Unit time.Duration
	// Device is whose readings they are. "": the first of DeviceTags that a line has says it.
	Device string
	// DeviceTags are the tags that name devices, and are no part of a metric's name; default device, device_id and host.
	DeviceTags []string
}

// hostTag is what Telegraf calls the machine that it runs on. It is believed where nothing else says whose a line is.
const hostTag = "host"

var deviceTags = []string{"device", "device_id", hostTag}

// Line is a reading and the number of its line, from 1.
type Line struct {
	Reading
	Number int
}

// Parse reads points. What is wrong with one is said of that one. Errors: ErrTooMany.
func (l Lines) Parse(text []byte) ([]Line, error) {
	if l.Unit <= 0 {
		l.Unit = time.Nanosecond
	}
	if l.DeviceTags == nil {
		l.DeviceTags = deviceTags
	}
	var lines []Line
	for p, err := range lineprotocol.Points(text, l.Unit) {
		if len(lines) == MaxLines {
			return nil, fmt.Errorf("%w: more than %d lines", ErrTooMany, MaxLines)
		}
		one := Line{Number: p.Line}
		if one.Err = err; err == nil {
			one.Incoming, one.Err = l.reading(&p)
		}
		lines = append(lines, one)
	}
	return lines, nil
}

// reading makes a reading of a point.
func (l *Lines) reading(p *lineprotocol.Point) (in telemetry.Incoming, err error) {
	if in.DeviceID, err = l.deviceOf(p); err != nil {
		return in, err
	}
	if in.At = p.At; !p.At.IsZero() {
		in.Nth = p.At.Nanosecond() % int(time.Millisecond)
	}
	in.Values = make(telemetry.Values, len(p.Fields))
	series := l.seriesOf(p)
	for _, f := range p.Fields {
		name := p.Measurement + series
		if f.Key != "value" {
			name = p.Measurement + "." + f.Key + series
		}
		switch f.Kind {
		case lineprotocol.Bool:
			in.Values[name] = telemetry.Bool(f.Text == "true")
		case lineprotocol.String:
			in.Values[name] = telemetry.Text(f.Text)
		default:
			if in.Values[name], err = telemetry.Number(f.Text); err != nil {
				return in, fmt.Errorf("line %d: field %q: %w", p.Line, f.Key, err)
			}
		}
	}
	return in, nil
}

func (l *Lines) deviceOf(p *lineprotocol.Point) (string, error) {
	for _, name := range l.DeviceTags {
		at := slices.IndexFunc(p.Tags, func(t lineprotocol.Tag) bool { return t.Key == name })
		switch {
		case at < 0:
		case l.Device == "":
			return p.Tags[at].Value, nil
		case name != hostTag && p.Tags[at].Value != l.Device:
			return "", fmt.Errorf("line %d: it is of device %.64q, and the sender is %q", p.Line, p.Tags[at].Value, l.Device)
		}
	}
	if l.Device == "" {
		return "", fmt.Errorf("line %d: no tag names the device: use %s", p.Line, strings.Join(l.DeviceTags, ", "))
	}
	return l.Device, nil
}

// seriesOf is the part of a metric's name that tells series of one measurement apart.
func (l *Lines) seriesOf(p *lineprotocol.Point) string {
	var rest []string
	for _, t := range p.Tags {
		if !slices.Contains(l.DeviceTags, t.Key) {
			rest = append(rest, t.Key+"="+t.Value)
		}
	}
	if rest == nil {
		return ""
	}
	slices.Sort(rest)
	return "{" + strings.Join(rest, ",") + "}"
}
