package webanalytics

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/webanalytics/query"
)

type vitalsRequest struct {
	middleware.SitePath
	DayRange
	query.Comparison
	Search string `query:"search" maxLength:"200" doc:"Only pages that contain this text, ignoring case."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"10" doc:"Maximum number of pages."`
}

type vitalsBody struct {
	report.Vitals
	Pages    []report.VitalsRow `json:"pages" doc:"Sorted by page loads, most first. Pages beyond the limit of the stored counts are added up as (other)."`
	Found    int                `json:"found" doc:"Number of pages, including those not listed."`
	Previous *report.VitalsRow  `json:"previous,omitempty" doc:"Total of the comparison range."`
	Notes    []string           `json:"notes" doc:"Notes for readers of these numbers."`
}

type vitalsAnswer struct{ Body vitalsBody }

func (s *Service) vitalsRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "vitals", Method: http.MethodGet, Path: "/api/v1/sites/{site}/vitals",
		Summary: "Get web vitals of a site, its pages and devices", Tags: []string{"statistics"},
		Description: "The 75th percentile of each metric, within 5 % of the exact value, and the exact numbers of page loads that were good, " +
			"in need of improvement and poor. Only pages whose script has data-vitals are measured.",
	}), s.vitals)
}

func (s *Service) vitals(ctx context.Context, in *vitalsRequest) (*vitalsAnswer, error) {
	from, to, err := analytics.RecentDays(ctx, s.table, in.Site, in.From, in.To, reportDays)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	out, err := report.WebVitals(ctx, s.table, report.VitalsRequest{Site: in.Site, From: from, To: to})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	body := vitalsBody{Vitals: out, Pages: []report.VitalsRow{}, Notes: []string{}}
	search := strings.ToLower(in.Search)
	for _, row := range out.Pages {
		if strings.Contains(strings.ToLower(row.Value), search) {
			body.Pages = append(body.Pages, row)
		}
	}
	body.Found = len(body.Pages)
	body.Pages = body.Pages[:min(in.Limit, len(body.Pages))]
	if in.Compare != "none" && in.Compare != query.Everything {
		from, to, _ = in.Days(from, to, analytics.Day)
		before, err := report.WebVitals(ctx, s.table, report.VitalsRequest{Site: in.Site, From: from, To: to})
		switch note, expired := query.NoComparison(err, from, to); {
		case expired:
			body.Notes = append(body.Notes, note)
		case err != nil:
			return nil, s.mw.Error(ctx, err)
		default:
			body.Previous = &before.Total
		}
	}
	return &vitalsAnswer{body}, nil
}
