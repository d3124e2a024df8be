package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
)

// rawTimeout bounds a question that raw events answer.
const rawTimeout = 50 * time.Second

// FilterParams select visits.
type FilterParams struct {
	Filter []string `query:"filter,explode" maxItems:"20" doc:"Only visits with a value: dimension:op:value|value, such as country:is:DE|AT. Op is is, is_not, contains, contains_not or matches (* is any text without a slash, ** any text). Dimensions are those of breakdowns; (none) is no value. \\| is a bar, \\\\ a backslash. A visit has to fulfil all filters, and is counted as a whole."`
}

// exploreProblem is the answer to errors of questions about raw events; nil for others.
func exploreProblem(err error) error {
	switch {
	case errors.Is(err, explore.ErrQuestion):
		return problem(http.StatusUnprocessableEntity, "bad_question", err.Error())
	case errors.Is(err, explore.ErrTooMuch):
		return problem(http.StatusUnprocessableEntity, "too_much", err.Error())
	case errors.Is(err, explore.ErrGone):
		return problem(http.StatusUnprocessableEntity, "raw_events_gone", err.Error())
	}
	return nil
}

// count answers from statistics where these know, else from raw events. Without a dimension there are no rows.
func (s *Server) count(ctx context.Context, ask analytics.ReportIn, filter []string) (explore.Report, explore.Source, error) {
	filters, err := explore.ParseFilters(filter)
	if err == nil {
		err = s.checkProperties(ctx, ask.Site, ask.By, filters)
	}
	if err != nil {
		return explore.Report{}, "", err
	}
	if len(filters) == 0 && !s.onlyRaw(ctx, ask) {
		out := explore.Report{Notes: []string{}}
		if ask.By == "" {
			out.ReportOut, err = analytics.Statistics(ctx, s.o.Table, ask)
		} else {
			out.ReportOut, err = analytics.Report(ctx, s.o.Table, ask)
		}
		return out, explore.FromStatistics, err
	}
	ctx, cancel := context.WithTimeout(ctx, rawTimeout)
	defer cancel()
	out, err := s.raw.Report(ctx, ask, filters)
	return out, explore.FromRaw, err
}

// onlyRaw reports whether no statistics are kept of a dimension: of a property that the site does not list.
func (s *Server) onlyRaw(ctx context.Context, ask analytics.ReportIn) bool {
	if !strings.HasPrefix(string(ask.By), explore.Property) {
		return false
	}
	site, err := analytics.GetSite(ctx, s.o.Table, ask.Site)
	return err == nil && !slices.Contains(site.Dimensions(), ask.By)
}

// question is the range of days and the filters that a request asks for.
func (s *Server) question(ctx context.Context, site SitePath, days DayRange, f FilterParams) (r explore.Range, filters []explore.Filter, err error) {
	if filters, err = explore.ParseFilters(f.Filter); err != nil {
		return r, nil, err
	}
	from, to, err := analytics.RecentDays(ctx, s.o.Table, site.Site, days.From, days.To, reportDays)
	return explore.Range{Site: site.Site, From: from, To: to}, filters, err
}

// statisticsOperation is an operation that reads statistics of a site.
func statisticsOperation(id, path, summary string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodGet, Path: "/api/v1/sites/{site}/" + path, Summary: summary, Tags: []string{"statistics"}}
}
