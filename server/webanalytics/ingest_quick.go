package webanalytics

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/webanalytics/eventform"
)

// IDs of the ingest operations, as in the API document and the metrics.
const (
	oneOperation   = "ingest-event"
	aliasOperation = "ingest-event-alias"
	manyOperation  = "ingest-events"
)

// quickIngest is a fast path for valid events, which costs a fraction of full validation. Any other
// request falls through, with the same body, to the huma operation, which alone defines the API
// document and the error messages.
func (s *Service) quickIngest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operation, most := s.quickOperation(r)
		form := eventform.Is(r.Header.Get("Content-Type"))
		if operation == "" || r.ContentLength <= 0 || r.ContentLength > most || !form && !isJSON(r.Header.Get("Content-Type")) || r.Header.Get("Content-Encoding") != "" {
			next.ServeHTTP(w, r)
			return
		}
		start := s.mw.Clock()
		body, err := bodyOf(r)
		if err != nil { // most likely the client is gone
			middleware.WriteProblem(w, middleware.Problem(http.StatusBadRequest, "bad_request", "The body ended early."))
			return
		}
		if form {
			body = eventform.JSON(r, body)
		}
		site, events, unknown, ok := decodeEvents(body, operation == manyOperation)
		if !ok {
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
			return
		}
		if unknown {
			s.metrics.unknown.Inc()
		}
		answer, err := s.ingest(r.Context(), site, senderOf(r), events, nil)
		status := s.writeOutcomes(w, r, answer, err)
		s.mw.Metrics.Answered(operation, status, start)
	})
}

// senderOf returns the sender of a request that bypasses huma.
func senderOf(r *http.Request) *Sender {
	return &Sender{
		UserAgent: r.UserAgent(), address: r.RemoteAddr, header: r.Header.Get,
		dnt: r.Header.Get("DNT") == "1", gpc: r.Header.Get("Sec-GPC") == "1",
	}
}

// quickOperation returns the ingest operation that a request is for and its maximum body size, or
// "" for other requests.
func (s *Service) quickOperation(r *http.Request) (operation string, most int64) {
	if r.Method != http.MethodPost {
		return "", 0
	}
	switch p := r.URL.Path; {
	case p == eventPath:
		return oneOperation, maxEventBytes
	case p == eventsPath:
		return manyOperation, maxBatchBytes
	case p != "" && p == s.o.EventPath:
		return aliasOperation, maxEventBytes
	}
	return "", 0
}

