package fleetquery

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/promql"
)

// Form receives the parameters of a request from its query and its body: Grafana sends long queries as
// a form.
type Form struct {
	middleware.FleetPath
	values url.Values
}

// Resolve reads the parameters of the query. Huma calls it.
func (f *Form) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	f.values = u.Query()
	return nil
}

// Getting is a request with its parameters in the query.
type Getting struct{ Form }

// LabelGetting is a request about a label.
type LabelGetting struct {
	Form
	Name string `path:"name" maxLength:"1024" doc:"Name of the label."`
}

// Posting is a request with its parameters in a form.
type Posting struct {
	Form
	RawBody []byte `contentType:"application/x-www-form-urlencoded"`
}

func (p *Posting) parse() error {
	more, err := url.ParseQuery(string(p.RawBody))
	if err != nil {
		return bad("the form is malformed")
	}
	for name, values := range more {
		p.values[name] = append(p.values[name], values...)
	}
	return nil
}

// handler answers one endpoint.
type handler func(ctx context.Context, f *Form) (data any, warnings []string, err error)

const prometheusPath = "/api/v1/fleets/{fleet}/prometheus/api/v1"

// parameter documents a parameter.
type parameter struct{ name, doc string }

var (
	aboutTime  = parameter{"time", "Time of evaluation: RFC 3339 or seconds since 1970. Default: now."}
	aboutQuery = parameter{"query", "The PromQL expression."}
	aboutStart = parameter{"start", "Start of the range: RFC 3339 or seconds since 1970."}
	aboutEnd   = parameter{"end", "End of the range, inclusive."}
	aboutMatch = parameter{"match[]", "Selector of series. Repeat it for more."}
	aboutBack  = parameter{"lookback_delta", "Age at which a sample is no longer current, as a duration. Default: 5m."}
	aboutLimit = parameter{"limit", "Maximum number of results. Default: no limit."}
)

// prometheusRoutes adds the endpoints that Grafana's data source for Prometheus uses.
func (s *Service) prometheusRoutes(api huma.API) {
	s.endpoint(api, "query", "/query", "Evaluate a PromQL expression at one time", true, s.instant, aboutQuery, aboutTime, aboutBack)
	s.endpoint(api, "query-range", "/query_range", "Evaluate a PromQL expression over a range", true, s.ranged, aboutQuery, aboutStart, aboutEnd,
		parameter{"step", "Time between evaluations: a duration such as 15s, or seconds."}, aboutBack)
	s.endpoint(api, "series", "/series", "List series by selectors", true, s.series, aboutMatch, aboutLimit)
	s.endpoint(api, "labels", "/labels", "List the names of labels", true, s.labels, aboutMatch, aboutLimit)
	op := operation(http.MethodGet, "label-values", "/label/{name}/values", "List the values of a label", aboutMatch, aboutLimit)
	huma.Register(api, op, func(ctx context.Context, in *LabelGetting) (*huma.StreamResponse, error) {
		return s.respond(ctx, &in.Form, func(ctx context.Context, f *Form) (any, []string, error) {
			all, err := s.engine.LabelValues(ctx, f.Fleet, in.Name, f.values["match[]"])
			return limited(f, all, err)
		})
	})
	s.endpoint(api, "metadata", "/metadata", "List the kinds and units of metrics that profiles define", false, s.metadata, parameter{"metric", "Name of a metric. Default: all."})
	s.endpoint(api, "exemplars", "/query_exemplars", "List exemplars: there are none", true, s.exemplars, aboutQuery)
	s.endpoint(api, "buildinfo", "/status/buildinfo", "Say which API this is", false, s.buildInfo)
}

