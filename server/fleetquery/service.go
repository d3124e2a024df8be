// Package fleetquery serves queries about the readings of all devices of a fleet: figures by steps and
// groups, and Prometheus' HTTP API.
package fleetquery

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/promql"
	"github.com/onefold/onefold/telemetry/query"
)

// Limits of requests to Prometheus' API. A dashboard of Grafana asks for all its panels at once.
const (
	perSecond = 50 // requests a caller
	burst     = 300
)

// Options configure the service. The zero value is complete.
type Options struct {
	// Parquet writes rows as a Parquet file; see fleetparquet. nil: the format is refused.
	Parquet func(io.Writer, []query.Row) error
}

// Service answers queries with authorization. Create one with New.
type Service struct {
	mw     *middleware.Stack
	o      Options
	table  *table.Table
	engine *promql.Engine
	rate   *middleware.Limiter
	slots  chan struct{} // queries of figures being answered
}

// concurrent is how many queries of figures are answered at a time; others wait. Each reads several
// devices at a time.
const concurrent = 4

// New creates the service for a table.
func New(mw *middleware.Stack, t *table.Table, clock func() time.Time, o Options) *Service {
	return &Service{mw: mw, o: o, table: t, engine: promql.New(t, promql.Options{}), rate: middleware.NewLimiter(perSecond, burst, clock), slots: make(chan struct{}, concurrent)}
}

// Register adds the operations to the API.
func (s *Service) Register(api huma.API, _ *http.ServeMux) error {
	s.figureRoutes(api)
	s.prometheusRoutes(api)
	return nil
}

// Wrap adds no middleware.
func (s *Service) Wrap(next http.Handler) http.Handler { return next }

// Run does nothing.
func (s *Service) Run(context.Context) {}

// Close does nothing: queries end with their requests.
func (s *Service) Close() {}

// Problem maps an error of a query to a response that says what to do. It returns nil for other errors.
func Problem(err error) error {
	switch {
	case errors.Is(err, query.ErrInvalid):
		return middleware.Problem(http.StatusUnprocessableEntity, "invalid_query", middleware.Detail(err))
	case errors.Is(err, query.ErrTooMuch):
		return middleware.Problem(http.StatusUnprocessableEntity, "query_too_large", middleware.Detail(err))
	case errors.Is(err, query.ErrExpired):
		return middleware.Problem(http.StatusUnprocessableEntity, "readings_expired", middleware.Detail(err))
	}
	return nil
}

// limit charges a request to the rate of its caller.
func (s *Service) limit(ctx context.Context) error {
	if wait, ok := s.rate.Allow(middleware.CallerOf(ctx).Actor, 1); !ok {
		return middleware.RateLimited("queries", wait)
	}
	return nil
}
