package devicesim

import (
	"strconv"
	"time"
)

// AppendJSON appends a message as a line of JSON, without the line ending. NaN is written as is,
// which is invalid JSON, because real programs send that.
func (m *Message) AppendJSON(b []byte) []byte {
	b = append(b, `{"device":`...)
	b = strconv.AppendQuote(b, m.Device)
	b = append(b, `,"at":"`...)
	b = m.At.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, '"')
	if m.Seq > 0 {
		b = strconv.AppendInt(append(b, `,"seq":`...), m.Seq, 10)
	}
	b = append(b, `,"values":{`...)
	units := false
	for i, v := range m.Values {
		if i > 0 {
			b = append(b, ',')
		}
		b = v.append(append(strconv.AppendQuote(b, v.Metric), ':'))
		units = units || v.Unit != ""
	}
	b = append(b, '}')
	if units {
		b = m.appendUnits(b)
	}
	return append(b, '}')
}

func (m *Message) appendUnits(b []byte) []byte {
	b = append(b, `,"units":{`...)
	first := true
	for _, v := range m.Values {
		if v.Unit == "" {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = strconv.AppendQuote(append(strconv.AppendQuote(b, v.Metric), ':'), v.Unit)
	}
	return append(b, '}')
}

// append writes the value as in JSON and line protocol.
func (v *Value) append(b []byte) []byte {
	if v.Quoted {
		return strconv.AppendQuote(b, v.Text)
	}
	return append(b, v.Text...)
}

// AppendLine appends a message as a point of InfluxDB's line protocol with nanoseconds, without the
// line ending. Units are lost.
func (m *Message) AppendLine(b []byte, measurement string) []byte {
	b = append(append(b, measurement...), ",device="...)
	b = append(append(b, m.Device...), ' ')
	for i, v := range m.Values {
		if i > 0 {
			b = append(b, ',')
		}
		b = v.append(append(append(b, v.Metric...), '='))
	}
	return strconv.AppendInt(append(b, ' '), m.At.UnixNano(), 10)
}

// Columns returns the column names of AppendCSV: device, time, seq and every metric of every kind.
func Columns() []string {
	all := []string{"device", "time", "seq"}
	for _, k := range Kinds {
		for _, m := range k.Metrics {
			all = append(all, m.Name)
		}
	}
	return all
}

// AppendCSV appends a message as a row of CSV with the columns of Columns. Units are lost.
func (m *Message) AppendCSV(b []byte) []byte {
	b = append(append(b, m.Device...), ',')
	b = append(m.At.UTC().AppendFormat(b, time.RFC3339Nano), ',')
	if m.Seq > 0 {
		b = strconv.AppendInt(b, m.Seq, 10)
	}
	for _, k := range Kinds {
		for _, metric := range k.Metrics {
			b = append(b, ',')
			for _, v := range m.Values {
				if v.Metric == metric.Name {
					b = append(b, v.Text...)
				}
			}
		}
	}
	return b
}
