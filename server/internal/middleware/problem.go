package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/jobs"
	"github.com/onefold/onefold/table"
)

// codePrefix is the prefix of the `type` of every problem (RFC 9457). The rest is the stable code
// that clients may compare.
const codePrefix = "urn:onefold:error:"

// statusCodes are the codes of problems that have only a status, such as those of request
// validation.
var statusCodes = map[int]string{
	http.StatusBadRequest:            "bad_request",
	http.StatusUnauthorized:          "unauthorized",
	http.StatusForbidden:             "forbidden",
	http.StatusNotFound:              "not_found",
	http.StatusMethodNotAllowed:      "method_not_allowed",
	http.StatusRequestEntityTooLarge: "body_too_large",
	http.StatusUnsupportedMediaType:  "unsupported_media_type",
	http.StatusUnprocessableEntity:   "invalid_request",
	http.StatusTooManyRequests:       "rate_limited",
	http.StatusServiceUnavailable:    "unavailable",
	http.StatusGatewayTimeout:        "timeout",
	http.StatusInternalServerError:   "internal",
	http.StatusInsufficientStorage:   "disk_full",
}

// WithCode gives a problem without a code the code of its status. It removes the request's values
// from the problem, because responses may be logged on their way and a value may be a password.
func WithCode(_ huma.Context, _ string, answer any) (any, error) {
	p, ok := answer.(*huma.ErrorModel)
	if !ok {
		return answer, nil
	}
	for _, detail := range p.Errors {
		detail.Value = nil
	}
	if p.Type == "" {
		p.Type = codePrefix + codeOf(p.Status)
	}
	return answer, nil
}

func codeOf(status int) string {
	if code := statusCodes[status]; code != "" {
		return code
	}
	return "status_" + strconv.Itoa(status)
}

// Problem returns an error response with a status, the stable code that clients may compare, and a
// text that says what to do.
func Problem(status int, code, detail string) *huma.ErrorModel {
	return &huma.ErrorModel{Type: codePrefix + code, Title: http.StatusText(status), Status: status, Detail: detail}
}

// origin matches the package prefixes of Go errors: "goals: goal: ".
var origin = regexp.MustCompile(`^(?:[a-z]+: )+`)

// Detail returns an error's message for people: capitalized and without package prefixes.
func Detail(err error) string {
	text := err.Error()
	if rest := text[len(origin.FindString(text)):]; rest != "" {
		text = rest
	}
	first, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[n:]
}

// Code returns the code of a problem.
func Code(p *huma.ErrorModel) string { return strings.TrimPrefix(p.Type, codePrefix) }

// Error maps errors to responses. It is the only place that does. Unknown errors are internal: they
// are logged, and the client learns no details.
func (s *Stack) Error(ctx context.Context, err error) error {
	if known := new(huma.ErrorModel); errors.As(err, &known) {
		return known
	}
	if errors.Is(err, jobs.ErrStopping) {
		return ShuttingDown()
	}
	place, sent := nounsOf(ctx)
	if p := accountsProblem(err, place); p != nil {
		return p
	}
	for _, problemOf := range s.Problems {
		if p := problemOf(err); p != nil {
			return p
		}
	}
	if p := storeProblem(err, sent); p != nil {
		return p
	}
	switch {
	case errors.Is(err, table.ErrNotFound):
		return Problem(http.StatusNotFound, "not_found", "There is nothing with this ID, or no such "+place+".")
	case errors.Is(err, table.ErrKeyValue):
		return Problem(http.StatusUnprocessableEntity, "bad_site", "An ID must not contain '#'.")
	case errors.Is(err, table.ErrCursor):
		return Problem(http.StatusUnprocessableEntity, "bad_cursor", "The cursor does not belong to this list. Start without a cursor.")
	case errors.Is(err, table.ErrExists):
		return Problem(http.StatusConflict, "exists", "Something with this ID already exists.")
	case errors.Is(err, context.DeadlineExceeded):
		return Problem(http.StatusGatewayTimeout, "timeout", "The table did not answer in time. You can safely send the same "+sent+" again: nothing is counted twice.")
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return Problem(http.StatusServiceUnavailable, "cancelled", "The request was cancelled.")
	}
	s.Logger.ErrorContext(ctx, "request failed", "error", err)
	return Problem(http.StatusInternalServerError, "internal", "Internal error. You can safely send the same "+sent+" again: nothing is counted twice.")
}

