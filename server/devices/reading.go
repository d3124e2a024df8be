package devices

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Times is a half-open time range.
type Times struct {
	From time.Time `query:"from" doc:"RFC 3339. Default: a day before the end."`
	To   time.Time `query:"to" doc:"RFC 3339, exclusive. Default: now."`
}

func (r Times) filled(now time.Time) (from, to time.Time) {
	from, to = r.From, r.To
	if to.IsZero() {
		to = now
	}
	if from.IsZero() {
		from = to.Add(-24 * time.Hour)
	}
	return from.UTC(), to.UTC()
}

type seriesRequest struct {
	DevicePath
	Times
	Metric     string           `query:"metric" required:"true" maxLength:"100" doc:"Name of the metric."`
	Resolution telemetry.Period `query:"resolution" enum:"raw,10min,hourly,daily" doc:"Default: the finest with at most maxPoints."`
	MaxPoints  int              `query:"maxPoints" minimum:"3" maximum:"10000" default:"500" doc:"If there are more, points whose loss is least visible are dropped."`
	Fill       telemetry.Fill   `query:"fill" enum:"null,previous,linear" doc:"Values for times without a measurement. Default: none."`
}

type seriesAnswer struct{ Body telemetry.Series }

// PageParams select a page of a list.
type PageParams struct {
	Cursor string `query:"cursor" doc:"From the previous page."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of results."`
}

type readingBody struct {
	At      time.Time        `json:"at" doc:"By the device's clock."`
	Arrived time.Time        `json:"arrived"`
	Values  telemetry.Values `json:"values"`
	Late    bool             `json:"late,omitempty" doc:"The reading arrived later than its profile allows."`
	Void    []string         `json:"retracted,omitempty" doc:"Metrics that were retracted when the reading arrived; * is all."`
}

func describeReading(r *telemetry.Reading) readingBody {
	return readingBody{r.At, time.UnixMilli(r.Arrived).UTC(), r.Values, r.Late, r.Void}
}

type readingsPageRequest struct {
	DevicePath
	Times
	PageParams
}

type readingsPage struct {
	Body struct {
		Readings []readingBody `json:"readings" doc:"In order of time."`
		Cursor   string        `json:"cursor,omitempty" doc:"Cursor of the next page, if there may be one."`
	}
}

type latestAnswer struct{ Body readingBody }

type aggregatesRequest struct {
	DevicePath
	Times
	PageParams
	Period telemetry.Period `query:"period" enum:"10min,hourly,daily" default:"hourly" doc:"Length of a bucket."`
}

type aggregateBody struct {
	Start       string              `json:"start" doc:"Start of the bucket: 2026-05-12T14:00:00Z, or the fleet's day 2026-05-12."`
	Readings    int64               `json:"readings"`
	Late        int64               `json:"late,omitempty"`
	Corrections int64               `json:"corrections,omitempty"`
	Metrics     []telemetry.Figures `json:"metrics"`
}

type aggregatesAnswer struct {
	Body struct {
		Aggregates []aggregateBody `json:"aggregates" doc:"The current day has none; a series includes it."`
		Cursor     string          `json:"cursor,omitempty"`
	}
}

func readOperation(id, path, summary string) huma.Operation {
	return middleware.Guard(middleware.ForRead, huma.Operation{OperationID: id, Method: http.MethodGet, Path: devicePath + path, Summary: summary, Tags: []string{"readings"}})
}

func (s *Service) readingRoutes(api huma.API) {
	huma.Register(api, readOperation("device-series", "/series", "Get a time series of one metric: readings or aggregates, as fine as fits"), s.series)
	huma.Register(api, readOperation("device-readings", "/readings", "List the raw readings of a time range"), s.readings)
	huma.Register(api, readOperation("device-latest", "/latest", "Get the latest reading, by the device's clock"), s.latest)
	huma.Register(api, readOperation("device-aggregates", "/aggregates", "List the aggregates of all metrics: 10 minutes, hours or days"), s.aggregates)
}

