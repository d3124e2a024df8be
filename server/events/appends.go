package events

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

// Values are values that an append reserves for its aggregate, or releases.
type Values struct {
	Reserve []ReservedValue `json:"reserve,omitempty" maxItems:"20" doc:"Values that no other aggregate may have, such as an email address. The append fails if another one has a value."`
	Release []ScopedValue   `json:"release,omitempty" maxItems:"20" doc:"Values of the aggregate that others may have from now on."`
}

// ReservedValue is a value that an append reserves.
type ReservedValue struct {
	ScopedValue
	Subject string `json:"subject,omitempty" maxLength:"256" doc:"A person. The value is about this person, and is released when the person is erased."`
}

// ScopedValue is a value in a scope.
type ScopedValue struct {
	Scope string `json:"scope" minLength:"1" maxLength:"128" doc:"Such as email."`
	Value string `json:"value" minLength:"1" maxLength:"4096" doc:"Stored as a keyed hash."`
}

// options returns the values as options of an append.
func (v *Values) options() (options []eventstore.AppendOption) {
	for _, r := range v.Reserve {
		if r.Subject != "" {
			options = append(options, eventstore.ReserveFor(r.Subject, r.Scope, r.Value))
		} else {
			options = append(options, eventstore.Reserve(r.Scope, r.Value))
		}
	}
	for _, r := range v.Release {
		options = append(options, eventstore.Release(r.Scope, r.Value))
	}
	return options
}

// unlessBody is the condition of an append over a query.
type unlessBody struct {
	Query []queryItem `json:"query" minItems:"1" maxItems:"10"`
	After string      `json:"after,omitempty" maxLength:"4096" doc:"The position of the query's response. Default: the append is refused if any event matches."`
}

type queryItem struct {
	Types []string `json:"types,omitempty" maxItems:"50" doc:"Event types. Default: all."`
	Tags  []string `json:"tags" minItems:"1" maxItems:"16" doc:"An event must have all of them."`
}

func queryOf(items []queryItem) eventstore.Query {
	q := make(eventstore.Query, len(items))
	for i, item := range items {
		q[i] = eventstore.QueryItem(item)
	}
	return q
}

// options returns the condition as options of an append; nil has none.
func (u *unlessBody) options() ([]eventstore.AppendOption, error) {
	if u == nil {
		return nil, nil
	}
	var after eventstore.QueryPosition
	if err := after.UnmarshalText([]byte(u.After)); err != nil {
		return nil, err
	}
	return []eventstore.AppendOption{eventstore.Unless(queryOf(u.Query), after)}, nil
}

// commitOption returns the commit ID that a request gives in its body or in a header.
func commitOption(body, header string) ([]eventstore.AppendOption, error) {
	if body != "" && header != "" && body != header {
		return nil, middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", "commitId and Idempotency-Key differ. Send only one of them.")
	}
	if body+header == "" {
		return nil, nil
	}
	return []eventstore.AppendOption{eventstore.CommitID(cmp.Or(body, header))}, nil
}

type appendAllRequest struct {
	Key  string `header:"Idempotency-Key" maxLength:"64" doc:"Replaces commitId."`
	Body struct {
		CommitID string       `json:"commitId,omitempty" maxLength:"64" doc:"Idempotency key of the whole append. Must not contain '#'."`
		Appends  []appendPart `json:"appends" minItems:"1" maxItems:"49" doc:"One for each aggregate. Appended all or none."`
		Unless   *unlessBody  `json:"unless,omitempty" doc:"Refuse the append if events that match a query came after a position."`
	}
}

type appendPart struct {
	Type     string          `json:"type" minLength:"1" maxLength:"64"`
	ID       string          `json:"id" minLength:"1" maxLength:"256"`
	Expected json.RawMessage `json:"expected,omitempty" doc:"The expected version of the stream: a number, \"none\", \"exists\" or \"any\". Default: any."`
	Events   []eventjson.New `json:"events" minItems:"1" maxItems:"98"`
	Values
}