// operation declares an endpoint.
func operation(method, id, path, summary string, parameters ...parameter) huma.Operation {
	op := middleware.WithBasic(middleware.AnyQuery(middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "prometheus-" + id, Method: method, Path: prometheusPath + path, Summary: summary, Tags: []string{"prometheus"},
		Description: "As in Prometheus' HTTP API. An API key is a bearer token, or the password of basic authentication. Other parameters are ignored.",
	})))
	for _, p := range parameters {
		op.Parameters = append(op.Parameters, &huma.Param{Name: p.name, In: "query", Description: p.doc, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	op.Responses = map[string]*huma.Response{"200": {Description: `{"status":"success","data":…}`, Content: map[string]*huma.MediaType{"application/json": {}}}}
	return op
}

// endpoint adds an endpoint, for forms too if post is set.
func (s *Service) endpoint(api huma.API, id, path, summary string, post bool, h handler, parameters ...parameter) {
	huma.Register(api, operation(http.MethodGet, id, path, summary, parameters...), func(ctx context.Context, in *Getting) (*huma.StreamResponse, error) {
		return s.respond(ctx, &in.Form, h)
	})
	if !post {
		return
	}
	posted := operation(http.MethodPost, id+"-form", path, summary, parameters...)
	posted.MaxBodyBytes = middleware.MaxSmallBody
	huma.Register(api, posted, func(ctx context.Context, in *Posting) (*huma.StreamResponse, error) {
		if err := in.parse(); err != nil {
			return failed(err), nil
		}
		return s.respond(ctx, &in.Form, h)
	})
}

// respond answers in the form of Prometheus' API.
func (s *Service) respond(ctx context.Context, f *Form, h handler) (*huma.StreamResponse, error) {
	if err := s.limit(ctx); err != nil {
		return nil, err
	}
	if _, err := telemetry.GetFleet(ctx, s.table, f.Fleet); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	data, warnings, err := h(ctx, f)
	var known *promql.Error
	switch {
	case errors.As(err, &known) && known.Kind == promql.Internal, err != nil && known == nil:
		return nil, s.mw.Error(ctx, err)
	case err != nil:
		return failed(known), nil
	}
	return answer(http.StatusOK, map[string]any{"status": "success", "data": data}, warnings), nil
}

// statuses are those of Prometheus' API.
var statuses = map[promql.Kind]int{
	promql.BadData: http.StatusBadRequest, promql.Execution: http.StatusUnprocessableEntity, promql.Timeout: http.StatusServiceUnavailable, promql.Canceled: 499,
}

func failed(err error) *huma.StreamResponse {
	kind := promql.BadData
	if known := (*promql.Error)(nil); errors.As(err, &known) {
		kind = known.Kind
	}
	return answer(statuses[kind], map[string]any{"status": "error", "errorType": kind, "error": err.Error()}, nil)
}

func answer(status int, body map[string]any, warnings []string) *huma.StreamResponse {
	if len(warnings) > 0 {
		body["warnings"] = warnings
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "application/json")
		ctx.SetStatus(status)
		_ = middleware.PlainJSON(ctx.BodyWriter()).Encode(body) // the client has gone
	}}
}

func bad(format string, args ...any) error {
	return &promql.Error{Kind: promql.BadData, Err: fmt.Errorf(format, args...)}
}

