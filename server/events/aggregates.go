package events

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

type typeBody struct {
	Type       string    `json:"type"`
	Aggregates int64     `json:"aggregates" doc:"That were ever begun."`
	Closed     int64     `json:"closed"`
	Deleted    int64     `json:"deleted"`
	Events     int64     `json:"events"`
	LastAt     time.Time `json:"lastAt,omitzero" doc:"When one was appended to last."`
}

type typesAnswer struct {
	Body struct {
		Types []typeBody `json:"types" doc:"By name. The figures follow appends within moments."`
	}
}

// PageParams select a page of a list.
type PageParams struct {
	Cursor string `query:"cursor" doc:"Of the page before."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

type aggregatesRequest struct {
	Type string `query:"type" required:"true" minLength:"1" maxLength:"64"`
	PageParams
}

type headBody struct {
	Type    string                 `json:"type"`
	ID      string                 `json:"id"`
	Version int64                  `json:"version" doc:"The number of its last event."`
	State   eventstore.StreamState `json:"state,omitempty" enum:"closed,deleted" doc:"Absent: it is open."`
	Created time.Time              `json:"created"`
	Updated time.Time              `json:"updated"`
	Last    []string               `json:"lastTypes,omitempty" doc:"The types of the events that were appended last."`
}

type headsAnswer struct {
	Body struct {
		Aggregates []headBody `json:"aggregates" doc:"By id."`
		Cursor     string     `json:"cursor,omitempty" doc:"Of the next page, if there may be one."`
	}
}

type headAnswer struct {
	ETag string `header:"ETag" doc:"The version, for If-Match."`
	Body headBody
}

func (s *Service) aggregateRoutes(api huma.API) {
	huma.Register(api, operation(middleware.ForRead, "aggregate-types", http.MethodGet, root+"/types", "The types of aggregates, and how many there are"), s.types)
	huma.Register(api, operation(middleware.ForRead, "aggregates", http.MethodGet, root+"/aggregates", "The aggregates of a type"), s.aggregates)
	huma.Register(api, operation(middleware.ForRead, "aggregate", http.MethodGet, aggregatePath, "The version of an aggregate, and whether it is open"), s.aggregate)
}

func (s *Service) types(ctx context.Context, _ *struct{}) (*typesAnswer, error) {
	all, err := s.store.ListTypes(ctx)
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	answer := new(typesAnswer)
	answer.Body.Types = make([]typeBody, len(all))
	for i := range all {
		c := &all[i]
		answer.Body.Types[i] = typeBody{c.Type, c.Aggregates, c.Closed, c.Deleted, c.Events, c.LastAt}
	}
	return answer, nil
}

func (s *Service) aggregates(ctx context.Context, in *aggregatesRequest) (*headsAnswer, error) {
	page, err := eventstore.AggregatesOfType.Page(ctx, s.table, eventstore.AggregatesIn{Type: in.Type}, in.Cursor, in.Limit)
	if errors.Is(err, table.ErrKeyValue) {
		err = middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", "A type has no '#'.")
	}
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	answer := new(headsAnswer)
	answer.Body.Aggregates, answer.Body.Cursor = make([]headBody, len(page.Items)), page.Next
	for i := range page.Items {
		answer.Body.Aggregates[i] = describeHead(&page.Items[i])
	}
	return answer, nil
}

func describeHead(h *eventstore.Head) headBody {
	return headBody{h.Type, h.ID.ID, h.Version, h.State, h.CreatedAt, h.UpdatedAt, h.LastTypes}
}

func (s *Service) aggregate(ctx context.Context, in *AggregatePath) (*headAnswer, error) {
	h, err := s.head(ctx, in)
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	return &headAnswer{etag(h.Version), describeHead(&h)}, nil
}

// head returns the head of an aggregate. Errors: a problem if it does not exist, and those of the
// store.
func (s *Service) head(ctx context.Context, in *AggregatePath) (eventstore.Head, error) {
	h, err := s.store.Head(ctx, in.id())
	if errors.Is(err, table.ErrNotFound) {
		err = middleware.Problem(http.StatusNotFound, "no_such_aggregate", "There is no aggregate of this type and id.")
	}
	return h, err
}

// readable returns the head of an aggregate unless it was deleted.
func (s *Service) readable(ctx context.Context, in *AggregatePath) (eventstore.Head, error) {
	h, err := s.head(ctx, in)
	if err == nil && h.State == eventstore.Deleted {
		err = middleware.Problem(http.StatusGone, "deleted", "This aggregate was deleted.")
	}
	return h, err
}

func (s *Service) endingRoutes(api huma.API) {
	ending := operation(middleware.ForWrite, "close-aggregate", http.MethodPost, aggregatePath+"/close", "End a stream for good: it can be read, and never be appended to")
	ending.DefaultStatus = http.StatusNoContent
	huma.Register(api, ending, s.ending("stream.close", s.store.Close))
	deleting := operation(middleware.ForOwner, "delete-aggregate", http.MethodDelete, aggregatePath, "Leave a tombstone: the stream is neither read nor appended to, and its id is not used again")
	deleting.DefaultStatus = http.StatusNoContent
	huma.Register(api, deleting, s.ending("stream.delete", s.store.Delete))
}

// ending returns a handler that ends a stream and records who did it.
func (s *Service) ending(action string, end func(context.Context, eventstore.ID) error) func(context.Context, *AggregatePath) (*struct{}, error) {
	return func(ctx context.Context, in *AggregatePath) (*struct{}, error) {
		_, err := s.head(ctx, in)
		if err == nil {
			err = end(ctx, in.id())
		}
		if err != nil {
			return nil, s.door.Error(ctx, err)
		}
		s.record(ctx, action, in.id())
		s.appended.ring()
		return nil, nil
	}
}
