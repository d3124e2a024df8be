package events

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/server/internal/download"
	"github.com/onefold/onefold/server/internal/middleware"
)

const exportTimeout = time.Hour // of a whole export

// Range selects events of a stream.
type Range struct {
	From      int64     `query:"from" minimum:"1" doc:"Number of the first event."`
	To        int64     `query:"to" minimum:"1" doc:"Number of the last event."`
	AsOf      time.Time `query:"asOf" doc:"RFC 3339: only events recorded up to then. Not with backwards."`
	Backwards bool      `query:"backwards" doc:"Newest first."`
}

func (r *Range) options() []eventstore.ReadOption {
	options := []eventstore.ReadOption{eventstore.From(r.From)}
	if r.To > 0 {
		options = append(options, eventstore.To(r.To))
	}
	if !r.AsOf.IsZero() {
		options = append(options, eventstore.AsOf(r.AsOf))
	}
	if r.Backwards {
		options = append(options, eventstore.Backwards())
	}
	return options
}

type eventsRequest struct {
	AggregatePath
	Range
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of events of a page. A page also ends at 4 MB."`
}

type eventsPage struct {
	ETag string `header:"ETag" doc:"The version, for If-Match."`
	Body struct {
		Version int64             `json:"version" doc:"Version of the stream."`
		Events  []eventjson.Event `json:"events"`
		Next    string            `json:"next,omitempty" doc:"URL of the next page, if there may be one."`
	}
}

type exportRequest struct {
	AggregatePath
	Range
}

type eventsOfTypeRequest struct {
	EventType string `path:"eventType" maxLength:"128" doc:"Type of the events."`
	PageParams
}

type eventOfType struct {
	AggregateType string `json:"aggregateType"`
	AggregateID   string `json:"aggregateId"`
	eventjson.Event
}

type eventsOfTypePage struct {
	Body struct {
		Events []eventOfType `json:"events" doc:"In the order of their IDs, which is roughly that of time."`
		Cursor string        `json:"cursor,omitempty" doc:"Cursor of the next page, if there may be one."`
	}
}

func (s *Service) readingRoutes(api huma.API) {
	read := operation(middleware.ForRead, "read-events", http.MethodGet, aggregatePath+"/events", "Read the events of a stream, page by page")
	read.Description = "Reads are consistent: everything appended before is included, and a gap is an error. Events never change, so neither does a page that has a next one, read forwards."
	huma.Register(api, read, s.read)
	export := operation(middleware.ForRead, "export-events", http.MethodGet, aggregatePath+"/export", "Export the events of a stream as JSON Lines")
	export.Description = "The response is streamed. A response that is cut off is incomplete."
	export.Responses = map[string]*huma.Response{"200": {Description: "The file.", Content: map[string]*huma.MediaType{"application/jsonl": {}}}}
	huma.Register(api, export, s.export)
	byType := operation(middleware.ForRead, "events-of-type", http.MethodGet, root+"/of-type/{eventType}", "List the events of a type across aggregates, in order of time")
	byType.Description = "For exploration only: the index lags behind the table, so a reader who follows it may miss late events."
	huma.Register(api, byType, s.ofType)
}

func (s *Service) read(ctx context.Context, in *eventsRequest) (*eventsPage, error) {
	head, err := s.readable(ctx, &in.AggregatePath)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	page, bytes := &eventsPage{ETag: etag(head.Version)}, 0
	page.Body.Version, page.Body.Events = head.Version, []eventjson.Event{}
	for e, err := range s.storeFor(ctx).Read(ctx, in.id(), in.options()...) {
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		if bytes += eventBytes(&e); len(page.Body.Events) == in.Limit || len(page.Body.Events) > 0 && bytes > pageBytes {
			page.Body.Next = in.next(e.Seq)
			break
		}
		page.Body.Events = append(page.Body.Events, describe(&e))
	}
	return page, nil
}

// next returns the URL of the page that begins with an event.
func (r *eventsRequest) next(seq int64) string {
	ask := url.Values{"limit": {strconv.Itoa(r.Limit)}}
	from, to := r.From, r.To
	if r.Backwards {
		ask.Set("backwards", "true")
		to = seq
	} else {
		from = seq
	}
	if from > 0 {
		ask.Set("from", strconv.FormatInt(from, 10))
	}
	if to > 0 {
		ask.Set("to", strconv.FormatInt(to, 10))
	}
	if !r.AsOf.IsZero() {
		ask.Set("asOf", r.AsOf.Format(time.RFC3339Nano))
	}
	return root + "/aggregates/" + url.PathEscape(r.Type) + "/" + url.PathEscape(r.ID) + "/events?" + ask.Encode()
}

func (s *Service) export(ctx context.Context, in *exportRequest) (*huma.StreamResponse, error) {
	if _, err := s.readable(ctx, &in.AggregatePath); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		ctx, cancel := context.WithTimeout(hc.Context(), exportTimeout)
		defer cancel()
		_, w := humago.Unwrap(hc)
		err := download.Send(w, exportTimeout, func(h http.Header) { h.Set("Content-Type", "application/jsonl") }, func(file io.Writer) error {
			lines := json.NewEncoder(file)
			for e, err := range s.storeFor(ctx).Read(ctx, in.id(), in.options()...) {
				if err == nil {
					err = lines.Encode(describe(&e))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		s.mw.DownloadFailed(hc.Context(), w, err)
	}}, nil
}

func (s *Service) ofType(ctx context.Context, in *eventsOfTypeRequest) (*eventsOfTypePage, error) {
	shards, err := s.store.TypeShards(ctx)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	asked := eventstore.TypeIn{EventType: in.EventType, To: endOfIDs, Shards: shards}
	page, err := eventstore.EventsOfType.Page(ctx, s.table, asked, in.Cursor, min(in.Limit, maxOfType))
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	events, err := s.storeFor(ctx).Resolve(ctx, page.Items)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(eventsOfTypePage)
	answer.Body.Events, answer.Body.Cursor = make([]eventOfType, len(events)), page.Next
	for i := range events {
		e := &events[i]
		answer.Body.Events[i] = eventOfType{e.Type, e.ID.ID, describe(e)}
	}
	return answer, nil
}

const (
	endOfIDs  = "~" // after every ULID
	maxOfType = 100 // events of a page; each may have 400 KB
)
