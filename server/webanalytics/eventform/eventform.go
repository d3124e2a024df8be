// Package eventform turns events in the form of HTML forms into JSON.
package eventform

import (
	"bytes"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// mediaType is the media type that HTML forms have, and that some clients send by default, whatever
// the body is.
const mediaType = "application/x-www-form-urlencoded"

// Is reports whether a content type is that of forms.
func Is(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == mediaType
}

// JSON returns the JSON of a body of a form, and declares it as JSON for later handlers. A
// body that is JSON is returned unchanged: many clients declare a form by default.
func JSON(r *http.Request, body []byte) []byte {
	if start := bytes.TrimLeft(body, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		fields, err := url.ParseQuery(string(body))
		if err != nil {
			return body // rejected as invalid JSON
		}
		body = objectOf(fields)
	}
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(body))
	return body
}

// objectOf returns the JSON object of a form: the first value of each field as text, or as a number
// or boolean where an event has one, and fields like props[plan] as properties.
func objectOf(fields url.Values) []byte {
	object, properties := map[string]any{}, map[string]string{}
	for name, values := range fields {
		property, ok := strings.CutPrefix(name, "props[")
		if property, closed := strings.CutSuffix(property, "]"); ok && closed {
			properties[property] = values[0]
			continue
		}
		object[name] = values[0]
		if n, err := strconv.ParseFloat(values[0], 64); err == nil && numbers[name] && !math.IsInf(n, 0) && !math.IsNaN(n) {
			object[name] = n
		} else if yes, err := strconv.ParseBool(values[0]); err == nil && name == "retry" {
			object[name] = yes
		}
	}
	if len(properties) > 0 {
		object["props"] = properties
	}
	text, err := json.Marshal(object, json.Deterministic(true))
	if err != nil { // invalid UTF-8
		return []byte(`{}`)
	}
	return text
}

// numbers are the fields of events that are numbers in JSON.
var numbers = map[string]bool{"engagedMs": true, "scroll": true, "lcp": true, "inp": true, "cls": true}
