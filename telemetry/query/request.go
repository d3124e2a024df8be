// Package query computes figures of one metric over many devices: by steps of time, grouped by what
// the devices have in common. Each figure equals the one that all raw readings of the step give.
// Hours that lie within a step are answered from their aggregates, if these are exact, and the rest
// from readings.
package query

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/metric"
)

// Function is what is computed of the values of a group in a step.
type Function string

// The functions. Percentiles, p1 to p99.9, are the least value that so many percent of the values do
// not exceed.
const (
	Average   Function = "avg"
	Minimum   Function = "min"
	Maximum   Function = "max"
	Sum       Function = "sum"
	Deviation Function = "stddev" // of the population
	Count     Function = "count"  // of numbers and states
	First     Function = "first"  // number or state
	Last      Function = "last"   // number or state

	// Increase is how much the numbers of each device grew, as those of a counter: from the last
	// reading before the step, at most a day before the range, or else from the first in the step. A
	// number below the previous one is a reset and counts as a whole. A group has the sum of its
	// devices.
	Increase Function = "increase"
	Rate     Function = "rate" // increase divided by the seconds of the step, until now

	// Derivative is the change per second between the last reading before the step and the last in it,
	// averaged over the devices of a group.
	Derivative Function = "derivative"

	// Durations is how many seconds each state lasted, until the next reading or now. A group has the
	// sum of its devices. Of a device with more than 31 states, the rest is called (other).
	Durations Function = "durations"
)

// functions lists the functions except percentiles.
var functions = []Function{Average, Minimum, Maximum, Sum, Deviation, Count, First, Last, Increase, Rate, Derivative, Durations}

// percent returns the percentage of a percentile, or 0.
func (f Function) percent() float64 {
	text, ok := strings.CutPrefix(string(f), "p")
	if !ok || len(text) > 6 || strings.Trim(text, "0123456789.") != "" {
		return 0
	}
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || p <= 0 || p > 100 {
		return 0
	}
	return p
}

// continues reports whether a figure depends on what was before the step.
func (f Function) continues() bool {
	return f == Increase || f == Rate || f == Derivative || f == Durations
}

// GroupBy is what the devices of a group have in common.
type GroupBy string

// The groupings. A device is in the group of each of its tags, and in the group "" without any.
const (
	ByNothing GroupBy = ""
	ByDevice  GroupBy = "device"
	ByTag     GroupBy = "tag"
	ByProfile GroupBy = "profile"
	ByType    GroupBy = "type"
)

// Source is what a query reads.
type Source string

// The sources. Aggregates follow readings after the delay of folds (--fold-delay), and retractions
// when these are applied; readings are never late.
const (
	Automatic   Source = ""         // aggregates where they are exact, otherwise readings
	RawReadings Source = "readings" // readings only
)

// The calendar steps. All other steps are durations, such as 15m.
const (
	StepHour = "hour" // of the fleet's time zone
	StepDay  = "day"
	StepAll  = "all" // the range is one step
)

// Request is a query. Steps begin at From; the first and the last hour or day may be cut.
type Request struct {
	FleetID  string
	Metric   string // with its labels, as in cpu.idle{cpu=cpu0}
	Function Function
	From, To time.Time
	Step     string
	GroupBy  GroupBy
	Devices  []string // IDs; empty: all that have Tag and Profile
	Tag      string   // "": any
	Profile  string   // "": any
	Source   Source
}

// Limits of a query. A test may lower them.
type limits struct {
	devices, steps, rows, aggregates, readings int
}

var defaultLimits = limits{devices: 10_000, steps: 11_000, rows: 100_000, aggregates: 2_000_000, readings: 5_000_000}

// Errors of a query. Messages say how to narrow it.
var (
	ErrInvalid = errors.New("query: invalid")
	// ErrTooMuch is returned for a query that would read or return too much.
	ErrTooMuch = errors.New("query: too much")
	// ErrExpired is returned if a figure needs readings that are no longer kept.
	ErrExpired = errors.New("query: expired")
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

func tooMuch(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrTooMuch}, args...)...)
}

const maxRange = 50 * 366 * 24 * time.Hour

func (in *Request) check() error {
	switch {
	case !metric.Valid(in.Metric):
		return invalid("metric %.64q: name a metric, with its labels if it has any", in.Metric)
	case !slices.Contains(functions, in.Function) && in.Function.percent() == 0:
		return invalid("function %.32q: use a percentile such as p95, or one of %s", in.Function, list(functions))
	case !in.From.Before(in.To) || in.To.Sub(in.From) > maxRange:
		return invalid("from %s to %s: the range must be positive and at most 50 years", in.From.Format(time.RFC3339), in.To.Format(time.RFC3339))
	case !slices.Contains([]GroupBy{ByNothing, ByDevice, ByTag, ByProfile, ByType}, in.GroupBy):
		return invalid("groupBy %.32q: use device, tag, profile or type", in.GroupBy)
	case in.Source != Automatic && in.Source != RawReadings:
		return invalid("source %.32q: use readings, or none", in.Source)
	}
	return nil
}

func list[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = string(one)
	}
	return strings.Join(texts, ", ")
}

// width returns the length of a step that is a duration, in whole seconds, or 0 for the others.
func width(step string) (time.Duration, error) {
	if step == StepHour || step == StepDay || step == StepAll {
		return 0, nil
	}
	d, err := time.ParseDuration(step)
	if err != nil || d < time.Second || d%time.Second != 0 {
		return 0, invalid("step %.32q: use hour, day, all, or a duration of whole seconds such as 15m", step)
	}
	return d, nil
}

// span is a half-open range of time.
type span struct{ from, to time.Time }

// steps divides the range.
func (in *Request) steps(zone calendar.Zone, most int) (all []span, err error) {
	each, err := width(in.Step)
	if err != nil {
		return nil, err
	}
	for at := in.From; at.Before(in.To); at = all[len(all)-1].to {
		if len(all) == most {
			return nil, tooMuch("more than %d steps: use a longer step or a shorter range", most)
		}
		end := in.To
		switch in.Step {
		case StepHour:
			_, end = zone.HourBounds(at)
		case StepDay:
			_, end, err = zone.Bounds(zone.Day(at))
		case StepAll:
		default:
			end = at.Add(each)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, span{at, earlier(end, in.To)})
	}
	return all, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Row is a figure of a group in a step. Steps without values have none.
type Row struct {
	Group string          `json:"group"`           // ID or name; "" if not grouped
	At    time.Time       `json:"at"`              // start of the step
	State string          `json:"state,omitempty"` // of durations
	Value telemetry.Value `json:"value"`           // exact, except that means, deviations and quotients have 20 digits
}

// Result holds the rows of a query, by group, time and state, and what was read for them.
type Result struct {
	Rows       []Row `json:"rows"`
	Devices    int   `json:"devices"`    // devices that were asked for
	Aggregates int   `json:"aggregates"` // hourly aggregates read
	Readings   int   `json:"readings"`   // raw readings read
}
