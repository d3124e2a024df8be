package telemetry

import (
	"bytes"
	"encoding/json"
	"time"
)

// AppendJSON appends the series exactly as encoding/json would without HTML escapes, but without
// reflection for each of possibly thousands of points. Errors: those of encoding/json.
func (s Series) AppendJSON(b []byte) ([]byte, error) {
	head := s
	if head.Points = s.Points[:0]; s.Points == nil {
		return appendReflected(b, &s)
	}
	b, err := appendReflected(b, &head)
	if err != nil {
		return b, err
	}
	b = b[:len(b)-len("]}")]
	var clock dayClock
	for i := range s.Points {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = s.Points[i].appendJSON(b, &clock); err != nil {
			return b, err
		}
	}
	return append(b, "]}"...), nil
}

// appendJSON appends a point. Only readings can be many: buckets are encoded by reflection.
func (p *Point) appendJSON(b []byte, clock *dayClock) ([]byte, error) {
	if p.Figures != nil || p.Coverage != 0 {
		return appendReflected(b, p)
	}
	b, err := clock.append(append(b, `{"at":"`...), p.At)
	if err == nil {
		b, err = p.Value.AppendJSON(append(b, `","value":`...))
	}
	if err != nil {
		return b, err
	}
	if p.Filled {
		b = append(b, `,"filled":true`...)
	}
	return append(b, '}'), nil
}

// dayClock appends times like time.Time.AppendText. It keeps the date of the last one, because most
// points of a curve are of the same day as the one before.
type dayClock struct {
	day  int64 // days since 1970
	text [len(time.RFC3339Nano)]byte
	date []byte // the part of text before the hour; nil: none
}

const secondsOfDay = 24 * 60 * 60

func (c *dayClock) append(b []byte, at time.Time) ([]byte, error) {
	if at.Location() != time.UTC {
		return at.AppendText(b)
	}
	second := at.Unix() % secondsOfDay
	if second < 0 {
		second += secondsOfDay
	}
	if day := (at.Unix() - second) / secondsOfDay; day != c.day || c.date == nil {
		text, err := at.AppendText(c.text[:0])
		if err != nil {
			return b, err
		}
		c.day, c.date = day, text[:len("2006-01-02T")]
	}
	b = appendTwo(append(b, c.date...), second/3600)
	b = appendTwo(append(b, ':'), second/60%60)
	b = appendTwo(append(b, ':'), second%60)
	if n := at.Nanosecond(); n != 0 {
		b = append(b, '.')
		for unit := 100_000_000; n > 0; n, unit = n%unit, unit/10 {
			b = append(b, '0'+byte(n/unit))
		}
	}
	return append(b, 'Z'), nil
}

func appendTwo(b []byte, n int64) []byte { return append(b, '0'+byte(n/10), '0'+byte(n%10)) }

// appendReflected appends the encoding of a value by encoding/json.
func appendReflected(b []byte, v any) ([]byte, error) {
	w := bytes.NewBuffer(b)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return b, err
	}
	return bytes.TrimSuffix(w.Bytes(), []byte("\n")), nil
}
