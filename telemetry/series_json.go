package telemetry

import (
	"bytes"
	"encoding/json"
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
	for i := range s.Points {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = s.Points[i].appendJSON(b); err != nil {
			return b, err
		}
	}
	return append(b, "]}"...), nil
}

// appendJSON appends a point. Only readings can be many: buckets are encoded by reflection.
func (p *Point) appendJSON(b []byte) ([]byte, error) {
	if p.Figures != nil || p.Coverage != 0 {
		return appendReflected(b, p)
	}
	b, err := p.At.AppendText(append(b, `{"at":"`...))
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
