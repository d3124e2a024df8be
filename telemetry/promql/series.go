package promql

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// selectors limits how many selectors a request may have.
const selectors = 100

// each calls use for the querier of a fleet and the matchers of each selector; once without matchers if
// there is none. Errors: Error.
func (e *Engine) each(ctx context.Context, fleetID string, match []string, use func(*querier, []*labels.Matcher) error) error {
	if len(match) > selectors {
		return &Error{BadData, ErrTooMuch}
	}
	all := [][]*labels.Matcher{nil}
	if len(match) > 0 {
		var err error
		if all, err = parser.NewParser(parser.Options{}).ParseMetricSelectors(match); err != nil {
			return &Error{BadData, err}
		}
	}
	s := e.newStorage(ctx, fleetID)
	for _, matchers := range all {
		if err := use(&querier{storage: s}, matchers); err != nil {
			return &Error{s.kind(err), err}
		}
	}
	return nil
}

// Series lists the labels of the series that any of the selectors matches. Errors: Error.
func (e *Engine) Series(ctx context.Context, fleetID string, match []string) (all []labels.Labels, err error) {
	err = e.each(ctx, fleetID, match, func(q *querier, matchers []*labels.Matcher) error {
		found, err := q.selected(matchers)
		for i := range found {
			all = append(all, found[i].labels)
		}
		return err
	})
	slices.SortFunc(all, labels.Compare)
	return slices.CompactFunc(all, labels.Equal), err
}

// LabelNames lists the names of the labels of these series; without selectors, of all. Errors: Error.
func (e *Engine) LabelNames(ctx context.Context, fleetID string, match []string) (all []string, err error) {
	err = e.each(ctx, fleetID, match, func(q *querier, matchers []*labels.Matcher) error {
		found, _, err := q.LabelNames(ctx, nil, matchers...)
		all = append(all, found...)
		return err
	})
	slices.Sort(all)
	return slices.Compact(all), err
}

// LabelValues lists the values of a label of these series; without selectors, of all. Errors: Error.
func (e *Engine) LabelValues(ctx context.Context, fleetID, name string, match []string) (all []string, err error) {
	if strings.HasPrefix(name, "U__") { // how Prometheus' API names labels that are not letters and digits
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	err = e.each(ctx, fleetID, match, func(q *querier, matchers []*labels.Matcher) error {
		found, _, err := q.LabelValues(ctx, name, nil, matchers...)
		all = append(all, found...)
		return err
	})
	slices.Sort(all)
	return slices.Compact(all), err
}

// ParseDuration parses a duration of Prometheus' API: 1h30m, or seconds.
func ParseDuration(text string) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(seconds * float64(time.Second)), math.Abs(seconds) < 1e9
	}
	d, err := model.ParseDuration(text)
	return time.Duration(d), err == nil
}
