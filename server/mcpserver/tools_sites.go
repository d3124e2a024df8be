package mcpserver

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
)

// listOf reads a resource of the site with a list in it.
func (a *SiteArgument) listOf(ctx context.Context, c *Client, what string, query url.Values, list, more string) (*result, error) {
	path, err := pathOf("/api/v1/sites/%s/"+what, a.SiteID)
	if err != nil {
		return nil, err
	}
	r := &result{list: list, more: more}
	return r, c.get(ctx, path, query, &r.fields)
}

// AlertsArguments select alerts.
type AlertsArguments struct {
	SiteArgument
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"100" doc:"Maximum number of alerts. Default: 20."`
	Cursor string `json:"cursor,omitempty" maxLength:"2000" doc:"From the previous part of the list."`
}

var listAlerts = define("list_alerts", "List alerts of a site",
	"List the alerts of a site, latest first: spikes and drops of visitors against the same weekday and hour of the weeks before, silence, goals that nobody reaches any more, web vitals that got worse. Each has a summary, the number, the usual number, and the value that made most of the change. The first part also has the rules with their state.",
	onSites, func(ctx context.Context, c *Client, a *AlertsArguments) (*result, error) {
		query := url.Values{"limit": {strconv.Itoa(max(a.Limit, 0))}}
		if a.Limit == 0 {
			query.Set("limit", strconv.Itoa(rowsByDefault))
		}
		if a.Cursor != "" {
			query.Set("cursor", a.Cursor)
		}
		r, err := a.listOf(ctx, c, "alerts", query, "alerts", "Use a lower limit.")
		if err != nil || a.Cursor != "" {
			return r, err
		}
		rules, err := a.listOf(ctx, c, "alert-rules", nil, "rules", "")
		if err == nil {
			r.fields["rules"] = rules.fields["rules"]
		}
		return r, err
	})

var listReports = define("list_reports", "List reports of a site",
	"List the reports that a site sends every day, week or month, with the time of the next and of the last one. To get the numbers themselves, use query_web_analytics.",
	onSites, func(ctx context.Context, c *Client, a *SiteArgument) (*result, error) {
		return a.listOf(ctx, c, "reports", nil, "reports", "A site has at most 20 reports.")
	})

// AttributionArguments ask what brought revenue.
type AttributionArguments struct {
	SiteArgument
	From     string   `json:"from,omitempty" maxLength:"10" doc:"First day, YYYY-MM-DD. Default: 29 days before the last."`
	To       string   `json:"to,omitempty" maxLength:"10" doc:"Last day, inclusive. Default: the last day with statistics."`
	By       string   `json:"by,omitempty" maxLength:"80" doc:"Dimension with one value for each visit, such as source, channel, utm_campaign or entry_page. Default: source."`
	Filters  []string `json:"filters,omitempty" maxItems:"20" doc:"Only revenue of visits with a value, such as country:is:DE|AT."`
	Lookback int      `json:"lookback,omitempty" minimum:"1" maximum:"90" doc:"Days before the revenue in which visits count. Default: 30."`
	HalfLife int      `json:"half_life,omitempty" minimum:"1" maximum:"90" doc:"Days after which a visit counts half, for time_decay. Default: 7."`
	Sort     string   `json:"sort,omitempty" enum:"first,last,linear,time_decay" doc:"Model to sort by. Default: linear."`
	Offset   int      `json:"offset,omitempty" minimum:"0" maximum:"100000" doc:"Number of values to skip."`
	Limit    int      `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"Maximum number of values. Default: 20."`
}

func (a *AttributionArguments) query() url.Values {
	q := url.Values{"filter": a.Filters, "limit": {strconv.Itoa(rowsByDefault)}}
	for name, text := range map[string]string{"from": a.From, "to": a.To, "by": a.By, "sort": a.Sort} {
		if text != "" {
			q.Set(name, text)
		}
	}
	for name, n := range map[string]int{"lookback": a.Lookback, "halfLife": a.HalfLife, "offset": a.Offset, "limit": a.Limit} {
		if n != 0 {
			q.Set(name, fmt.Sprint(n))
		}
	}
	return q
}

var attributeRevenue = define("attribute_revenue", "Attribute revenue",
	"Divide the revenue of a site among the sources, campaigns or other dimensions of the visits that led to it, by four models at once: first visit, last visit, linear and time decay. For each model the amounts add up to the revenue. Visits of earlier days count only for identified users; known says of how many events.",
	onSites, func(ctx context.Context, c *Client, a *AttributionArguments) (*result, error) {
		return a.listOf(ctx, c, "attribution", a.query(), "rows", "Use offset for the rest, or a lower limit.")
	})
