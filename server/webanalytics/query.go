package webanalytics

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/webanalytics/query"
)

type queryRequest struct {
	middleware.SitePath
	Body query.Request
}

type queryAnswer struct{ Body *query.Answer }

type explainRequest struct {
	middleware.SitePath
	Body query.ExplainRequest
}

type explainAnswer struct{ Body *query.Explanation }

func (s *Service) queryRoutes(api huma.API) {
	huma.Register(api, middleware.AppliesRestriction(middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "query", Method: http.MethodPost, Path: "/api/v1/sites/{site}/query", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Query metrics by dimension, with filters and a comparison", Tags: []string{"statistics"},
		Description: "One request for everything that stats and breakdown answer, with the same numbers. Names are those of Plausible's query API where it has them. " +
			"Example: the campaigns of last week by visits, compared with the week before: " +
			"`{\"metrics\":[\"visits\",\"total_revenue\"],\"date_range\":\"last_week\",\"dimensions\":[\"utm_campaign\"],\"include\":{\"comparisons\":{\"mode\":\"previous_period\"}}}`",
	})), s.query)
	huma.Register(api, middleware.AppliesRestriction(middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "explain", Method: http.MethodPost, Path: "/api/v1/sites/{site}/explain", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Explain the change of a metric between two ranges", Tags: []string{"statistics"},
		Description: "Divides the change among the values of every dimension, exactly: the parts of each dimension add up to the change. " +
			"Example: which campaigns lost visits last week: " +
			"`{\"metric\":\"visits\",\"date_range\":\"last_week\",\"dimensions\":[\"utm_campaign\"]}`",
	})), s.explain)
}

func (s *Service) explain(ctx context.Context, in *explainRequest) (*explainAnswer, error) {
	site, err := s.questioned(ctx, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer, err := query.Explain(ctx, s.countAll, site, in.Body)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &explainAnswer{answer}, nil
}

// countAll is count for all rows of several dimensions. Raw events are read once for all of them, if
// the counts fit into the cache of the explorer.
func (s *Service) countAll(ctx context.Context, days explore.Range, filters []explore.Filter, by []analytics.Dimension) (explore.Report, map[analytics.Dimension][]report.Row, error) {
	ask := query.ValuesIn(days, "")
	if len(filters) == 0 {
		out, rows, err := report.Breakdowns(ctx, s.table, ask, by)
		return explore.Report{Report: out, Source: explore.FromStatistics, Notes: importedNotes(out.Imported)}, rows, err
	}
	out, _, err := s.count(ctx, ask, filters, false)
	if err != nil {
		return out, nil, err
	}
	rows := make(map[analytics.Dimension][]report.Row, len(by))
	for _, d := range by {
		ask.By = d
		one, _, err := s.count(ctx, ask, filters, false)
		if err != nil {
			return out, nil, err
		}
		rows[d] = one.Top
	}
	out.Notes = append(out.Notes, importedNotes(out.Imported)...)
	return out, rows, nil
}

func importedNotes(days *report.Imported) []string {
	if days == nil {
		return nil
	}
	return []string{days.Note}
}

func (s *Service) query(ctx context.Context, in *queryRequest) (*queryAnswer, error) {
	site, err := s.questioned(ctx, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer, err := query.Run(ctx, s.count, site, in.Body)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &queryAnswer{answer}, nil
}

// questioned returns what a query must know of its site.
func (s *Service) questioned(ctx context.Context, id string) (*query.Site, error) {
	site, err := analytics.GetSite(ctx, s.table, id)
	if err != nil {
		return nil, err
	}
	zone, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return nil, err
	}
	first, _, err := analytics.RecentDays(ctx, s.table, id, "", "", 0)
	out := &query.Site{Site: site, First: first, Apply: func(filters []explore.Filter) ([]explore.Filter, error) { return s.filters.Applied(ctx, id, filters) }}
	out.At(zone.In(s.mw.Clock()))
	return out, err
}

// queryProblem maps errors of queries. It returns nil for others.
func queryProblem(err error) error {
	var invalid *query.Error
	if errors.As(err, &invalid) {
		return middleware.Problem(http.StatusUnprocessableEntity, invalid.Code, middleware.Detail(invalid))
	}
	return nil
}
