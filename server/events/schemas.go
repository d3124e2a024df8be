package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventschema"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

// EventTypePath names an event type.
type EventTypePath struct {
	EventType string `path:"eventType" minLength:"1" maxLength:"128" doc:"Type of the events."`
}

type schemaRequest struct {
	EventTypePath
	Version int `query:"version" minimum:"1" maximum:"1000000" doc:"Version of the form of the data. Default: the latest."`
}

type deleteSchemaRequest struct {
	EventTypePath
	Version int `query:"version" required:"true" minimum:"1" maximum:"1000000" doc:"Version of the form of the data."`
}

type putSchemaRequest struct {
	EventTypePath
	Version int `query:"version" minimum:"1" maximum:"1000000" default:"1" doc:"Version of the form of the data."`
	Body    struct {
		Schema json.RawMessage `json:"schema" doc:"JSON Schema 2020-12, at most 64 KB, with at most 1,000 nested schemas. References are local and must not recur."`
	}
}

type schemaAnswer struct {
	Status int
	Body   schemaBody
}

type schemaBody struct {
	Type     string          `json:"type"`
	Version  int             `json:"version"`
	Schema   json.RawMessage `json:"schema" doc:"JSON Schema 2020-12."`
	Versions []int           `json:"versions" doc:"All versions that have a schema, in ascending order."`
	Created  time.Time       `json:"created"`
	Updated  time.Time       `json:"updated"`
}

const maxSchemaBody = eventschema.MaxBytes * 2 // with insignificant space

func (s *Service) schemaRoutes(api huma.API) {
	const path = root + "/event-types/{eventType}/schema"
	huma.Register(api, operation(middleware.ForRead, "event-schema", http.MethodGet, path, "Get the JSON Schema of a version of an event type"), s.eventSchema)
	put := operation(middleware.ForWrite, "put-event-schema", http.MethodPut, path, "Set the JSON Schema of a version of an event type")
	put.Description = `Appends over HTTP are checked against it. Events that are stored already are not. A schema is only replaced by one that accepts every event that it accepts: otherwise
the answer is 409 ` + "`schema_incompatible`" + `, with the places in the new schema, and the change needs another version. If a type has schemas, its events must have one of their versions.
Other servers notice a change within 2 seconds.

` + "`x-personal-data`" + ` is a keyword of a property with personal data. Its value is the path of the person's ID in the data, such as ` + "`customerId`" + `. The field is stored encrypted
with a key of the person in all versions of the type, forever. ` + "`x-personal-metadata`" + ` is a keyword of the whole
schema, with the path of the person's ID for each entry of the metadata that is personal.
The answer comes when every program encrypts the fields, after at most 9 seconds.`
	put.MaxBodyBytes = maxSchemaBody
	put.Errors = append(put.Errors, http.StatusConflict)
	huma.Register(api, put, s.putEventSchema)
	remove := operation(middleware.ForWrite, "delete-event-schema", http.MethodDelete, path, "Delete the JSON Schema of a version of an event type")
	remove.Description = "Events of this version are then refused if the type has schemas of other versions, and not checked if it has none. What the schema declared personal stays encrypted."
	remove.DefaultStatus, remove.Errors = http.StatusNoContent, append(remove.Errors, http.StatusNotFound)
	huma.Register(api, remove, s.deleteEventSchema)
}

func (s *Service) eventSchema(ctx context.Context, in *schemaRequest) (*schemaAnswer, error) {
	all, err := eventschema.Versions(ctx, s.table, in.EventType)
	if err != nil && !errors.Is(err, eventschema.ErrNotFound) {
		return nil, s.mw.Error(ctx, err)
	}
	answer := &schemaAnswer{Status: http.StatusOK}
	for i, r := range all {
		answer.Body.Versions = append(answer.Body.Versions, r.Version)
		if r.Version == in.Version || in.Version == 0 && i == len(all)-1 {
			answer.Body.Type, answer.Body.Version, answer.Body.Schema = r.EventType, r.Version, json.RawMessage(r.Text)
			answer.Body.Created, answer.Body.Updated = r.CreatedAt, r.UpdatedAt
		}
	}
	if answer.Body.Version == 0 {
		return nil, middleware.Problem(http.StatusNotFound, "no_such_schema", "This version of the event type has no schema.")
	}
	return answer, nil
}