func (s *Service) series(ctx context.Context, in *seriesRequest) (*seriesAnswer, error) {
	if _, err := s.known(ctx, &in.DevicePath); err != nil {
		return nil, err
	}
	from, to := in.filled(s.table.Now())
	series, err := telemetry.ReadSeries(ctx, s.table, telemetry.SeriesIn{
		DeviceID: in.Device, Metric: in.Metric, From: from, To: to, Resolution: in.Resolution, MaxPoints: in.MaxPoints, Fill: in.Fill,
	})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if series.Points == nil {
		series.Points = []telemetry.Point{}
	}
	return &seriesAnswer{series}, nil
}

func (s *Service) readings(ctx context.Context, in *readingsPageRequest) (*readingsPage, error) {
	if _, err := s.known(ctx, &in.DevicePath); err != nil {
		return nil, err
	}
	from, to := in.filled(s.table.Now())
	page, err := (telemetry.ReadingsIn{DeviceID: in.Device, From: from, To: to, Partial: true}).Page(ctx, s.table, in.Cursor, in.Limit)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(readingsPage)
	answer.Body.Readings, answer.Body.Cursor = described(page, describeReading), page.Next
	return answer, nil
}

// described converts the items of a page to their bodies.
func described[T, B any](page table.Page[T], describe func(*T) B) []B {
	all := make([]B, len(page.Items))
	for i := range page.Items {
		all[i] = describe(&page.Items[i])
	}
	return all
}

func (s *Service) latest(ctx context.Context, in *DevicePath) (*latestAnswer, error) {
	if _, err := s.known(ctx, in); err != nil {
		return nil, err
	}
	r, err := (telemetry.ReadingsIn{DeviceID: in.Device, Partial: true}).Newest(ctx, s.table)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &latestAnswer{describeReading(&r)}, nil
}

func (s *Service) aggregates(ctx context.Context, in *aggregatesRequest) (*aggregatesAnswer, error) {
	if _, err := s.known(ctx, &in.DevicePath); err != nil {
		return nil, err
	}
	from, to := in.filled(s.table.Now())
	ask, err := s.buckets(ctx, &in.DevicePath, in.Period, from, to)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	page, err := telemetry.AggregatesByTime.Page(ctx, s.table, ask, in.Cursor, in.Limit)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(aggregatesAnswer)
	answer.Body.Aggregates, answer.Body.Cursor = described(page, describeAggregate), page.Next
	return answer, nil
}

func describeAggregate(a *telemetry.Aggregate) aggregateBody {
	return aggregateBody{a.Start, a.Readings, a.Late, a.Corrections, telemetry.FiguresOf(a)}
}

// buckets returns the range of aggregates whose buckets begin in a time range.
func (s *Service) buckets(ctx context.Context, in *DevicePath, p telemetry.Period, from, to time.Time) (telemetry.AggregatesIn, error) {
	ask := telemetry.AggregatesIn{DeviceID: in.Device, Period: p}
	if !from.Before(to) {
		return ask, telemetry.ErrRange
	}
	zone, layout := time.UTC, "2006-01-02T15:04:05Z"
	if p == telemetry.Daily {
		fleet, err := telemetry.GetFleet(ctx, s.table, in.Fleet)
		if err == nil {
			zone, err = time.LoadLocation(fleet.TimeZone)
		}
		if err != nil {
			return ask, err
		}
		layout = time.DateOnly
	}
	// A bucket is in the half-open range if its start is.
	ask.From, ask.To = firstAt(from, zone, layout), firstAt(to, zone, layout)
	return ask, nil
}

// firstAt returns the start of the first bucket that does not begin before an instant.
func firstAt(at time.Time, zone *time.Location, layout string) string {
	local := at.In(zone)
	if layout != time.DateOnly {
		if whole := local.Truncate(time.Second); whole.Before(local) {
			local = whole.Add(time.Second)
		}
		return local.Format(layout)
	}
	if y, m, d := local.Date(); time.Date(y, m, d, 0, 0, 0, 0, zone).Before(local) {
		return time.Date(y, m, d+1, 12, 0, 0, 0, zone).Format(layout)
	}
	return local.Format(layout)
}
