package webanalytics

import (
	"context"
	"slices"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/server/internal/middleware"
)

type breakdownRequest struct {
	middleware.SitePath
	DayRange
	FilterParams
	By     string `query:"by" required:"true" maxLength:"80" doc:"A dimension, such as page, source or country."`
	Search string `query:"search" maxLength:"200" doc:"Only values that contain this text, ignoring case."`
	All    bool   `query:"all" doc:"List all values, counted from raw events, which takes longer. By default, values beyond 1,000 per hour are in other."`
	Sort   string `query:"sort" enum:"value,visitors,visits,pageViews,events,bounceRate,duration,engagedPerVisit,scrollDepth,revenue" doc:"Column to sort by. Rows without a value of the column are last. Default: page views of pages, events of dimensions of events, otherwise visits."`
	Order  string `query:"order" enum:"asc,desc" default:"desc" doc:"Ascending or descending. Without sort, rows are in descending order."`
	Offset int    `query:"offset" minimum:"0" maximum:"100000" doc:"Number of results to skip."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"10" doc:"Maximum number of results."`
}

// rowBody is one value of a dimension.
type rowBody struct {
	report.Row
	Share float64 `json:"share" doc:"Share of all events for dimensions of events, of all page views for pages, otherwise of all visits; 0 to 1."`
}

// breakdownBody is the response of a breakdown from any source.
type breakdownBody struct {
	By     string    `json:"by"`
	Source string    `json:"source" enum:"statistics,raw,warehouse"`
	Rows   []rowBody `json:"rows"`
	None   *rowBody  `json:"none,omitempty" doc:"The part without a value of the dimension, such as visits without a campaign. With its row and other, the rows add up to the totals."`
	Other  *rowBody  `json:"other,omitempty" doc:"Values beyond the limit of the stored counts, added up."`
	Total  int       `json:"total" doc:"Number of values on all pages."`
	Notes  []string  `json:"notes" doc:"Notes for readers of these numbers."`

	Imported *report.Imported `json:"imported,omitempty" doc:"Days of the range with counts imported from another analytics product."`
}

type breakdownAnswer struct{ Body breakdownBody }

func (s *Service) breakdown(ctx context.Context, in *breakdownRequest) (*breakdownAnswer, error) {
	from, to, err := analytics.RecentDays(ctx, s.table, in.Site, in.From, in.To, reportDays)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	out, source, err := s.count(ctx, report.Request{
		Site: in.Site, From: from, To: to, Period: analytics.Month, By: analytics.Dimension(in.By),
	}, in.Filter, in.All)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	body := breakdownBody{By: in.By, Source: string(source), Notes: out.Notes, Imported: out.Imported}
	body.fill(out.Top, &out.Totals.Figures, in)
	return &breakdownAnswer{body}, nil
}

// fill sets the requested rows, sorted as requested.
func (b *breakdownBody) fill(rows []report.Row, total *report.Figures, in *breakdownRequest) {
	counted, all := measure(analytics.Dimension(in.By), rows, total)
	search := strings.ToLower(in.Search)
	matching := []rowBody{}
	for _, row := range rows {
		body := rowBody{Row: row}
		if share := ratio(counted(&row), all); share != nil {
			body.Share = min(1, *share)
		}
		switch {
		case row.Value == analytics.Other:
			b.Other = &body
		case row.Value == analytics.None:
			b.None = &body
		case search == "" || strings.Contains(strings.ToLower(row.Value), search):
			matching = append(matching, body)
		}
	}
	slices.SortStableFunc(matching, in.sorted(counted))
	b.Total = len(matching)
	first := min(in.Offset, len(matching))
	b.Rows = matching[first:min(first+in.Limit, len(matching))]
}

// measure returns the count by which the rows of a dimension are sorted, and its total. A visit can
// be in several rows of an event dimension, or in none, so events are counted there.
func measure(by analytics.Dimension, rows []report.Row, total *report.Figures) (func(*report.Row) int64, int64) {
	switch {
	case by == analytics.ByPage:
		return func(r *report.Row) int64 { return r.PageViews }, total.PageViews
	case countsEvents(by):
		var all int64
		for i := range rows {
			all += rows[i].Events
		}
		return func(r *report.Row) int64 { return r.Events }, all
	}
	return func(r *report.Row) int64 { return r.Visits }, total.Visits
}

// countsEvents reports whether the rows of a dimension count events.
func countsEvents(by analytics.Dimension) bool {
	switch by {
	case analytics.ByEventName, analytics.ByGoal, analytics.ByOutbound, analytics.ByDownload, analytics.ByNotFound:
		return true
	}
	return strings.HasPrefix(string(by), "prop:")
}