func (s *Service) putEventSchema(ctx context.Context, in *putSchemaRequest) (*schemaAnswer, error) {
	schema, err := eventschema.Parse(in.Body.Schema)
	changed, personal := false, err == nil && len(schema.Personal(in.EventType)) > 0
	if personal && s.o.Keys == nil {
		return nil, middleware.Problem(http.StatusConflict, "no_master_key", "The schema declares personal data, and the server has no master key to encrypt it with. Start it with --master-key-file.")
	}
	if err == nil {
		changed, err = eventschema.Put(ctx, s.table, eventschema.Key{EventType: in.EventType, Version: in.Version}, schema)
	}
	if err == nil && personal {
		err = s.o.Keys.Ready(ctx)
	}
	if err != nil {
		return nil, s.schemaError(ctx, err)
	}
	s.schemas.Forget(in.EventType)
	if changed {
		s.recordSchema(ctx, "schema.put", in.EventType, in.Version)
	}
	return s.eventSchema(ctx, &schemaRequest{in.EventTypePath, in.Version})
}

func (s *Service) deleteEventSchema(ctx context.Context, in *deleteSchemaRequest) (*struct{}, error) {
	if err := eventschema.Delete(ctx, s.table, eventschema.Key{EventType: in.EventType, Version: in.Version}); err != nil {
		return nil, s.schemaError(ctx, err)
	}
	s.schemas.Forget(in.EventType)
	s.recordSchema(ctx, "schema.delete", in.EventType, in.Version)
	return nil, nil
}

func (s *Service) recordSchema(ctx context.Context, action, eventType string, version int) {
	s.mw.Record(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: action, Site: accounts.EventStore, Subject: fmt.Sprintf("%s, version %d", eventType, version)})
}

func (s *Service) schemaError(ctx context.Context, err error) error {
	refused := (*eventschema.Incompatible)(nil)
	switch {
	case errors.As(err, &refused):
		p := middleware.Problem(http.StatusConflict, "schema_incompatible", "The schema may refuse events that the stored one accepts. Put it as another version, or change it.")
		for _, c := range refused.Changes {
			p.Errors = append(p.Errors, &huma.ErrorDetail{Message: c.Message, Location: "body.schema" + c.Path})
		}
		return p
	case errors.Is(err, eventschema.ErrNotFound):
		return middleware.Problem(http.StatusNotFound, "no_such_schema", "This version of the event type has no schema.")
	case errors.Is(err, eventschema.ErrSchema):
		return middleware.Problem(http.StatusUnprocessableEntity, "invalid_schema", middleware.Detail(err))
	}
	return s.mw.Error(ctx, err)
}

// checkEvents checks events of an append against the schemas of their types. An append whose commit
// ID is known passes: it has happened, or is refused for other events. where is the place of the
// events in the request. Errors: problems, those of the store.
func (s *Service) checkEvents(ctx context.Context, id eventstore.ID, commit string, events []eventstore.NewEvent, where string) error {
	err := s.schemas.Check(ctx, events)
	refused := (*eventschema.Refused)(nil)
	if !errors.As(err, &refused) {
		return err
	}
	if commit != "" {
		_, missing := eventstore.MarkByID.Get(ctx, s.table, eventstore.MarkKey{ID: id, CommitID: commit})
		if !errors.Is(missing, table.ErrNotFound) && !errors.Is(missing, table.ErrKeyValue) {
			return missing
		}
	}
	at := where + "[" + strconv.Itoa(refused.Index) + "]"
	p := middleware.Problem(http.StatusUnprocessableEntity, "schema_violation", "The data of an event does not match the schema of its type. Nothing was appended.")
	invalid := (*eventschema.Invalid)(nil)
	if !errors.As(err, &invalid) {
		p.Detail = "The type of an event has schemas, but none for this version. Nothing was appended."
		p.Errors = []*huma.ErrorDetail{{Message: "there is no schema of this version", Location: at + ".schema"}}
		return p
	}
	for _, v := range invalid.Violations {
		p.Errors = append(p.Errors, &huma.ErrorDetail{Message: v.Message, Location: at + ".data" + strings.TrimSuffix(v.Path, "/")})
	}
	return p
}
