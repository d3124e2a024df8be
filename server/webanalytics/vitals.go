package webanalytics

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/server/internal/middleware"
)

type vitalsRequest struct {
	middleware.SitePath
	DayRange
	Search  string `query:"search" maxLength:"200" doc:"Only pages that contain this text, whatever its case."`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"10" doc:"Of pages."`
	Compare string `query:"compare" enum:"none,previous,year" default:"none" doc:"With as many days before, or the same days a year ago."`
}

type vitalsBody struct {
	report.Vitals
	Pages    []report.VitalsRow `json:"pages" doc:"Those with the most page loads first; what found no place in the stored counts is (other)."`
	Found    int                `json:"found" doc:"Number of pages, with those that are not listed."`
	Previous *report.VitalsRow  `json:"previous,omitempty" doc:"Total of the range that is compared with."`
	Notes    []string           `json:"notes" doc:"What a reader has to know of these numbers."`
}

type vitalsAnswer struct{ Body vitalsBody }

func (s *Service) vitalsRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "vitals", Method: http.MethodGet, Path: "/api/v1/sites/{site}/vitals",
		Summary: "Web vitals of the site, its pages and devices in a range of days", Tags: []string{"statistics"},
		Description: "Of each metric the 75th percentile, less than 5 % from the exact one, and the parts of the page loads that were good, " +
			"in need of improvement and poor, which are exact. Only pages whose script has data-vitals are measured.",
	}), s.vitals)
}

func (s *Service) vitals(ctx context.Context, in *vitalsRequest) (*vitalsAnswer, error) {
	from, to, err := analytics.RecentDays(ctx, s.table, in.Site, in.From, in.To, reportDays)
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	out, err := report.WebVitals(ctx, s.table, report.VitalsRequest{Site: in.Site, From: from, To: to})
	if err != nil {
		return nil, s.door.Error(ctx, err)
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
	if in.Compare != "none" {
		from, to = comparedDays(from, to, in.Compare)
		before, err := report.WebVitals(ctx, s.table, report.VitalsRequest{Site: in.Site, From: from, To: to})
		switch {
		case errors.Is(err, report.ErrExpired):
			body.Notes = append(body.Notes, "There is nothing to compare with: "+from+" to "+to+" is not kept so fine any more.")
		case err != nil:
			return nil, s.door.Error(ctx, err)
		default:
			body.Previous = &before.Total
		}
	}
	return &vitalsAnswer{body}, nil
}
