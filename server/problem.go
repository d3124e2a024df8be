package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// codePrefix begins the `type` of every problem (RFC 9457): what follows is the stable code that a client may compare.
const codePrefix = "urn:onefold:error:"

// statusCodes are the codes of problems that are known by their status alone, such as those of request validation.
var statusCodes = map[int]string{
	http.StatusBadRequest:            "bad_request",
	http.StatusUnauthorized:          "unauthorized",
	http.StatusNotFound:              "not_found",
	http.StatusRequestEntityTooLarge: "body_too_large",
	http.StatusUnsupportedMediaType:  "unsupported_media_type",
	http.StatusUnprocessableEntity:   "invalid_request",
	http.StatusTooManyRequests:       "rate_limited",
	http.StatusServiceUnavailable:    "unavailable",
	http.StatusGatewayTimeout:        "timeout",
	http.StatusInternalServerError:   "internal",
}

// withCode gives a problem the code of its status when it has none of its own.
func withCode(_ huma.Context, _ string, answer any) (any, error) {
	if p, ok := answer.(*huma.ErrorModel); ok && p.Type == "" {
		code := statusCodes[p.Status]
		if code == "" {
			code = "status_" + strconv.Itoa(p.Status)
		}
		p.Type = codePrefix + code
	}
	return answer, nil
}

func problem(status int, code, detail string) *huma.ErrorModel {
	return &huma.ErrorModel{Type: codePrefix + code, Title: http.StatusText(status), Status: status, Detail: detail}
}

// httpError is the one place where errors of the verbs become answers. What is not named here is our fault: it is
// logged, and the client learns no more than that.
func (s *Server) httpError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, table.ErrNotFound), errors.Is(err, analytics.ErrUnknownSite):
		return problem(http.StatusNotFound, "not_found", "There is no such site. Create it with `onefold site create`.")
	case errors.Is(err, table.ErrKeyValue):
		return problem(http.StatusUnprocessableEntity, "bad_site", "A site's id may not contain '#'.")
	case errors.Is(err, analytics.ErrReport):
		return problem(http.StatusUnprocessableEntity, "bad_range", err.Error())
	case dynamo.IsThrottle(err):
		return huma.ErrorWithHeaders(problem(http.StatusServiceUnavailable, "throttled", "The table takes no more for the moment. Send it again."), http.Header{"Retry-After": {"1"}})
	case errors.Is(err, context.DeadlineExceeded):
		return problem(http.StatusGatewayTimeout, "timeout", "The table did not answer in time. Sending the same events again counts none twice.")
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return problem(http.StatusServiceUnavailable, "cancelled", "The request was given up.")
	}
	s.o.Logger.ErrorContext(ctx, "request failed", "error", err)
	return problem(http.StatusInternalServerError, "internal", "Something went wrong here. Sending the same events again counts none twice.")
}

func rateLimited(wait time.Duration) error {
	seconds := strconv.Itoa(int(wait.Seconds()) + 1)
	return huma.ErrorWithHeaders(problem(http.StatusTooManyRequests, "rate_limited", "Too many events from this address. Try again after "+seconds+" s."), http.Header{"Retry-After": {seconds}})
}
