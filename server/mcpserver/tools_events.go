package mcpserver

import (
	"context"
	"net/url"
	"strconv"
)

var listEventTypes = define("list_aggregate_types", "List types of aggregates", "List the types of aggregates in the event store, such as order, with the number of their aggregates and events.",
	onEvents, func(ctx context.Context, c *Client, _ *noArguments) (*result, error) {
		r := &result{list: "types", more: "Use list_aggregates with a type."}
		return r, c.get(ctx, "/api/v1/events/types", nil, &r.fields)
	})

type aggregatesArguments struct {
	Type   string `json:"type" minLength:"1" maxLength:"64" doc:"Type of the aggregates, from list_aggregate_types."`
	Prefix string `json:"prefix,omitempty" maxLength:"256" doc:"Only IDs that begin with this. Case-sensitive."`
	Sort   string `json:"sort,omitempty" enum:"id,-id,updated,-updated,events,-events" doc:"Order: by ID, time of the last append or number of events; with - in descending order. Default: id."`
	PageArguments
}

var listAggregates = define("list_aggregates", "List aggregates", "List the aggregates of a type, such as orders, with their versions and times.",
	onEvents, func(ctx context.Context, c *Client, a *aggregatesArguments) (*result, error) {
		ask := url.Values{"type": {a.Type}}
		setIf(ask, "prefix", a.Prefix)
		setIf(ask, "sort", a.Sort)
		a.PageArguments.ask(ask)
		r := &result{list: "aggregates", more: "Use a lower limit."}
		return r, c.get(ctx, "/api/v1/events/aggregates", ask, &r.fields)
	})

type eventsArguments struct {
	Type   string `json:"type" minLength:"1" maxLength:"64" doc:"Type of the aggregate."`
	ID     string `json:"id" minLength:"1" maxLength:"256" doc:"ID of the aggregate."`
	From   int64  `json:"from,omitempty" minimum:"1" doc:"Number of the first event. Default: the newest or oldest."`
	Oldest bool   `json:"oldest_first,omitempty" doc:"Oldest event first. Default: newest first."`
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of events."`
}

var readEvents = define("read_events", "Read events", "Read the events of an aggregate, newest first, with their types, times and data. The data may contain personal data.",
	onEvents, func(ctx context.Context, c *Client, a *eventsArguments) (*result, error) {
		path, err := pathOf("/api/v1/events/aggregates/%s/%s/events", a.Type, a.ID)
		if err != nil {
			return nil, err
		}
		limit := a.Limit
		if limit <= 0 {
			limit = rowsByDefault
		}
		ask := url.Values{"limit": {strconv.Itoa(limit)}}
		if !a.Oldest {
			ask.Set("backwards", "true")
		}
		if a.From > 0 {
			ask.Set("from", strconv.FormatInt(a.From, 10))
		}
		r := &result{list: "events", more: "Use from with the number of the next event."}
		err = c.get(ctx, path, ask, &r.fields)
		delete(r.fields, "next") // a URL, which models cannot follow; from reads on
		return r, err
	})
