package fleetquery

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/server/internal/download"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/telemetry/query"
)

const queryTimeout = time.Minute

type figuresRequest struct {
	middleware.FleetPath
	Metric   string        `query:"metric" required:"true" maxLength:"100" doc:"Name of the metric, with its labels: cpu.idle{cpu=cpu0}."`
	Function string        `query:"function" default:"avg" maxLength:"16" doc:"avg, min, max, sum, stddev, count, first, last, a percentile such as p95, increase, rate, derivative or durations."`
	From     time.Time     `query:"from" doc:"RFC 3339. Default: a day before the end."`
	To       time.Time     `query:"to" doc:"RFC 3339, exclusive. Default: now."`
	Step     string        `query:"step" default:"hour" maxLength:"16" doc:"hour or day of the fleet's time zone, all, or a duration from the start of the range, such as 15m."`
	GroupBy  query.GroupBy `query:"groupBy" enum:"device,tag,profile,type" doc:"Property that groups devices. Default: all devices are one group."`
	Devices  []string      `query:"device,explode" maxItems:"1000" doc:"IDs of devices. Default: all."`
	Tag      string        `query:"tag" maxLength:"100" doc:"Only devices with this tag."`
	Profile  string        `query:"profile" maxLength:"64" doc:"Only devices with this profile."`
	Source   query.Source  `query:"source" enum:"readings" doc:"readings: do not use aggregates, which follow after --fold-delay."`
	Format   string        `query:"format" enum:"json,csv,jsonl,parquet" default:"json" doc:"Format of the response."`
}

func (in *figuresRequest) request(now time.Time) query.Request {
	to := in.To
	if to.IsZero() {
		to = now
	}
	from := in.From
	if from.IsZero() {
		from = to.Add(-24 * time.Hour)
	}
	return query.Request{
		FleetID: in.Fleet, Metric: in.Metric, Function: query.Function(in.Function), From: from, To: to, Step: in.Step,
		GroupBy: in.GroupBy, Devices: in.Devices, Tag: in.Tag, Profile: in.Profile, Source: in.Source,
	}
}

// formats are the media types of formats.
var formats = map[string]string{
	"json": "application/json", "csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet",
}

func (s *Service) figureRoutes(api huma.API) {
	op := middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "query-fleet", Method: http.MethodGet, Path: "/api/v1/fleets/{fleet}/query", Tags: []string{"readings"},
		Summary: "Compute a figure of a metric over many devices, by steps and groups",
		Description: "Each figure equals the one that all raw readings of the step give; whole hours are answered from aggregates where these are exact. " +
			"Steps without values have no row. Errors: `invalid_query`; `query_too_large`, which says how to narrow the query; `readings_expired` for a figure that needs readings which are no longer kept.",
	})
	content := map[string]*huma.MediaType{"text/csv": {}, "application/jsonl": {}, "application/vnd.apache.parquet": {}}
	content["application/json"] = &huma.MediaType{Schema: huma.SchemaFromType(api.OpenAPI().Components.Schemas, reflect.TypeFor[query.Result]())}
	op.Responses = map[string]*huma.Response{"200": {Description: "The rows by group, time and state. The other formats have only rows.", Content: content}}
	huma.Register(api, op, s.figures)
}

func (s *Service) figures(ctx context.Context, in *figuresRequest) (*huma.StreamResponse, error) {
	if err := s.limit(ctx); err != nil {
		return nil, err
	}
	if in.Format == "parquet" && s.o.Parquet == nil {
		return nil, middleware.Problem(http.StatusUnprocessableEntity, "no_parquet", "This server does not write Parquet. Use csv or jsonl.")
	}
	result, err := s.answer(ctx, in)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		err := download.Send(w, queryTimeout, func(h http.Header) {
			h.Set("Content-Type", formats[in.Format])
			if in.Format != "json" {
				h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-query.%s"`, in.Fleet, in.Format))
			}
		}, func(file io.Writer) error { return s.write(file, in.Format, &result) })
		s.mw.DownloadFailed(hc.Context(), w, err)
	}}, nil
}

// answer answers a query within the time limit, when there is a slot for it.
func (s *Service) answer(ctx context.Context, in *figuresRequest) (query.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return query.Result{}, ctx.Err()
	}
	return query.Do(ctx, s.table, in.request(s.table.Now()))
}

func (s *Service) write(file io.Writer, format string, r *query.Result) error {
	switch format {
	case "csv":
		return writeCSV(file, r.Rows)
	case "parquet":
		return s.o.Parquet(file, r.Rows)
	case "jsonl":
		lines := json.NewEncoder(file)
		for i := range r.Rows {
			if err := lines.Encode(&r.Rows[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return middleware.PlainJSON(file).Encode(r)
}

func writeCSV(file io.Writer, rows []query.Row) error {
	w := csv.NewWriter(file)
	err := w.Write([]string{"group", "at", "state", "value"})
	for i := range rows {
		r := &rows[i]
		text := r.Value.String()
		if !r.Value.IsNumber() {
			text = download.Harmless(text)
		}
		err = cmp.Or(err, w.Write([]string{download.Harmless(r.Group), r.At.Format(time.RFC3339Nano), download.Harmless(r.State), text}))
	}
	w.Flush()
	return cmp.Or(err, w.Error())
}
