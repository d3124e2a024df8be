// Package figures turns the state of a metric in an aggregate into figures for people.
package figures

import (
	"math"
	"time"

	"github.com/onefold/onefold/telemetry/internal/bucket"
	"github.com/onefold/onefold/telemetry/internal/counterseries"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
)

// Kind is the kind of a metric. It determines the figures of aggregates.
type Kind string

// The kinds of metrics.
const (
	Gauge   Kind = "gauge"   // a number that rises and falls
	Counter Kind = "counter" // a number that only grows, except when it is reset
	State   Kind = "state"   // a text, a truth value, or a number used as a name
)

// Figures are the figures of one metric in an aggregate. Numbers are exact decimals, except Mean,
// Deviation and Rate, which have 20 digits, and percentiles if Exact is false.
type Figures struct {
	Metric  string    `json:"metric"`
	Kind    Kind      `json:"kind"`
	Count   int64     `json:"count"`
	FirstAt time.Time `json:"firstAt"`
	LastAt  time.Time `json:"lastAt"`
	First   string    `json:"first"`
	Last    string    `json:"last"`

	// For gauges and counters.
	Sum       string `json:"sum,omitempty"`
	Mean      string `json:"mean,omitempty"`
	Min       string `json:"min,omitempty"`
	Max       string `json:"max,omitempty"`
	Deviation string `json:"deviation,omitempty"` // population standard deviation

	// For gauges: the smallest values that 50, 90, 95 and 99 percent are at or below. If Exact,
	// they are measured values. Otherwise they come from a DDSketch, and PercentileError is their
	// relative error: 0.01, or more if a device has hundreds of metrics.
	P50   string `json:"p50,omitempty"`
	P90   string `json:"p90,omitempty"`
	P95   string `json:"p95,omitempty"`
	P99   string `json:"p99,omitempty"`
	Exact bool   `json:"exact,omitempty"`

	PercentileError float64 `json:"percentileError,omitempty"`

	// For counters: the growth since the last reading of the previous bucket, if known, or else
	// since the first reading of this one; and the number of resets in that time.
	Increase string `json:"increase,omitempty"`
	Resets   int64  `json:"resets,omitempty"`
	Rate     string `json:"rate,omitempty"` // increase per second

	// For states: seconds that each lasted within the bucket. A state lasts until the next reading.
	Lasted map[string]float64 `json:"lasted,omitempty"`

	// Partial means that the order of readings matters but is no longer known. Increase and Lasted
	// are omitted.
	Partial bool `json:"partial,omitempty"`
}

var kindNames = map[bucket.Kind]Kind{bucket.Gauge: Gauge, bucket.Counter: Counter, bucket.State: State}

// Of returns the figures that a metric's bucket yields by itself.
func Of(m *bucket.Metric) Figures {
	f := Figures{
		Metric: m.Name, Kind: kindNames[m.Kind], Count: m.Count, FirstAt: time.UnixMilli(m.First.At).UTC(), LastAt: time.UnixMilli(m.Last.At).UTC(),
		First: textOf(m.First), Last: textOf(m.Last),
	}
	if m.Kind != bucket.State {
		f.Sum, f.Min, f.Max = m.Sum.String(), m.Min.String(), m.Max.String()
		f.Mean, f.Deviation = decimalsum.Mean(m.Sum, m.Count).String(), decimalsum.Deviation(m.Sum, m.Squares, m.Count).String()
	}
	if m.Kind == bucket.Gauge {
		percentile := func(p float64) string {
			v, ok := m.Spread.Percentile(p)
			if !ok {
				return ""
			}
			return v.String()
		}
		f.P50, f.P90, f.P95, f.P99 = percentile(50), percentile(90), percentile(95), percentile(99)
		f.Exact, f.PercentileError = m.Spread.Exact(), math.Round(m.Spread.Error()*1e4)/1e4
	}
	return f
}

func textOf(p counterseries.Point) string {
	if p.Name != "" {
		return p.Name
	}
	return p.Number.String()
}

// AddRun adds the figures of a counter's or state's run in a bucket. before is the previous run, of
// which only the last point matters.
func (f *Figures) AddRun(run, before counterseries.Run, start, end time.Time) {
	if run.N == 0 {
		return
	}
	from := run.First.At
	if before.N > 0 && before.Last.At < run.First.At {
		from = before.Last.At
		step := counterseries.Run{N: 1, First: before.Last, Last: before.Last}
		if f.Kind == State { // time before the bucket does not count
			step.Last.At = max(step.Last.At, start.UnixMilli())
		}
		run = step.Then(run)
	}
	if f.Kind == Counter {
		f.Increase, f.Resets = run.Increase.String(), run.Resets
		if ms := run.Last.At - from; ms > 0 {
			f.Rate = decimalsum.Mean(run.Increase.Times(decimalsum.Of(1000)), ms).String()
		}
		return
	}
	f.Lasted = make(map[string]float64)
	for _, l := range run.Until(end.UnixMilli()).Lasted {
		f.Lasted[l.Name] = float64(l.MS) / 1000
	}
}
