package webanalytics

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/server/internal/middleware"
)

// rawTimeout limits a query that reads raw events.
const rawTimeout = 50 * time.Second

// FilterParams select visits.
type FilterParams struct {
	Filter []string `query:"filter,explode" maxItems:"20" doc:"Only visits with a value: dimension:op:value|value, such as country:is:DE|AT. The op is is, is_not, contains, contains_not or matches (* matches text without a slash, ** any text). Dimensions are those of breakdowns; (none) stands for no value. segment:is:NAME selects the visits of a segment. Escape a bar as \\| and a backslash as \\\\. A visit must match all filters, and is counted as a whole."`
}

// count answers from statistics if they suffice, otherwise, or if raw is set, from raw events.
// Without a dimension there are no rows. The filters are those of filters.Applied.
func (s *Service) count(ctx context.Context, ask report.Request, filters []explore.Filter, raw bool) (explore.Report, explore.Source, error) {
	err := s.filters.CheckProperties(ctx, ask.Site, ask.By, nil)
	if err != nil {
		return explore.Report{}, "", err
	}
	if len(filters) == 0 && !raw && !s.onlyRaw(ctx, ask) {
		out := explore.Report{Notes: []string{}}
		if ask.By == "" {
			out.Report, err = report.Statistics(ctx, s.table, ask)
		} else {
			out.Report, err = report.Make(ctx, s.table, ask)
		}
		return out, explore.FromStatistics, err
	}
	ctx, cancel := context.WithTimeout(ctx, rawTimeout)
	defer cancel()
	out, err := s.raw.Report(ctx, ask, filters)
	if err == nil {
		out.Imported, err = report.ImportedDays(ctx, s.table, ask.Site, ask.From, ask.To)
	}
	return out, out.Source, err
}

// leftOut adds a note to a report made from visits if the range has imported days, which have no
// visits and are left out.
func (s *Service) leftOut(ctx context.Context, r explore.Range, notes *[]string) error {
	days, err := report.ImportedDays(ctx, s.table, r.Site, r.From, r.To)
	if days != nil {
		*notes = append(slices.Clip(*notes), days.Note) // a copy: the slice may be shared
	}
	return err
}

type readingAnswer struct {
	Body struct {
		Done int `json:"done" doc:"Days read so far, for all running queries of the site."`
		Of   int `json:"of" doc:"Days to read for these queries; 0 if none is running."`
	}
}

func (s *Service) reading(_ context.Context, in *middleware.SitePath) (*readingAnswer, error) {
	var answer readingAnswer
	answer.Body.Done, answer.Body.Of = s.raw.Progress(in.Site)
	return &answer, nil
}

// onlyRaw reports whether a dimension has no statistics, as for a property that the site does not
// list.
func (s *Service) onlyRaw(ctx context.Context, ask report.Request) bool {
	if !strings.HasPrefix(string(ask.By), explore.Property) {
		return false
	}
	site, err := analytics.GetSite(ctx, s.table, ask.Site)
	return err == nil && !slices.Contains(site.Dimensions(), ask.By)
}

// question parses the day range and filters of a request, and applies what the caller is restricted to.
func (s *Service) question(ctx context.Context, site middleware.SitePath, days DayRange, f FilterParams) (r explore.Range, filters []explore.Filter, err error) {
	if filters, err = explore.ParseFilters(f.Filter); err != nil {
		return r, nil, err
	}
	if filters, err = s.filters.Applied(ctx, site.Site, filters); err != nil {
		return r, nil, err
	}
	from, to, err := analytics.RecentDays(ctx, s.table, site.Site, days.From, days.To, reportDays)
	return explore.Range{Site: site.Site, From: from, To: to}, filters, err
}

// statisticsOperation returns an operation that reads statistics of a site.
func statisticsOperation(id, path, summary string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodGet, Path: "/api/v1/sites/{site}/" + path, Summary: summary, Tags: []string{"statistics"}}
}
