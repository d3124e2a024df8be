// Package promql answers PromQL queries about the readings of a fleet, with Prometheus' own engine:
// the language is the whole of PromQL. Samples are raw readings, so nothing older than the fleet keeps
// them can be asked for.
package promql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/onefold/onefold/table"
)

// Options limit queries. The zero value has good defaults.
type Options struct {
	MaxSamples int           // samples that a query may read, and hold at a time; default 3,000,000
	MaxSeries  int           // series that a selector may match; default 20,000
	Timeout    time.Duration // of a query, including its wait for others; default 30 s
	Concurrent int           // queries at a time, others wait; default 4
	LookBack   time.Duration // age at which a sample is no longer current; default 5 min, as in Prometheus
}

func (o *Options) fill() {
	setDefault(&o.MaxSamples, 3_000_000)
	setDefault(&o.MaxSeries, 20_000)
	setDefault(&o.Timeout, 30*time.Second)
	setDefault(&o.Concurrent, 4)
	setDefault(&o.LookBack, 5*time.Minute)
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Engine answers queries. It is safe for concurrent use.
type Engine struct {
	o      Options
	t      *table.Table
	engine *promql.Engine
	slots  slots
}

// New returns an engine for the fleets of a table. Close ends it.
func New(t *table.Table, o Options) *Engine {
	o.fill()
	s := make(slots, o.Concurrent)
	return &Engine{o: o, t: t, slots: s, engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: o.MaxSamples, Timeout: o.Timeout, LookbackDelta: o.LookBack, ActiveQueryTracker: s,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: parser.NewParser(parser.Options{}),
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
	})}
}

// Close releases the engine.
func (e *Engine) Close() error { return e.engine.Close() }

// Kind is the class of an error, with the names that Prometheus' HTTP API has for them.
type Kind string

// The kinds.
const (
	BadData   Kind = "bad_data"  // the query is malformed
	Execution Kind = "execution" // it cannot be answered, or reads too much
	Timeout   Kind = "timeout"
	Canceled  Kind = "canceled"
	Internal  Kind = "internal" // the store failed
)

// Error is an error of a query.
type Error struct {
	Kind Kind
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Answer is the value of a query. It encodes to JSON as in Prometheus' HTTP API.
type Answer struct {
	Type     parser.ValueType `json:"resultType"`
	Result   parser.Value     `json:"result"`
	Warnings []string         `json:"-"`
}

// Instant evaluates a query at one time. lookBack replaces Options.LookBack unless it is 0. Errors: Error.
func (e *Engine) Instant(ctx context.Context, fleetID, text string, at time.Time, lookBack time.Duration) (Answer, error) {
	if err := checkPatterns(text); err != nil {
		return Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	s := e.newStorage(ctx, fleetID)
	q, err := e.engine.NewInstantQuery(ctx, s, promql.NewPrometheusQueryOpts(false, lookBack, nil), text, at)
	return e.answer(ctx, s, q, err)
}

// Range evaluates a query at each step from start to end. Errors: Error.
func (e *Engine) Range(ctx context.Context, fleetID, text string, start, end time.Time, step, lookBack time.Duration) (Answer, error) {
	if err := checkPatterns(text); err != nil {
		return Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	s := e.newStorage(ctx, fleetID)
	q, err := e.engine.NewRangeQuery(ctx, s, promql.NewPrometheusQueryOpts(false, lookBack, nil), text, start, end, step)
	return e.answer(ctx, s, q, err)
}

func (e *Engine) answer(ctx context.Context, s *storage, q promql.Query, err error) (a Answer, _ error) {
	switch {
	case err != nil && ctx.Err() != nil: // it waited for a slot
		return a, &Error{s.kind(err), err}
	case err != nil:
		return a, &Error{BadData, err}
	}
	result := q.Exec(ctx)
	if err := result.Err; err != nil {
		return a, &Error{s.kind(err), err}
	}
	a.Type, a.Result = result.Value.Type(), result.Value // the value outlives the query, which is not closed: its memory is not reused
	for _, w := range result.Warnings.AsErrors() {
		a.Warnings = append(a.Warnings, w.Error())
	}
	return a, nil
}

// kind classifies an error of an evaluation.
func (s *storage) kind(err error) Kind {
	var timeout promql.ErrQueryTimeout
	var canceled promql.ErrQueryCanceled
	var many promql.ErrTooManySamples
	var broken promql.ErrStorage
	switch {
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		return Canceled
	case errors.As(err, &many), errors.Is(err, ErrTooMuch):
		return Execution
	case errors.As(err, &broken), s.failed.Load():
		return Internal
	}
	return Execution
}

// ErrTooMuch is returned for a query that would read too many samples or series.
var ErrTooMuch = errors.New("promql: too much")

// slots limits concurrent queries. It is the engine's query tracker.
type slots chan struct{}

// GetMaxConcurrent returns the limit.
func (s slots) GetMaxConcurrent() int { return cap(s) }

// Insert waits for a slot.
func (s slots) Insert(ctx context.Context, _ string) (int, error) {
	select {
	case s <- struct{}{}:
		return 0, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("waiting for other queries: %w", ctx.Err())
	}
}

// Delete frees a slot.
func (s slots) Delete(int) { <-s }

// Close does nothing.
func (s slots) Close() error { return nil }
