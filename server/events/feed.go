package events

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/sse"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/server/internal/middleware"
)

const (
	feedLook    = 500 * time.Millisecond // how often the feed is polled; it follows appends with the delay of the folds
	feedAppends = 25                     // appends read at once for a stream; each may have 4 MB
)

// FeedFilter selects events of the feed.
type FeedFilter struct {
	EventType     []string `query:"eventType" maxItems:"50" doc:"Comma-separated event types. Default: all."`
	AggregateType []string `query:"aggregateType" maxItems:"50" doc:"Comma-separated aggregate types. Default: all."`
}

// options returns the filter, within the limits of the caller's key. Errors: a problem.
func (f *FeedFilter) options(ctx context.Context) (options []eventstore.FeedOption, err error) {
	types, err := limitTypes(ctx, f.AggregateType)
	if err != nil {
		return nil, err
	}
	if len(f.EventType) > 0 {
		options = append(options, eventstore.OfType(f.EventType...))
	}
	if len(types) > 0 {
		options = append(options, eventstore.OfAggregateType(types...))
	}
	return options, nil
}

type feedRequest struct {
	FeedFilter
	After int64 `query:"after" minimum:"0" doc:"The position up to which everything was read. Default: 0, the beginning."`
	Limit int   `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"Maximum number of appends to scan, whether their events match or not."`
}

// FeedEvent is an event of the feed.
type FeedEvent struct {
	Position      int64  `json:"position" doc:"Position of its append in the feed, from 1 without gaps."`
	AggregateType string `json:"aggregateType"`
	AggregateID   string `json:"aggregateId"`
	eventjson.Event
}

func describeFeedEvent(e *eventstore.FeedEvent) FeedEvent {
	return FeedEvent{e.Position, e.Type, e.ID.ID, describe(&e.Event)}
}

type feedPage struct {
	Body struct {
		Events  []FeedEvent `json:"events" doc:"In the order of the feed. Events of an aggregate keep their order."`
		Through int64       `json:"through" doc:"The page has all matching events up to this position. Pass it as after of the next request."`
		Tip     bool        `json:"tip" doc:"The page reaches the end of the feed."`
	}
}

type feedHeadAnswer struct {
	Body struct {
		Position int64     `json:"position" doc:"Position of the last append in the feed."`
		Updated  time.Time `json:"updated,omitzero" doc:"When that append entered the feed."`
		Lag      *float64  `json:"lagSeconds" doc:"Upper bound of the age of the oldest append that this server has yet to add to the feed. Null if unknown here; see lagReason."`
		Reason   string    `json:"lagReason,omitempty" doc:"Why lagSeconds is null."`
	}
}

type feedTailRequest struct {
	FeedFilter
	Last  string `header:"Last-Event-ID" maxLength:"20" doc:"The position up to which everything was read. Browsers send it when they reconnect."`
	After int64  `query:"after" minimum:"-1" default:"-1" doc:"The position up to which everything was read, if there is no Last-Event-ID; 0 for everything. Default: only new events."`
}

func (s *Service) feedRoutes(api huma.API) {
	feed := middleware.AppliesLimits(operation(middleware.ForRead, "feed", http.MethodGet, root+"/feed", "Read the events of all aggregates in one stable order"))
	feed.Description = "Each append has one position. A reader who continues after `through` misses no events and gets none twice, however long the pause. The feed follows appends within moments."
	huma.Register(api, feed, s.feed)
	huma.Register(api, operation(middleware.ForRead, "feed-head", http.MethodGet, root+"/feed/head", "Get the end of the feed"), s.feedHead)
	tail := middleware.AppliesLimits(operation(middleware.ForRead, "tail-feed", http.MethodGet, root+"/tail", "Stream the events of all aggregates as server-sent events"))
	tail.Description = "The event ID is the position up to which everything was sent, so that a reader who reconnects misses nothing."
	tail.Middlewares = huma.Middlewares{s.mw.LimitStreams(api, "feed", maxStreams)}
	sse.Register(api, tail, map[string]any{"event": FeedEvent{}, "beat": heartbeat{}}, s.tailFeed)
}

func (s *Service) feed(ctx context.Context, in *feedRequest) (*feedPage, error) {
	options, err := in.options(ctx)
	if err != nil {
		return nil, err
	}
	page, err := s.storeFor(ctx).FeedPage(ctx, in.After, in.Limit, options...)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	page.Events = limitFeed(&middleware.CallerOf(ctx).Limits, page.Events)
	answer := new(feedPage)
	answer.Body.Events, answer.Body.Through, answer.Body.Tip = make([]FeedEvent, len(page.Events)), page.Through, page.Tip
	for i := range page.Events {
		answer.Body.Events[i] = describeFeedEvent(&page.Events[i])
	}
	return answer, nil
}

func (s *Service) feedHead(ctx context.Context, _ *struct{}) (*feedHeadAnswer, error) {
	head, err := s.store.FeedHead(ctx)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(feedHeadAnswer)
	answer.Body.Position, answer.Body.Updated = head.Position, head.UpdatedAt
	answer.Body.Reason = "The server does not know the lag of its folds."
	if s.o.Lag != nil {
		answer.Body.Lag, answer.Body.Reason = s.o.Lag()
	}
	return answer, nil
}

// feedPosition returns the position after which a stream of the feed begins.
func (s *Service) feedPosition(ctx context.Context, in *feedTailRequest) (int64, error) {
	if n, err := strconv.ParseInt(in.Last, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	if in.After >= 0 {
		return in.After, nil
	}
	head, err := s.store.FeedHead(ctx)
	return head.Position, err
}

func (s *Service) tailFeed(ctx context.Context, in *feedTailRequest, send sse.Sender) {
	at, err := s.feedPosition(ctx, in)
	options, refused := in.options(ctx)
	if err = cmp.Or(err, refused); err == nil {
		err = s.watch(ctx, send, nil, feedLook, func(ctx context.Context) error {
			for {
				page, err := s.storeFor(ctx).FeedPage(ctx, at, feedAppends, options...)
				page.Events = limitFeed(&middleware.CallerOf(ctx).Limits, page.Events)
				for i := 0; i < len(page.Events) && err == nil; i++ {
					m := sse.Message{Data: describeFeedEvent(&page.Events[i])}
					if page.Events[i].Last { // after a part of an append, a reader must start with the whole append again
						m.ID = int(page.Events[i].Position)
					}
					err = send(m)
				}
				if err != nil {
					return err
				}
				if at = page.Through; page.Tip {
					return nil
				}
			}
		})
	}
	s.ended(ctx, err)
}
