package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/onefold/onefold/analytics"

	"github.com/onefold/onefold/analytics/internal/meter"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/analytics/internal/vitals"
	"github.com/onefold/onefold/table"
)

// VitalsRequest selects the web vitals of a site. From and To are days in its zone, YYYY-MM-DD,
// both inclusive; at most ten years.
type VitalsRequest struct{ Site, From, To string }

// Vitals is the answer to a VitalsRequest. Its JSON form is part of the HTTP API.
type Vitals struct {
	Site     string      `json:"site"`
	From     string      `json:"from"`
	To       string      `json:"to"`
	TimeZone string      `json:"timezone"`
	Total    VitalsRow   `json:"total"`
	Pages    []VitalsRow `json:"pages"`   // by page loads; Other holds pages that did not fit
	Devices  []VitalsRow `json:"devices"` // by page loads; None holds loads of unknown device type
	Cost     Cost        `json:"-"`
}

// VitalsRow holds the web vitals of a page, a device type or a site. Metrics that were not measured
// are absent.
type VitalsRow struct {
	Value string `json:"value,omitempty"`
	Loads int64  `json:"loads"` // page loads with at least one measurement
	LCP   *Vital `json:"lcp,omitempty"`
	INP   *Vital `json:"inp,omitempty"`
	CLS   *Vital `json:"cls,omitempty"`
}

// Vital is one metric over many page loads.
type Vital struct {
	// P75 is the 75th percentile: milliseconds, or the layout shift. Its error is less than 5 %,
	// and it is always on the correct side of the thresholds.
	P75              float64 `json:"p75"`
	Rating           Rating  `json:"rating"`           // of P75
	Loads            int64   `json:"loads"`            // page loads that measured the metric
	Good             float64 `json:"good"`             // share of these loads, 0 to 1; exact
	NeedsImprovement float64 `json:"needsImprovement"` // share of these loads, 0 to 1; exact
	Poor             float64 `json:"poor"`             // share of these loads, 0 to 1; exact
}

// Rating is the rating of a value by web.dev.
type Rating string

// The ratings. Good is up to 2.5 s, 200 ms or 0.1; poor is above 4 s, 500 ms or 0.25.
const (
	Good             Rating = "good"
	NeedsImprovement Rating = "needs improvement"
	Poor             Rating = "poor"
)

// WebVitals reads only derived buckets, with the same queries as Make. Errors: ErrInvalid,
// ErrExpired, table.ErrNotFound for the site.
func WebVitals(ctx context.Context, t *table.Table, in VitalsRequest) (Vitals, error) {
	m := meter.New(t)
	r, err := newReporter(ctx, m.Table, Request{Site: in.Site, From: in.From, To: in.To, Period: analytics.Month})
	if err != nil {
		return Vitals{}, err
	}
	out := Vitals{Site: in.Site, From: in.From, To: in.To, TimeZone: r.site.TimeZone}
	if err := r.vitals(ctx, &out); err != nil {
		return Vitals{}, fmt.Errorf("analytics: web vitals of %s: %w", in.Site, err)
	}
	out.Cost = m.Cost()
	return out, nil
}

func (r *reporter) vitals(ctx context.Context, out *Vitals) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	if err := r.checkKept(); err != nil {
		return err
	}
	r.in.By = analytics.VitalsByDevice
	values, other, err := r.values(ctx)
	if err != nil {
		return err
	}
	out.Devices, out.Total = vitalsRows(values, other), vitalsRow("", values.Sum().Plus(other))
	r.in.By = analytics.VitalsByPage
	if values, other, err = r.values(ctx); err != nil {
		return err
	}
	out.Pages = vitalsRows(values, other)
	return nil
}

func vitalsRows(values tally.Values, other tally.Count) []VitalsRow {
	rows := make([]VitalsRow, 0, len(values)+1)
	for v, c := range values {
		if c.Vitals != "" {
			rows = append(rows, vitalsRow(v, c))
		}
	}
	if other.Vitals != "" {
		rows = append(rows, vitalsRow(analytics.Other, other))
	}
	slices.SortFunc(rows, func(a, b VitalsRow) int {
		return cmp.Or(cmp.Compare(b.Loads, a.Loads), cmp.Compare(a.Value, b.Value))
	})
	return rows
}

func vitalsRow(value string, c tally.Count) VitalsRow {
	return VitalsRow{
		Value: value, Loads: c.Events,
		LCP: vitalOf(c.Vitals, vitals.LCP, 1), INP: vitalOf(c.Vitals, vitals.INP, 1), CLS: vitalOf(c.Vitals, vitals.CLS, 1000),
	}
}

// vitalOf summarizes a metric, with its percentile rounded to 1/parts; nil if it was not measured.
func vitalOf(h vitals.Histograms, m vitals.Metric, parts float64) *Vital {
	s := h.Summary(m)
	if s.Count <= 0 {
		return nil
	}
	n := float64(s.Count)
	v := &Vital{
		P75: math.Round(s.P75*parts) / parts, Rating: Poor, Loads: s.Count,
		Good: float64(s.Good) / n, NeedsImprovement: float64(s.NeedsImprovement) / n, Poor: float64(s.Poor) / n,
	}
	switch scale := m.Scale(); {
	case s.P75 <= scale.Good:
		v.Rating = Good
	case s.P75 <= scale.Poor:
		v.Rating = NeedsImprovement
	}
	return v
}
