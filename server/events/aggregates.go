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
	Aggregates int64     `json:"aggregates" doc:"Aggregates ever created."`
	Closed     int64     `json:"closed"`
	Deleted    int64     `json:"deleted"`
	Events     int64     `json:"events"`
	LastAt     time.Time `json:"lastAt,omitzero" doc:"Time of the last append."`
}

type typesAnswer struct {
	Body struct {
		Types []typeBody `json:"types" doc:"Sorted by name. Counts follow appends within moments."`
	}
}

// PageParams select a page of a list.
type PageParams struct {
	Cursor string `query:"cursor" doc:"From the previous page."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of results."`
}

type headBody struct {
	Type    string                 `json:"type"`
	ID      string                 `json:"id"`
	Version int64                  `json:"version" doc:"Number of its last event."`
	State   eventstore.StreamState `json:"state,omitempty" enum:"closed,deleted" doc:"Absent while the aggregate is open."`
	Created time.Time              `json:"created"`
	Updated time.Time              `json:"updated"`
	Last    []string               `json:"lastTypes,omitempty" doc:"Types of the events of the last append."`
}

type headAnswer struct {
	ETag string `header:"ETag" doc:"The version, for If-Match."`
	Body headBody
}

func (s *Service) aggregateRoutes(api huma.API) {
	huma.Register(api, operation(middleware.ForRead, "aggregate-types", http.MethodGet, root+"/types", "List the types of aggregates with counts"), s.types)
	s.aggregateListRoutes(api)
	huma.Register(api, operation(middleware.ForRead, "aggregate", http.MethodGet, aggregatePath, "Get the version and state of an aggregate"), s.aggregate)
}

func (s *Service) types(ctx context.Context, _ *struct{}) (*typesAnswer, error) {
	all, err := s.store.ListTypes(ctx)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(typesAnswer)
	answer.Body.Types = make([]typeBody, len(all))
	for i := range all {
		c := &all[i]
		answer.Body.Types[i] = typeBody{c.Type, c.Aggregates, c.Closed, c.Deleted, c.Events, c.LastAt}
	}
	return answer, nil
}

func describeHead(h *eventstore.Head) headBody {
	return headBody{h.Type, h.ID.ID, h.Version, h.State, h.CreatedAt, h.UpdatedAt, h.LastTypes}
}

func (s *Service) aggregate(ctx context.Context, in *AggregatePath) (*headAnswer, error) {
	h, err := s.head(ctx, in)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &headAnswer{etag(h.Version), describeHead(&h)}, nil
}

// head returns the head of an aggregate. Errors: a problem if it does not exist, and those of the
// store.
func (s *Service) head(ctx context.Context, in *AggregatePath) (eventstore.Head, error) {
	h, err := s.store.Head(ctx, in.id())
	if errors.Is(err, table.ErrNotFound) {
		err = middleware.Problem(http.StatusNotFound, "no_such_aggregate", "There is no aggregate with this type and ID.")
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
	ending := operation(middleware.ForWrite, "close-aggregate", http.MethodPost, aggregatePath+"/close", "Close a stream permanently: it can be read, but not appended to")
	ending.DefaultStatus = http.StatusNoContent
	huma.Register(api, ending, s.ending("stream.close", s.store.Close))
	deleting := operation(middleware.ForOwner, "delete-aggregate", http.MethodDelete, aggregatePath, "Delete an aggregate: its stream can no longer be read or appended to, and its ID cannot be used again")
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
			return nil, s.mw.Error(ctx, err)
		}
		s.record(ctx, action, in.id())
		s.appended.notify()
		return nil, nil
	}
}