// bodyOf reads a body with a known length. Memory for large bodies is allocated as data arrives,
// not by the announced length.
func bodyOf(r *http.Request) ([]byte, error) {
	if r.ContentLength > maxEventBytes {
		return io.ReadAll(r.Body)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

// isJSON reports whether a body may be JSON: navigator.sendBeacon sends it as text.
func isJSON(contentType string) bool {
	switch contentType {
	case "", "application/json", "text/plain", "text/plain;charset=UTF-8": // the last is what browsers send for a string
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || kind == "text/plain")
}

// decodeEvents decodes the body of a request. unknown reports that it has fields which no event has:
// they are ignored, so that a newer client loses nothing else. ok is false if anything known is not
// exactly as documented.
func decodeEvents(body []byte, many bool) (site string, events []Event, unknown, ok bool) {
	if bytes.Contains(body, []byte("null")) { // Go decodes null as absent; the API document does not allow it
		return "", nil, false, false
	}
	if site, events, ok = decodePlain(body, many); !ok {
		if site, events, ok = decodeAny(body, many); ok {
			unknown = hasUnknown(body, many)
		}
	}
	if !ok || !within(site, 1, 128) || len(events) < 1 || len(events) > maxEvents {
		return "", nil, false, false
	}
	for i := range events {
		if !events[i].valid() {
			return "", nil, false, false
		}
	}
	return site, events, unknown, true
}

// hasUnknown reports whether a body that decodeAny accepts has unknown fields.
func hasUnknown(body []byte, many bool) bool {
	into := any(&new(oneEvent).Body)
	if many {
		into = &new(manyEvents).Body
	}
	return json.Unmarshal(body, into, json.RejectUnknownMembers(true)) != nil
}

// decodeAny decodes any valid body. It uses the experimental next version of encoding/json, which
// takes half the time and is stricter: names in another case are unknown,
// duplicate names and invalid UTF-8 are rejected.
func decodeAny(body []byte, many bool) (site string, events []Event, ok bool) {
	var err error
	if many {
		var all manyEvents
		err = json.Unmarshal(body, &all.Body)
		site, events = all.Body.Site, all.Body.Events
	} else {
		var one oneEvent
		err = json.Unmarshal(body, &one.Body)
		site, events = one.Body.Site, []Event{one.Body.Event}
	}
	return site, events, err == nil
}

// valid reports whether an event's fields keep the lengths in their tags.
func (e *Event) valid() bool {
	for i := range reported {
		if !within(*reported[i].Sent(&e.Reported), 0, reported[i].MaxSent) {
			return false
		}
	}
	v := e.Visitor
	return within(e.ID, 0, 26) && within(e.Name, 0, 120) && within(e.URL, 1, 4096) && within(e.Referrer, 0, 4096) &&
		within(e.UserID, 0, 128) && within(e.SessionID, 0, 64) && within(e.Check, 0, 300) &&
		len(e.Properties) <= 30 && within(e.Revenue, 0, 40) && within(e.Currency, 0, 16) && (v == nil || v.Address != "" && v.UserAgent != "" && within(v.Address, 0, 64) && within(v.UserAgent, 0, 2048))
}

// within reports whether the number of characters is in range.
func within(s string, least, most int) bool {
	return len(s) >= least && (len(s) <= most || utf8.RuneCountInString(s) <= most)
}

// writeOutcomes writes the response and returns its status.
func (s *Service) writeOutcomes(w http.ResponseWriter, r *http.Request, answer *outcomes, err error) int {
	if err != nil {
		p := new(huma.ErrorModel)
		if !errors.As(err, &p) {
			errors.As(s.mw.Error(r.Context(), err), &p)
		}
		if more := huma.HeadersError(nil); errors.As(err, &more) {
			for name, values := range more.GetHeaders() {
				w.Header()[name] = values
			}
		}
		middleware.WriteProblem(w, p)
		return p.Status
	}
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(http.StatusAccepted)
	text := bodies.Get().(*[]byte)
	*text = answer.appendTo((*text)[:0])
	_, _ = w.Write(*text) // the client may be gone; ignore the error
	bodies.Put(text)
	return http.StatusAccepted
}

// jsonType is the value of the Content-Type header. Nothing may write to it.
var jsonType = []string{"application/json"}

// bodies pools the buffers of responses.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// appendTo appends the response's body, byte for byte as an encoder would write it.
func (o *outcomes) appendTo(b []byte) []byte {
	b = append(b, `{"outcomes":[`...)
	for i := range o.Body.Outcomes {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendOutcome(b, &o.Body.Outcomes[i])
	}
	b = append(b, `],"now":`...)
	return append(strconv.AppendInt(b, o.Body.Now, 10), "}\n"...)
}

func appendOutcome(b []byte, o *analytics.Outcome) []byte {
	b = append(b, '{')
	if o.EventID != "" {
		b = append(appendText(append(b, `"id":`...), o.EventID), ',')
	}
	b = appendText(append(b, `"status":`...), string(o.Status))
	if o.Reason != "" {
		b = appendText(append(b, `,"reason":`...), string(o.Reason))
	}
	if o.Detail != "" {
		b = appendText(append(b, `,"detail":`...), o.Detail)
	}
	if o.Warning != "" {
		b = appendText(append(b, `,"warning":`...), string(o.Warning))
	}
	return append(b, '}')
}

// appendText appends a JSON string. Strings from clients may need escaping by an encoder.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			var text bytes.Buffer
			_ = middleware.PlainJSON(&text).Encode(s) // cannot fail: strings can be encoded, and a buffer accepts them
			return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
