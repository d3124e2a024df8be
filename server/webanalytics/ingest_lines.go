package webanalytics

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/filtered"
	"github.com/onefold/onefold/server/internal/middleware"
)

// linesType is the media type of a batch with one event per line. Lines are read as they arrive, so
// the body is never in memory as a whole.
const linesType = "application/x-ndjson"

// Reasons for rejecting a line.
const (
	reasonBadLine  analytics.Reason = "bad_line"
	reasonLongLine analytics.Reason = "line_too_long"
)

var (
	errTooManyLines = errors.New("too many lines")
	errNoLines      = errors.New("no lines")
)

// linesIngest serves requests with one event per line. An invalid line is rejected alone.
func (s *Service) linesIngest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != eventsPath || !isLines(r.Header.Get("Content-Type")) {
			next.ServeHTTP(w, r)
			return
		}
		start := s.mw.Clock()
		answer, err := s.takeLines(w, r)
		status := s.writeOutcomes(w, r, answer, err)
		s.mw.Metrics.Answered(manyOperation, status, start)
	})
}

// isLines reports whether a content type is linesType.
func isLines(contentType string) bool {
	if contentType == linesType {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == linesType
}

// takeLines stores the events of a request. Nothing is stored unless the whole body arrives.
func (s *Service) takeLines(w http.ResponseWriter, r *http.Request) (*outcomes, error) {
	site := r.URL.Query().Get("site")
	if !within(site, 1, 128) {
		return nil, middleware.Problem(http.StatusUnprocessableEntity, "no_site", "Name the site of the lines: /api/events?site=SITE")
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, middleware.Problem(http.StatusUnsupportedMediaType, "unsupported_media_type", "Send the lines without Content-Encoding.")
	}
	events, decided, err := readLines(http.MaxBytesReader(w, r.Body, maxBatchBytes))
	if err != nil {
		return nil, linesProblem(err)
	}
	return s.ingest(r.Context(), site, senderOf(r), events, decided)
}

// linesProblem returns the response to an error of readLines.
func linesProblem(err error) error {
	switch tooLarge := new(http.MaxBytesError); {
	case errors.As(err, &tooLarge):
		return middleware.Problem(http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf("A batch may have at most %d bytes. Split it into several requests.", maxBatchBytes))
	case errors.Is(err, errTooManyLines):
		return middleware.Problem(http.StatusRequestEntityTooLarge, "too_many_events", fmt.Sprintf("A batch may have at most %d events. Split it into several requests.", maxEvents))
	case errors.Is(err, errNoLines):
		return middleware.Problem(http.StatusUnprocessableEntity, "no_events", "The body has no lines.")
	}
	return middleware.Problem(http.StatusBadRequest, "bad_request", "The body ended early.")
}

// lineReaders have buffers for the longest line and its line ending.
var lineReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxEventBytes+len("\r\n")) }}

// readLines reads a body with one event per line and skips empty lines. For each line it returns an
// event, or an outcome with a status if the line is invalid. Errors: errNoLines, errTooManyLines,
// and those of the body.
func readLines(body io.Reader) (events []Event, decided []analytics.Outcome, err error) {
	in := lineReaders.Get().(*bufio.Reader)
	in.Reset(body)
	defer func() {
		in.Reset(nil)
		lineReaders.Put(in)
	}()
	texts := new([textCache]string)
	for number, ended := 1, false; !ended; number++ {
		line, err := in.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n') // skips the rest; line is not used again
		}
		if ended = err != nil; ended && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		if line = bytes.TrimRight(line, "\r\n"); !long && len(bytes.Trim(line, " \t\r")) == 0 {
			continue
		}
		if len(events) == maxEvents {
			return nil, nil, errTooManyLines
		}
		event, outcome := Event{}, analytics.Outcome{Status: analytics.Rejected, Reason: reasonLongLine, Detail: fmt.Sprintf("line %d has more than %d bytes", number, maxEventBytes)}
		if !long && len(line) <= maxEventBytes {
			event, outcome = readLine(line, number, texts)
		}
		events, decided = append(events, event), append(decided, outcome)
	}
	if len(events) == 0 {
		return nil, nil, errNoLines
	}
	return events, decided, nil
}

// readLine decodes an event, or returns an outcome that says what is wrong with the line.
func readLine(line []byte, number int, texts *[textCache]string) (Event, analytics.Outcome) {
	e, ok := decodeLine(line, texts)
	detail := "line %d is not a JSON object with an event's fields, each at most once and of the right type"
	if ok && e.valid() {
		return e, analytics.Outcome{}
	}
	if ok {
		detail = "line %d has no url, or a field that exceeds its documented length"
	}
	return Event{}, analytics.Outcome{Status: analytics.Rejected, Reason: reasonBadLine, Detail: fmt.Sprintf(detail, number)}
}

// decodeLine decodes an event as decodeEvents decodes those of a batch.
func decodeLine(line []byte, texts *[textCache]string) (e Event, ok bool) {
	s := scanner{b: line, texts: texts}
	s.event(&e, nil)
	s.space()
	if !s.declined && s.at == len(line) {
		return e, true
	}
	e = Event{}
	err := json.Unmarshal(line, &e)
	return e, err == nil && !hasNull(line)
}

// hasNull reports whether valid JSON contains null: outside of strings, no other literal contains
// an n.
func hasNull(text []byte) bool {
	inText := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case !inText && c == 'n':
			return true
		}
	}
	return false
}

// countBroken counts an invalid line. Errors: analytics.ErrUnknownSite, and those of the store.
func (s *Service) countBroken(ctx context.Context, site string, reason analytics.Reason) error {
	day, err := s.o.Collector.Today(ctx, site)
	if err != nil {
		return err
	}
	s.filtered.Count(filtered.DayKey{SiteID: site, Day: day}, filtered.Other, string(reason), 1)
	return nil
}