// moment parses a parameter that is a time.
func (f *Form) moment(name string, otherwise time.Time) (time.Time, error) {
	text := f.values.Get(name)
	if text == "" && !otherwise.IsZero() {
		return otherwise, nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(seconds) < 1e11 {
		return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC(), nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, nil
	}
	return time.Time{}, bad("invalid parameter %q: cannot parse %.64q to a valid timestamp", name, text)
}

// span parses a parameter that is a duration. It is 0 if it is absent.
func (f *Form) span(name string) (time.Duration, error) {
	text := f.values.Get(name)
	if text == "" {
		return 0, nil
	}
	if d, ok := promql.ParseDuration(text); ok {
		return d, nil
	}
	return 0, bad("invalid parameter %q: cannot parse %.64q to a valid duration", name, text)
}

// maxPoints is the maximum number of evaluations of a range, as in Prometheus.
const maxPoints = 11_000

func (s *Service) instant(ctx context.Context, f *Form) (any, []string, error) {
	at, err := f.moment("time", s.table.Now())
	if err != nil {
		return nil, nil, err
	}
	back, err := f.span("lookback_delta")
	if err != nil {
		return nil, nil, err
	}
	a, err := s.engine.Instant(ctx, f.Fleet, f.values.Get("query"), at, back)
	return a, a.Warnings, err
}

func (s *Service) ranged(ctx context.Context, f *Form) (any, []string, error) {
	start, err := f.moment("start", time.Time{})
	if err != nil {
		return nil, nil, err
	}
	end, err := f.moment("end", time.Time{})
	if err != nil {
		return nil, nil, err
	}
	step, err := f.span("step")
	if err != nil {
		return nil, nil, err
	}
	back, err := f.span("lookback_delta")
	switch {
	case err != nil:
		return nil, nil, err
	case end.Before(start):
		return nil, nil, bad("invalid parameter \"end\": end timestamp must not be before start time")
	case step < time.Millisecond:
		return nil, nil, bad("invalid parameter \"step\": zero or negative query resolution step widths are not accepted. Try a positive integer")
	case end.Sub(start)/step > maxPoints:
		return nil, nil, bad("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)")
	}
	a, err := s.engine.Range(ctx, f.Fleet, f.values.Get("query"), start, end, step, back)
	return a, a.Warnings, err
}

func (s *Service) series(ctx context.Context, f *Form) (any, []string, error) {
	if len(f.values["match[]"]) == 0 {
		return nil, nil, bad("no match[] parameter provided")
	}
	all, err := s.engine.Series(ctx, f.Fleet, f.values["match[]"])
	return limited(f, all, err)
}

func (s *Service) labels(ctx context.Context, f *Form) (any, []string, error) {
	all, err := s.engine.LabelNames(ctx, f.Fleet, f.values["match[]"])
	return limited(f, all, err)
}

// limited applies the parameter limit.
func limited[T any](f *Form, all []T, err error) (any, []string, error) {
	if err != nil {
		return nil, nil, err
	}
	if text := f.values.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, nil, bad("invalid parameter \"limit\": limit must be non-negative")
		}
		if n > 0 && n < len(all) {
			return all[:n], []string{"results truncated due to limit"}, nil
		}
	}
	if all == nil {
		all = []T{}
	}
	return all, nil, nil
}

// meta describes a metric as in Prometheus' API.
type meta struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

func (s *Service) metadata(ctx context.Context, f *Form) (any, []string, error) {
	profiles, err := telemetry.ProfilesOfFleet.Collect(ctx, s.table, telemetry.FleetIn{FleetID: f.Fleet})
	if err != nil {
		return nil, nil, err
	}
	types := map[telemetry.MetricKind]string{telemetry.Gauge: "gauge", telemetry.Counter: "counter"}
	all := map[string][]meta{}
	for _, p := range profiles {
		for _, m := range p.Metrics {
			if only := f.values.Get("metric"); only != "" && only != m.Name {
				continue
			}
			one := meta{Type: types[m.Kind], Unit: m.Unit}
			if one.Type == "" {
				one.Type = "unknown"
			}
			if have := all[m.Name]; len(have) == 0 || have[0] != one {
				all[m.Name] = append(have, one)
			}
		}
	}
	return all, nil, nil
}

func (s *Service) exemplars(context.Context, *Form) (any, []string, error) {
	return []string{}, nil, nil
}

// prometheusVersion is the version of Prometheus whose API this is. Grafana chooses features by it.
const prometheusVersion = "3.0.0"

func (s *Service) buildInfo(context.Context, *Form) (any, []string, error) {
	return map[string]string{"version": prometheusVersion, "revision": "", "branch": "", "buildUser": "", "buildDate": "", "goVersion": runtime.Version()}, nil, nil
}