// accountsProblem maps errors of package accounts about a place. It returns nil for other errors.
func accountsProblem(err error, place string) error {
	switch {
	case errors.Is(err, accounts.ErrInvalid):
		return Problem(http.StatusUnprocessableEntity, "invalid_request", Detail(err))
	case errors.Is(err, accounts.ErrEmailTaken):
		return Problem(http.StatusConflict, "email_taken", "An account with this email address already exists.")
	case errors.Is(err, accounts.ErrMember):
		return Problem(http.StatusConflict, "member_exists", "This person already has another role on the "+place+". Change that role.")
	case errors.Is(err, accounts.ErrLastOwner):
		return Problem(http.StatusConflict, "last_owner", "This is the last owner of all sites. Make another person an owner first.")
	case errors.Is(err, accounts.ErrSetUp):
		return Problem(http.StatusForbidden, "bad_setup_token", "This set-up link is invalid. The server prints a new one at startup until there is an owner.")
	}
	return nil
}

// storeProblem maps errors of a store that is throttled, full, unreachable or moved. It returns nil
// for other errors. The responses say when to retry.
func storeProblem(err error, sent string) error {
	failure, gaveUp := dynamo.GaveUp(err)
	switch {
	case gaveUp && failure.Kind == dynamo.Unreachable:
		return RetryAfter(Problem(http.StatusServiceUnavailable, "store_unreachable", "The table is unreachable. You can safely send the same "+sent+" again later: nothing is counted twice."), failure.After)
	case gaveUp && failure.Kind == dynamo.Full:
		return RetryAfter(Problem(http.StatusInsufficientStorage, "disk_full", "The server's disk is nearly full, so requests that add data are rejected. Free space or enlarge the disk. You can safely send the same "+sent+" again later: nothing is counted twice."), failure.After)
	case gaveUp && failure.Kind == dynamo.Moved:
		return RetryAfter(Problem(http.StatusServiceUnavailable, "store_moved", "The table is being migrated to another store, and this server is stopping. You can safely send the same "+sent+" again later: nothing is counted twice."), failure.After)
	case gaveUp:
		return RetryAfter(throttledProblem(), failure.After)
	case dynamo.IsThrottle(err), errors.Is(err, table.ErrThrottled):
		return RetryAfter(throttledProblem(), time.Second)
	}
	return nil
}

func throttledProblem() *huma.ErrorModel {
	return Problem(http.StatusTooManyRequests, "throttled", "The table is throttled. Try again later, at a lower rate.")
}

// RetryAfter adds the time to retry to a problem, in whole seconds, at least one.
func RetryAfter(p *huma.ErrorModel, after time.Duration) error {
	seconds := max(int((after+time.Second-1)/time.Second), 1)
	return huma.ErrorWithHeaders(p, http.Header{"Retry-After": {strconv.Itoa(seconds)}})
}

// RateLimited returns a problem for exceeding a rate limit, with the time to retry.
func RateLimited(what string, wait time.Duration) error {
	seconds := strconv.Itoa(int(wait.Seconds()) + 1)
	return huma.ErrorWithHeaders(Problem(http.StatusTooManyRequests, "rate_limited", "Too many "+what+". Try again after "+seconds+" s."), http.Header{"Retry-After": {seconds}})
}

// ShuttingDown returns a problem for work that would outlast the server.
func ShuttingDown() error {
	return Problem(http.StatusServiceUnavailable, "unavailable", "The server is stopping. Try again when it is back.")
}

// WriteProblem writes a problem outside of the API's operations.
func WriteProblem(w http.ResponseWriter, p *huma.ErrorModel) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = PlainJSON(w).Encode(p)
}

// PlainJSON returns an encoder as operations use it: responses are for programs, so HTML is not
// escaped.
func PlainJSON(w io.Writer) *json.Encoder {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder
}
