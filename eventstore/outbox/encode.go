package outbox

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// Media types of the JSON forms.
const (
	StructuredType = "application/cloudevents+json"
	BatchType      = "application/cloudevents-batch+json"
)

// JSON returns the event in CloudEvents' JSON format, which structured mode sends. A payload that is
// JSON is in it unchanged; others are in base64.
func (e *Event) JSON() []byte { return e.appendJSON(make([]byte, 0, 512+len(e.Data)*4/3)) }

func (e *Event) appendJSON(b []byte) []byte {
	b = append(b, '{')
	for name, value := range e.Attributes() {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = appendField(b, name, value)
	}
	if e.ContentType == "" {
		return append(b, '}')
	}
	b = appendField(append(b, ','), "datacontenttype", e.ContentType)
	if e.ContentType == jsonType {
		b = append(append(b, `,"data":`...), e.Data...)
		return append(b, '}')
	}
	b = append(b, `,"data_base64":"`...)
	return append(base64.StdEncoding.AppendEncode(b, e.Data), `"}`...)
}

// batchJSON returns events in CloudEvents' JSON batch format.
func batchJSON(events []Event) []byte {
	b := []byte{'['}
	for i := range events {
		if i > 0 {
			b = append(b, ',')
		}
		b = events[i].appendJSON(b)
	}
	return append(b, ']')
}

// appendField appends a field. Strings are valid UTF-8 without control characters, see clean.
func appendField(b []byte, name, value string) []byte {
	b = append(append(append(b, '"'), name...), `":"`...)
	for i := range len(value) {
		if value[i] == '"' || value[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, value[i])
	}
	return append(b, '"')
}

// HeaderValue encodes a value for the headers of HTTP and NATS, as section 3.1.3.2 of CloudEvents'
// HTTP binding says: everything but printable ASCII, and also space, quote and percent, is
// percent-encoded.
func HeaderValue(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c > ' ' && c < 0x7f && c != '"' && c != '%' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteString(strings.ToUpper(strconv.FormatUint(0x100+uint64(s[i]), 16)[1:]))
	}
	return b.String()
}