type appendAllAnswer struct {
	Status int
	Body   struct {
		Commit  string         `json:"commit"`
		Again   bool           `json:"again" doc:"The commit was already stored."`
		Appends []appendedPart `json:"appends" doc:"In the order of the request."`
	}
}

type appendedPart struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	First   int64  `json:"first" doc:"Number of the first event."`
	Version int64  `json:"version" doc:"Number of the last event, which is the version of the stream."`
}

type queryRequest struct {
	Body struct {
		Query []queryItem `json:"query" minItems:"1" maxItems:"10" doc:"An event matches the query if it matches one of these."`
		After string      `json:"after,omitempty" maxLength:"4096" doc:"The position of an earlier response: only later events."`
	}
}

type aggregateEvent struct {
	AggregateType string `json:"aggregateType"`
	AggregateID   string `json:"aggregateId"`
	eventjson.Event
}

type queryAnswer struct {
	Body struct {
		Events   []aggregateEvent `json:"events" doc:"In an order in which they can have happened."`
		Position string           `json:"position" doc:"After these events: for after of a later query, and unless of an append."`
	}
}

type ownerRequest struct {
	Body ScopedValue
}

type ownerAnswer struct {
	Body struct {
		Owner string `json:"owner" doc:"The aggregate, as type/id."`
	}
}

// queryConflictProblem is the response to an append whose query has new events.
type queryConflictProblem struct {
	*huma.ErrorModel
	Since    []aggregateEvent `json:"since" doc:"The events that match the query and came after the position, as many as fit into a response."`
	Position string           `json:"position" doc:"After all of these events."`
}

func (s *Service) appendsRoutes(api huma.API) {
	all := middleware.AppliesLimits(operation(middleware.ForAppend, "append-to-several", http.MethodPost, root+"/appends", "Append events to several streams, all or none"))
	all.Description = `In one transaction, at one position of the feed. A 409 ` + "`version_conflict`" + ` names the aggregate with another version. With ` + "`unless`" + `, a 409
` + "`query_conflict`" + ` has the events that match the query and came after its position: decide again.`
	all.DefaultStatus, all.MaxBodyBytes = http.StatusCreated, maxAppendBody
	all.Errors = append(all.Errors, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity)
	all.Responses = map[string]*huma.Response{"409": {Description: "A stream has another version or is closed, a value is taken, or events match the query.", Content: map[string]*huma.MediaType{
		"application/problem+json": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[queryConflictProblem](), true, "QueryConflict")},
	}}}
	huma.Register(api, all, s.appendAll)
	query := middleware.AppliesLimits(operation(middleware.ForRead, "query-events", http.MethodPost, root+"/query", "Read the events that match a query of types and tags"))
	query.Description = "Strongly consistent, over all aggregates. At most 4 MB of events: use tags of single things."
	query.Errors = append(query.Errors, http.StatusRequestEntityTooLarge)
	huma.Register(api, query, s.query)
	owner := middleware.AppliesLimits(operation(middleware.ForRead, "owner-of-value", http.MethodPost, root+"/reservations/owner", "Get the aggregate that has reserved a value"))
	owner.Description = "The value is in the body, so that it is in no log."
	huma.Register(api, owner, s.ownerOf)
}

