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
// that do not name the device are those of the reading: part of the metric's name, since in InfluxDB they tell series apart, as in
// cpu.idle{cpu=cpu0}, unless its fleet says that they describe the device.
type Lines struct {
	// Unit is what timestamps count; default nanoseconds. What is finer than a millisecond tells readings apart that say the
	// same.
	Unit time.Duration
	// Device is whose readings they are. "": the first of DeviceTags that a line has says it.
	Device string
	// DeviceTags are the tags that name devices, and are no part of a metric's name; default device, device_id and host. A line
	// that has host beside another of them may be of a device behind the host, such as a sensor of a gateway, or of a part of the
	// host, such as a disk. It is the host's, and what the others say part of the metric's name, if Device is set and is not what
	// they say, and also if what they say is no device; see Incoming.Host.
	DeviceTags []string
}

// hostTag is what Telegraf calls the machine that it runs on, and adds to each line.
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
				return in, fmt.Errorf("line %d: field %q: %w", p.Line, f.Key, err)
			}
		}
	}
	return in, nil
}

// setSender says whose the reading is, and which of its tags tell series apart.
func (l *Lines) setSender(p *lineprotocol.Point, in *telemetry.Incoming) error {
	named, host := l.find(p, notHost), l.find(p, isHost)
	switch {
	case l.Device == "" && named == "" && host == "":
		return fmt.Errorf("line %d: no tag names the device: use %s", p.Line, strings.Join(l.DeviceTags, ", "))
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
		return fmt.Errorf("line %d: it is of device %.64q, and the sender is %q", p.Line, named, l.Device)
	}
	return nil
}

func isHost(tag string) bool  { return tag == hostTag }
func notHost(tag string) bool { return tag != hostTag }
func isDevice(string) bool    { return true }

// find returns the value of the first of DeviceTags that a line has and that is wanted; "" if it has none.
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

// tagsOf are a line's tags without those of DeviceTags that are to be left out.
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
