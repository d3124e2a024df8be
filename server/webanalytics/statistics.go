package webanalytics

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/server/internal/middleware"
)

// reportDays is the default number of days in a report.
const reportDays = 30

type reportRequest struct {
	Site   string `path:"site" maxLength:"128" doc:"ID of the site."`
	From   string `query:"from" doc:"First day, in the site's time zone, YYYY-MM-DD. Default: 29 days before the last."`
	To     string `query:"to" doc:"Last day, inclusive. Default: the last day with statistics."`
	Period string `query:"period" enum:"hour,day,month" default:"day" doc:"Length of a bucket."`
	By     string `query:"by" default:"page" doc:"Dimension for the top values."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"10" doc:"Maximum number of results."`
}

type reportAnswer struct {
	Body report.Report
}

func (s *Service) statisticsRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "report", Method: http.MethodGet, Path: "/api/v1/sites/{site}/report",
		Summary: "Get totals, buckets and top values of a day range", Tags: []string{"statistics"},
	}), s.report)
}

func (s *Service) report(ctx context.Context, in *reportRequest) (*reportAnswer, error) {
	from, to, err := analytics.RecentDays(ctx, s.table, in.Site, in.From, in.To, reportDays)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	out, err := report.Make(ctx, s.table, report.Request{
		Site: in.Site, From: from, To: to, Period: analytics.Period(in.Period), By: analytics.Dimension(in.By), Limit: in.Limit,
	})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &reportAnswer{Body: out}, nil
}
