package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
)

// reportDays is how many days are reported when nobody says from when.
const reportDays = 30

type reportRequest struct {
	Site   string `path:"site" maxLength:"128"`
	From   string `query:"from" doc:"First day, in the site's time zone, YYYY-MM-DD. Default: 29 days before the last."`
	To     string `query:"to" doc:"Last day, included. Default: the last that has statistics."`
	Period string `query:"period" enum:"hour,day,month" default:"day"`
	By     string `query:"by" default:"page" doc:"Dimension of the top values."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"10"`
}

type reportAnswer struct {
	Body analytics.ReportOut
}

type siteRequest struct {
	Site string `path:"site" maxLength:"128"`
}

type siteAnswer struct {
	Body siteBody
}

// siteBody is what a reader may know of a site; its import key is not.
type siteBody struct {
	ID       string   `json:"id"`
	Domains  []string `json:"domains"`
	TimeZone string   `json:"timezone"`
}

func (s *Server) statisticsRoutes(api huma.API) {
	huma.Register(api, guard(forStatistics, huma.Operation{
		OperationID: "report", Method: http.MethodGet, Path: "/api/v1/sites/{site}/report",
		Summary: "Totals, buckets and top values of a range of days", Tags: []string{"statistics"},
	}), s.report)
	huma.Register(api, guard(forRead, huma.Operation{
		OperationID: "site", Method: http.MethodGet, Path: "/api/v1/sites/{site}",
		Summary: "A site's settings", Tags: []string{"sites"},
	}), s.site)
}

func (s *Server) report(ctx context.Context, in *reportRequest) (*reportAnswer, error) {
	from, to, err := analytics.RecentDays(ctx, s.o.Table, in.Site, in.From, in.To, reportDays)
	if err != nil {
		return nil, s.httpError(ctx, err)
	}
	report, err := analytics.Report(ctx, s.o.Table, analytics.ReportIn{
		Site: in.Site, From: from, To: to, Period: analytics.Period(in.Period), By: analytics.Dimension(in.By), Limit: in.Limit,
	})
	if err != nil {
		return nil, s.httpError(ctx, err)
	}
	return &reportAnswer{Body: report}, nil
}

func (s *Server) site(ctx context.Context, in *siteRequest) (*siteAnswer, error) {
	site, err := analytics.GetSite(ctx, s.o.Table, in.Site)
	if err != nil {
		return nil, s.httpError(ctx, err)
	}
	return &siteAnswer{Body: siteBody{ID: site.SiteID, Domains: site.Domains, TimeZone: site.TimeZone}}, nil
}
