package webanalytics

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/webanalytics/filters"
	"github.com/onefold/onefold/server/webanalytics/query"
)

// DayRange is the day range of a statistics request.
type DayRange struct {
	From string `query:"from" maxLength:"10" doc:"First day, in the site's time zone, YYYY-MM-DD. Default: 29 days before the last."`
	To   string `query:"to" maxLength:"10" doc:"Last day, inclusive. Default: the last day with statistics."`
}

type statsRequest struct {
	middleware.SitePath
	DayRange
	FilterParams
	query.Comparison
	Period string `query:"period" enum:"hour,day,month" default:"day" doc:"Length of a bucket."`
}

type bucketBody struct {
	Start string `json:"start" doc:"2026-05-12T14:00:00Z, 2026-05-12 or 2026-05."`
	query.Figures
}

// statsBody is the response of statistics from any source.
type statsBody struct {
	From            string         `json:"from"`
	To              string         `json:"to"`
	Period          string         `json:"period"`
	TimeZone        string         `json:"timezone"`
	Source          string         `json:"source" enum:"statistics,raw,warehouse" doc:"statistics: from stored counts. raw: counted from raw events, which are kept for a limited time. warehouse: from raw events, partly read from the warehouse."`
	Totals          query.Figures  `json:"totals"`
	PreviousFrom    string         `json:"previousFrom,omitempty" doc:"First day of the comparison range."`
	PreviousTo      string         `json:"previousTo,omitempty" doc:"Last day of the comparison range, inclusive."`
	Align           string         `json:"align,omitempty" enum:"weekday,date" doc:"How the ranges are aligned: the same weekdays, or dates."`
	Previous        *query.Figures `json:"previous,omitempty" doc:"Totals of the comparison range."`
	Buckets         []bucketBody   `json:"buckets"`
	PreviousBuckets []bucketBody   `json:"previousBuckets,omitempty"`
	Notes           []string       `json:"notes" doc:"Notes for readers of these numbers."`

	Imported         *report.Imported `json:"imported,omitempty" doc:"Days of the range with counts imported from another analytics product."`
	PreviousImported *report.Imported `json:"previousImported,omitempty" doc:"Imported days of the comparison range."`
}

type statsAnswer struct{ Body statsBody }

func (s *Service) statsRoutes(api huma.API) {
	huma.Register(api, middleware.AppliesRestriction(middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "stats", Method: http.MethodGet, Path: "/api/v1/sites/{site}/stats",
		Summary: "Get totals and buckets of a day range, with a comparison", Tags: []string{"statistics"},
	})), s.stats)
	huma.Register(api, middleware.AppliesRestriction(middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "breakdown", Method: http.MethodGet, Path: "/api/v1/sites/{site}/breakdown",
		Summary: "Get the values of a dimension in a day range", Tags: []string{"statistics"},
	})), s.breakdown)
	huma.Register(api, middleware.AppliesRestriction(middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "reading", Method: http.MethodGet, Path: "/api/v1/sites/{site}/reading",
		Summary: "Get the progress of queries on raw events", Tags: []string{"statistics"},
	})), s.reading)
}

func (s *Service) stats(ctx context.Context, in *statsRequest) (*statsAnswer, error) {
	days, filters, err := s.question(ctx, in.SitePath, in.DayRange, in.FilterParams)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	from, to := days.From, days.To
	ask := report.Request{Site: in.Site, From: from, To: to, Period: analytics.Period(in.Period)}
	out, source, err := s.count(ctx, ask, filters, false)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := &statsAnswer{statsBody{
		From: from, To: to, Period: in.Period, TimeZone: out.TimeZone, Source: string(source),
		Totals: query.FiguresOf(out.Totals.Figures), Buckets: describeBuckets(out.Buckets), Notes: out.Notes,
		Imported: out.Imported,
	}}
	if in.Compare == query.Everything {
		err = s.compareEverything(ctx, &answer.Body, ask, len(filters) > 0)
	} else if in.Compare != "none" {
		ask.From, ask.To, answer.Body.Align = in.Days(from, to, ask.Period)
		err = s.compare(ctx, &answer.Body, ask, filters, false)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if source == explore.FromStatistics {
		s.prepare(days)
	}
	return answer, nil
}

// prepare reads the raw events of displayed days into memory, because the next request is likely to
// filter them.
func (s *Service) prepare(r explore.Range) {
	s.background.Start(func(ctx context.Context) {
		if err := s.raw.Prepare(ctx, r); err != nil && ctx.Err() == nil {
			s.mw.Logger.Warn("preparing the days of a site failed", "site", r.Site, "error", err)
		}
	})
}

// compareEverything adds the figures of all visits that the caller may see. They are counted from raw
// events if the filtered visits are, so that both have the same days.
func (s *Service) compareEverything(ctx context.Context, body *statsBody, ask report.Request, raw bool) error {
	all, err := filters.Everything(ctx)
	if err != nil {
		return err
	}
	return s.compare(ctx, body, ask, all, raw)
}

// compare adds the figures of another range. If they are no longer kept, the response has a note
// instead.
func (s *Service) compare(ctx context.Context, body *statsBody, ask report.Request, filtered []explore.Filter, raw bool) error {
	out, _, err := s.count(ctx, ask, filtered, raw)
	if note, ok := query.NoComparison(err, ask.From, ask.To); ok {
		body.Notes = append(body.Notes, note)
		return nil
	}
	if err != nil {
		return err
	}
	previous := query.FiguresOf(out.Totals.Figures)
	body.PreviousFrom, body.PreviousTo = ask.From, ask.To
	body.Previous, body.PreviousBuckets, body.PreviousImported = &previous, describeBuckets(out.Buckets), out.Imported
	body.Notes = append(body.Notes, out.Notes...)
	return nil
}

func describeBuckets(buckets []report.Bucket) []bucketBody {
	bodies := make([]bucketBody, len(buckets))
	for i := range buckets {
		bodies[i] = bucketBody{buckets[i].Start, query.FiguresOf(buckets[i].Figures)}
	}
	return bodies
}
