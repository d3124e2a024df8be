package payload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/lineprotocol"
	"github.com/onefold/onefold/telemetry"
)

// MaxLines is the maximum number of points in one text.
const MaxLines = 20_000

// Lines converts InfluxDB's line protocol into readings. A line becomes a reading, and each field a
// value; Unite joins the lines of a point:
//
//	boiler,device=b1 temperature=71.25,valve="open" 1778594400000000000
//
// yields boiler.temperature and boiler.valve of device b1. A field named value yields only the
// measurement's name. Tags that do not name the device are tags of the reading. They become part of
// the metric's name, because InfluxDB distinguishes series by tags, as in cpu.idle{cpu=cpu0},
// unless the fleet declares them as properties of the device.
type Lines struct {
	// Unit is the unit of timestamps; default nanoseconds. Parts finer than a millisecond
	// distinguish readings with equal values.
	Unit time.Duration
	// Device is the device of all readings. "": the first of DeviceTags in a line.
	Device string
	// DeviceTags are the tags that name devices and are not part of a metric's name; default
	// device, device_id and host. If a line has host and another of these tags, the reading may
	// belong to a device behind the host, such as a sensor of a gateway, or to a part of the host,
	// such as a disk. It belongs to the host, with the other tags as part of the metric's name, if
	// Device is set and differs from them, or if they name no known device; see Incoming.Host.
	DeviceTags []string
}

// hostTag is Telegraf's tag for its own machine, which it adds to every line.
const hostTag = "host"

var deviceTags = []string{"device", "device_id", hostTag}

// Line is a reading and its line number, from 1. Its error does not repeat the number.
type Line struct {
	Reading
	Number int
	Also   []int // numbers of further lines whose values Unite added

	measurement string
}

// Parse parses points. Errors in a point are returned in its Line. Errors: ErrTooMany.
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
		one := Line{Number: p.Line, measurement: p.Measurement}
		var wrong *lineprotocol.Error
		switch {
		case err == nil:
			one.Incoming, one.Err = l.reading(&p)
		case errors.As(err, &wrong):
			one.Err = wrong.Err
		default:
			one.Err = err
		}
		lines = append(lines, one)
	}
	return lines, nil
}

// reading converts a point into a reading.
func (l *Lines) reading(p *lineprotocol.Point) (in telemetry.Incoming, err error) {
	if err := l.setSender(p, &in); err != nil {
		return in, err
	}
	if in.At = p.At; !p.At.IsZero() {
		in.Nth = p.At.Nanosecond() % int(time.Millisecond)
	}
	in.Values = make(telemetry.Values, len(p.Fields))
	for _, f := range p.Fields {
		name := p.Measurement
		if f.Key != "value" {
			name = p.Measurement + "." + f.Key
		}
		switch f.Kind {
		case lineprotocol.Bool:
			in.Values[name] = telemetry.Bool(f.Text == "true")
		case lineprotocol.String:
			in.Values[name] = telemetry.Text(f.Text)
		default:
			if in.Values[name], err = telemetry.Number(f.Text); err != nil {
				return in, fmt.Errorf("field %q: %w", f.Key, err)
			}
		}
	}
	return in, nil
}

// setSender sets the device of a reading, and the tags that distinguish series.
func (l *Lines) setSender(p *lineprotocol.Point, in *telemetry.Incoming) error {
	named, host := l.find(p, notHost), l.find(p, isHost)
	switch {
	case l.Device == "" && named == "" && host == "":
		return fmt.Errorf("no tag names the device: use %s", strings.Join(l.DeviceTags, ", "))
	case l.Device == "" && named == "":
		in.DeviceID, in.Tags = host, l.tagsOf(p, isDevice)
	case l.Device == "":
		in.DeviceID, in.Tags = named, l.tagsOf(p, isDevice)
		if host != "" && host != named {
			in.Host, in.HostTags = host, l.tagsOf(p, isHost)
		}
	case named == "" || named == l.Device:
		in.DeviceID, in.Tags = l.Device, l.tagsOf(p, isDevice)
	case host != "":
		in.DeviceID, in.Tags = l.Device, l.tagsOf(p, isHost)
	default:
		return fmt.Errorf("the device is %.64q, but the sender is %q", named, l.Device)
	}
	return nil
}

func isHost(tag string) bool  { return tag == hostTag }
func notHost(tag string) bool { return tag != hostTag }
func isDevice(string) bool    { return true }

// find returns the value of the first wanted tag of DeviceTags in a line, or "".
func (l *Lines) find(p *lineprotocol.Point, wanted func(tag string) bool) string {
	for _, name := range l.DeviceTags {
		if !wanted(name) {
			continue
		}
		if at := slices.IndexFunc(p.Tags, func(t lineprotocol.Tag) bool { return t.Key == name }); at >= 0 {
			return p.Tags[at].Value
		}
	}
	return ""
}

// tagsOf returns a line's tags, without the given DeviceTags.
func (l *Lines) tagsOf(p *lineprotocol.Point, without func(tag string) bool) map[string]string {
	var rest map[string]string
	for _, t := range p.Tags {
		if without(t.Key) && slices.Contains(l.DeviceTags, t.Key) {
			continue
		}
		if rest == nil {
			rest = make(map[string]string, len(p.Tags))
		}
		rest[t.Key] = t.Value
	}
	return rest
}
