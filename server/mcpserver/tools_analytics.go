package mcpserver

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/onefold/onefold/server/webanalytics/query"
)

// declared declares the tools.
var declared = sync.OnceValue(func() []*tool {
	return []*tool{listSites, listSegments, queryWebAnalytics, explainChange, attributeRevenue, listAlerts, listReports, listFleets, listDevices, readDeviceMetric, listEventTypes, listAggregates, readEvents}
})

// SiteArgument names a site.
type SiteArgument struct {
	SiteID string `json:"site_id" minLength:"1" maxLength:"128" doc:"ID of the site, from list_sites."`
}

type noArguments struct{}

type siteLine struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Domains  []string `json:"domains"`
	TimeZone string   `json:"timezone"`
	Visitors int64    `json:"visitors"`
	Previous int64    `json:"previousVisitors"`
}

// maxListed is the maximum number of sites or fleets in a list.
const maxListed = 100

var listSites = define("list_sites", "List sites", "List the websites that the key may read, with their IDs, domains, time zones and the visitors of the last seven days and of the seven days before.",
	onSites, func(ctx context.Context, c *Client, _ *noArguments) (*result, error) {
		var said struct{ Sites []siteLine }
		if err := c.get(ctx, "/api/v1/sites", nil, &said); err != nil {
			return nil, err
		}
		list := []any{}
		for _, s := range said.Sites[:min(len(said.Sites), maxListed)] {
			list = append(list, map[string]any{
				"site_id": s.ID, "name": s.Name, "domains": s.Domains, "time_zone": s.TimeZone, "visitors_last_7_days": s.Visitors, "visitors_7_days_before": s.Previous,
			})
		}
		return &result{fields: map[string]any{"sites": list, "total": len(said.Sites)}, list: "sites", more: "Ask for a site by its ID."}, nil
	})

// segmentLine is a segment as the API lists it.
type segmentLine struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Filters     []string `json:"filters"`
}

var listSegments = define("list_segments", "List segments", `List the segments of a site: named groups of visits that people have defined. Use one as a filter of queries and explanations, by ID or name: ["is", "segment", ["NAME"]]. To compare a segment with all visits, query with the comparison mode everything.`,
	onSites, func(ctx context.Context, c *Client, a *SiteArgument) (*result, error) {
		path, err := pathOf("/api/v1/sites/%s/segments", a.SiteID)
		if err != nil {
			return nil, err
		}
		var said struct{ Segments []segmentLine }
		if err := c.get(ctx, path, nil, &said); err != nil {
			return nil, err
		}
		list := []any{}
		for _, s := range said.Segments {
			list = append(list, s)
		}
		return &result{fields: map[string]any{"segments": list, "total": len(list)}, list: "segments", more: "A site has at most 100 segments; use their names."}, nil
	})

// queryArguments are a site and a query. The query goes to the API as it came.
type queryArguments struct {
	SiteArgument
	query.Request
	body map[string]any
}

// UnmarshalJSON keeps the query.
func (a *queryArguments) UnmarshalJSON(text []byte) error { return keep(text, &a.SiteID, &a.body) }

// explainArguments are a site and a question about a change.
type explainArguments struct {
	SiteArgument
	query.ExplainRequest
	body map[string]any
}

// UnmarshalJSON keeps the question.
func (a *explainArguments) UnmarshalJSON(text []byte) error { return keep(text, &a.SiteID, &a.body) }

// keep separates the site from the body of a request.
func keep(text []byte, site *string, body *map[string]any) error {
	if err := json.Unmarshal(text, body); err != nil {
		return err
	}
	*site, _ = (*body)["site_id"].(string)
	delete(*body, "site_id")
	return nil
}

// Default limits of tools, lower than those of the API because a model reads everything.
const (
	rowsByDefault  = 20
	partsByDefault = 5
)

var queryWebAnalytics = define("query_web_analytics", "Query web analytics",
	"Get metrics of a site for a range of days: in total, over time, or by a dimension such as page, source or utm_campaign; filtered, sorted, and compared with another range. The same numbers as the dashboard. "+
		`Top pages of the last 7 days: {"site_id":"…","metrics":["visitors","pageviews"],"date_range":"7d","dimensions":["page"]}. `+
		"Lists have 20 rows by default; total_rows says how many there are, pagination reads on. To find out why a number changed, use explain_change.",
	onSites, func(ctx context.Context, c *Client, a *queryArguments) (*result, error) {
		page, _ := a.body["pagination"].(map[string]any)
		if page == nil {
			page = map[string]any{}
			a.body["pagination"] = page
		}
		if page["limit"] == nil {
			page["limit"] = rowsByDefault
		}
		return a.ask(ctx, c, "query", a.body, "results", "Use pagination.offset for the rest, or a lower limit.")
	})

var explainChange = define("explain_change", "Explain a change",
	"Explain why a metric of a site changed between two ranges: which values of which dimensions gained or lost. Contributions are exact and add up for each dimension; those that shifted most come first. "+
		`Which campaign lost last week: {"site_id":"…","metric":"visits","date_range":"last_week","dimensions":["utm_campaign"]}. `+
		"Without dimensions, all are examined. By default, the range is compared with the one before, weekday by weekday. (none) is the part without a value, such as visits without a campaign.",
	onSites, func(ctx context.Context, c *Client, a *explainArguments) (*result, error) {
		if a.body["limit"] == nil {
			a.body["limit"] = partsByDefault
		}
		return a.ask(ctx, c, "explain", a.body, "dimensions", "Name the dimensions of interest, or use a lower limit.")
	})

// ask posts a question about the site.
func (a *SiteArgument) ask(ctx context.Context, c *Client, what string, body map[string]any, list, more string) (*result, error) {
	path, err := pathOf("/api/v1/sites/%s/"+what, a.SiteID)
	if err != nil {
		return nil, err
	}
	r := &result{list: list, more: more}
	return r, c.post(ctx, path, body, &r.fields)
}
