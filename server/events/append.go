package events

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/server/internal/middleware"
)

const maxAppendBody = 6 << 20 // 4 MB of events, with the overhead of JSON

type appendRequest struct {
	AggregatePath
	IfMatch     string `header:"If-Match" maxLength:"64" doc:"The expected version of the stream, as an entity tag; * means that it must exist. Replaces expected."`
	IfNoneMatch string `header:"If-None-Match" maxLength:"64" doc:"*: the stream must have no events. Replaces expected."`
	Key         string `header:"Idempotency-Key" maxLength:"64" doc:"Replaces commitId."`
	Body        struct {
		Expected json.RawMessage `json:"expected,omitempty" doc:"The expected version of the stream: a number, \"none\", \"exists\" or \"any\". Default: any."`
		CommitID string          `json:"commitId,omitempty" maxLength:"64" doc:"Idempotency key. Repeating the append with the same key returns the first result, forever. Must not contain '#'."`
		Events   []eventjson.New `json:"events" minItems:"1" maxItems:"98" doc:"Appended all or none. With a commit ID, at most 97."`
		Unless   *unlessBody     `json:"unless,omitempty" doc:"Refuse the append if events that match a query came after a position."`
		Values
	}
}

type appendAnswer struct {
	Status int
	ETag   string `header:"ETag" doc:"The version, for If-Match of the next append."`
	Body   struct {
		Commit  string `json:"commit"`
		First   int64  `json:"first" doc:"Number of the first event."`
		Version int64  `json:"version" doc:"Number of the last event, which is the version of the stream after the append."`
		Again   bool   `json:"again" doc:"The commit was already stored: by an earlier request, or by a try of this one whose response from the store was lost."`
	}
}

func (s *Service) appendRoutes(api huma.API) {
	op := operation(middleware.ForAppend, "append-events", http.MethodPost, aggregatePath+"/events", "Append events to a stream, all or none")
	op.Description = `The stream begins with its first events.

    {"expected": 3, "commitId": "5f2c…", "events": [
      {"type": "OrderPaid", "data": {"amount": 71.25}, "actor": "alice", "metadata": {"ip": "…"}}]}

Only events and their types are required. When the stream has another version than ` + "`expected`" + ` the answer is a 409, and a 412 when a header said what is
expected: ` + "`version_conflict`" + ` with the version that it has and the events since. After a time-out nobody knows whether it happened: send it again with the
same ` + "`commitId`" + `. The answer is 201, or 200 when it had happened before.`
	op.DefaultStatus, op.MaxBodyBytes = http.StatusCreated, maxAppendBody
	op.Errors = append(op.Errors, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity)
	conflict := &huma.Response{Description: "The stream has another version, or is closed.", Content: map[string]*huma.MediaType{
		"application/problem+json": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[conflictProblem](), true, "VersionConflict")},
	}}
	op.Responses = map[string]*huma.Response{"409": conflict, "412": conflict}
	huma.Register(api, op, s.append)
}

// append appends events, and wakes up the live streams of this process. A repeated append, with the
// same commit ID, answers 200 instead of 201.
func (s *Service) append(ctx context.Context, in *appendRequest) (*appendAnswer, error) {
	expected, status, err := in.expected()
	if err != nil {
		return nil, err
	}
	events, err := eventjson.NewEvents(in.Body.Events)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	options, err := commitOption(in.Body.CommitID, in.Key)
	if err != nil {
		return nil, err
	}
	unless, err := in.Body.Unless.options()
	if err == nil {
		err = limitAppend(ctx, in.id(), events, shared{in.Body.Unless, &in.Body.Values})
	}
	if err == nil {
		err = s.checkEvents(ctx, in.id(), cmp.Or(in.Body.CommitID, in.Key), events, "body.events")
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	c, err := s.storeFor(ctx).Append(ctx, in.id(), expected, events, slices.Concat(options, unless, in.Body.options())...)
	if err != nil {
		return nil, s.appendError(ctx, err, status)
	}
	s.appended.notify()
	answer := &appendAnswer{Status: http.StatusCreated, ETag: etag(c.Version)}
	if c.Again {
		answer.Status = http.StatusOK
	}
	answer.Body.Commit, answer.Body.First, answer.Body.Version, answer.Body.Again = c.CommitID, c.First, c.Version, c.Again
	return answer, nil
}

// etag formats a version as an entity tag.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// expected returns the version that an append expects, and the status of the response if the stream
// has another version.
func (r *appendRequest) expected() (e eventstore.Expected, status int, err error) {
	said := 0
	for _, is := range []bool{len(r.Body.Expected) > 0, r.IfMatch != "", r.IfNoneMatch != ""} {
		if is {
			said++
		}
	}
	switch {
	case said > 1:
		return e, 0, middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", "Give the expected version once: with If-Match, If-None-Match or expected.")
	case r.IfNoneMatch == "*":
		return eventstore.NoStream(), http.StatusPreconditionFailed, nil
	case r.IfNoneMatch != "":
		return e, 0, middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", "If-None-Match must be *.")
	case r.IfMatch == "*":
		return eventstore.Exists(), http.StatusPreconditionFailed, nil
	case r.IfMatch != "":
		n, err := strconv.ParseInt(strings.Trim(strings.TrimPrefix(r.IfMatch, "W/"), `"`), 10, 64)
		if err != nil || n < 0 {
			return e, 0, middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", `If-Match is the version of the stream, such as "3", or *.`)
		}
		return eventstore.Exact(n), http.StatusPreconditionFailed, nil
	}
	e, err = expectedOf(r.Body.Expected)
	return e, http.StatusConflict, err
}

// expectedOf parses an expected version.
func expectedOf(said json.RawMessage) (eventstore.Expected, error) {
	switch text := string(said); text {
	case "", `"any"`, "null":
		return eventstore.Any(), nil
	case `"none"`:
		return eventstore.NoStream(), nil
	case `"exists"`:
		return eventstore.Exists(), nil
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return eventstore.Expected{}, middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", `expected is a version from 0, "none", "exists" or "any".`)
		}
		return eventstore.Exact(n), nil
	}
}