func (s *Service) appendAll(ctx context.Context, in *appendAllRequest) (*appendAllAnswer, error) {
	options, err := commitOption(in.Body.CommitID, in.Key)
	if err != nil {
		return nil, err
	}
	unless, err := in.Body.Unless.options()
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	parts := make([]eventstore.AppendTo, len(in.Body.Appends))
	for i := range in.Body.Appends {
		p := &in.Body.Appends[i]
		parts[i] = eventstore.AppendTo{ID: eventstore.ID{Type: p.Type, ID: p.ID}, Options: p.options()}
		if parts[i].Expected, err = expectedOf(p.Expected); err != nil {
			return nil, err
		}
		if parts[i].Events, err = eventjson.NewEvents(p.Events); err == nil {
			err = limitAppend(ctx, parts[i].ID, parts[i].Events, shared{in.Body.Unless, &p.Values})
		}
		if err == nil {
			err = s.checkEvents(ctx, parts[i].ID, cmp.Or(in.Body.CommitID, in.Key), parts[i].Events, "body.appends["+strconv.Itoa(i)+"].events")
		}
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
	}
	commits, err := s.storeFor(ctx).AppendAll(ctx, parts, append(options, unless...)...)
	if err != nil {
		return nil, s.appendError(ctx, err, http.StatusConflict)
	}
	s.appended.notify()
	answer := &appendAllAnswer{Status: http.StatusCreated}
	for i, c := range commits {
		if answer.Body.Commit = c.CommitID; c.Again {
			answer.Status, answer.Body.Again = http.StatusOK, true
		}
		answer.Body.Appends = append(answer.Body.Appends, appendedPart{parts[i].ID.Type, parts[i].ID.ID, c.First, c.Version})
	}
	return answer, nil
}

// appendError maps an error of an append to a response. status is that of a version conflict.
func (s *Service) appendError(ctx context.Context, err error, status int) error {
	if conflict := (*eventstore.Conflict)(nil); errors.As(err, &conflict) {
		return conflictOf(conflict, status)
	}
	conflict := (*eventstore.QueryConflict)(nil)
	if !errors.As(err, &conflict) {
		return s.mw.Error(ctx, err)
	}
	position, err := conflict.Since.Position.MarshalText()
	if err != nil {
		return s.mw.Error(ctx, err)
	}
	since, _ := aggregateEvents(limitEvents(&middleware.CallerOf(ctx).Limits, conflict.Since.Events))
	return &queryConflictProblem{Since: since, Position: string(position), ErrorModel: middleware.Problem(http.StatusConflict, "query_conflict",
		"Events that match the query were appended in the meantime. Decide again with them.")}
}

// aggregateEvents describes events, as many as fit into a response.
func aggregateEvents(events []eventstore.Event) (described []aggregateEvent, all bool) {
	described, bytes := []aggregateEvent{}, 0
	for i := range events {
		e := &events[i]
		if bytes += eventBytes(e); bytes > pageBytes {
			return described, false
		}
		described = append(described, aggregateEvent{e.Type, e.EventKey.ID.ID, describe(e)})
	}
	return described, true
}

func (s *Service) query(ctx context.Context, in *queryRequest) (*queryAnswer, error) {
	limits := &middleware.CallerOf(ctx).Limits
	if err := limitQuery(limits, in.Body.Query); err != nil {
		return nil, err
	}
	var after eventstore.QueryPosition
	err := after.UnmarshalText([]byte(in.Body.After))
	var m eventstore.Matched
	if err == nil {
		m, err = s.storeFor(ctx).QueryAfter(ctx, queryOf(in.Body.Query), after)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(queryAnswer)
	all := false
	if answer.Body.Events, all = aggregateEvents(limitEvents(limits, m.Events)); !all {
		return nil, middleware.Problem(http.StatusRequestEntityTooLarge, "too_large", "More than 4 MB of events match the query. Use tags of fewer events, or read the feed.")
	}
	position, err := m.Position.MarshalText()
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer.Body.Position = string(position)
	return answer, nil
}

func (s *Service) ownerOf(ctx context.Context, in *ownerRequest) (*ownerAnswer, error) {
	limits := &middleware.CallerOf(ctx).Limits
	if err := limitNames(limits, "scopes of values", in.Body.Scope); err != nil {
		return nil, err
	}
	owner, err := s.store.OwnerOf(ctx, in.Body.Scope, in.Body.Value)
	if errors.Is(err, table.ErrNotFound) {
		return nil, middleware.Problem(http.StatusNotFound, "not_reserved", "No aggregate has this value.")
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if kind, id, _ := strings.Cut(owner, "/"); !limits.Allow(kind, id) {
		return nil, limited("Another aggregate than those of the key has this value.")
	}
	answer := new(ownerAnswer)
	answer.Body.Owner = owner
	return answer, nil
}
