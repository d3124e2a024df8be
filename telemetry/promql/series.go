package promql

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// selectors limits how many selectors a request may have.
const selectors = 100

// ask calls use with the series of a fleet and selectors, in a slot and the time of a query. Without
// selectors, all series match. Errors: Error.
func (e *Engine) ask(ctx context.Context, fleetID string, match []string, use func(s *storage, either [][]*labels.Matcher) error) error {
	if len(match) > selectors {
		return &Error{BadData, ErrTooMuch}
	}
	if err := checkPatterns(match...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	s := e.newStorage(ctx, fleetID)
	slot, err := e.slots.Insert(ctx, "")
	if err != nil {
		return &Error{s.kind(err), err}
	}
	defer e.slots.Delete(slot)
	all := [][]*labels.Matcher{nil}
	if len(match) > 0 {
		if all, err = parser.NewParser(parser.Options{}).ParseMetricSelectors(match); err != nil {
			return &Error{BadData, err}
		}
	}
	if err := use(s, all); err != nil {
		return &Error{s.kind(err), err}
	}
	return nil
}

// Series lists the labels of the series that any of the selectors matches. Errors: Error.
func (e *Engine) Series(ctx context.Context, fleetID string, match []string) (all []labels.Labels, err error) {
	err = e.ask(ctx, fleetID, match, func(s *storage, either [][]*labels.Matcher) error {
		found, err := s.selected(either...)
		for i := range found {
			all = append(all, found[i].labels)
		}
		return err
	})
	return all, err
}

// LabelNames lists the names of the labels of these series; without selectors, of all. Errors: Error.
func (e *Engine) LabelNames(ctx context.Context, fleetID string, match []string) (all []string, err error) {
	err = e.ask(ctx, fleetID, match, func(s *storage, either [][]*labels.Matcher) (err error) {
		all, err = s.names(either...)
		return err
	})
	return all, err
}

// LabelValues lists the values of a label of these series; without selectors, of all. Errors: Error.
func (e *Engine) LabelValues(ctx context.Context, fleetID, name string, match []string) (all []string, err error) {
	if strings.HasPrefix(name, "U__") { // how Prometheus' API names labels that are not letters and digits
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	err = e.ask(ctx, fleetID, match, func(s *storage, either [][]*labels.Matcher) (err error) {
		all, err = s.values(name, either...)
		return err
	})
	return all, err
}

// ParseDuration parses a duration of Prometheus' API: 1h30m, or seconds.
func ParseDuration(text string) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(seconds * float64(time.Second)), math.Abs(seconds) < 1e9
	}
	d, err := model.ParseDuration(text)
	return time.Duration(d), err == nil
}
