package webanalytics

import (
	"context"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/webanalytics/query"
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

// breakdownBody is the response of a breakdown from any source.
type breakdownBody struct {
	By     string        `json:"by"`
	Source string        `json:"source" enum:"statistics,raw,warehouse"`
	Rows   []query.Value `json:"rows"`
	None   *query.Value  `json:"none,omitempty" doc:"The part without a value of the dimension, such as visits without a campaign. With its row and other, the rows add up to the totals."`
	Other  *query.Value  `json:"other,omitempty" doc:"Values beyond the limit of the stored counts, added up."`
	Total  int           `json:"total" doc:"Number of values on all pages."`
	Notes  []string      `json:"notes" doc:"Notes for readers of these numbers."`

	Imported *report.Imported `json:"imported,omitempty" doc:"Days of the range with counts imported from another analytics product."`
}

type breakdownAnswer struct{ Body breakdownBody }

func (s *Service) breakdown(ctx context.Context, in *breakdownRequest) (*breakdownAnswer, error) {
	days, filters, err := s.question(ctx, in.SitePath, in.DayRange, in.FilterParams)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	out, source, err := s.count(ctx, query.ValuesIn(days, analytics.Dimension(in.By)), filters, in.All)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	body := breakdownBody{By: in.By, Source: string(source), Notes: out.Notes, Imported: out.Imported}
	body.fill(out.Top, &out.Totals.Figures, in)
	return &breakdownAnswer{body}, nil
}

// fill sets the requested rows, sorted as requested.
func (b *breakdownBody) fill(rows []report.Row, total *report.Figures, in *breakdownRequest) {
	values := query.ValuesOf(analytics.Dimension(in.By), rows, total, in.Search)
	values.Sort(in.Sort, in.Order == "asc")
	b.None, b.Other = values.None, values.Other
	b.Total = len(values.List)
	b.Rows = query.Page(values.List, in.Offset, in.Limit)
}
