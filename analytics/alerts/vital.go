package alerts

import (
	"context"
	"errors"
	"math"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// vitalDays is the number of days with which a web vital is compared.
const vitalDays = 28

func vitalOf(r *report.VitalsRow, name string) *report.Vital {
	switch name {
	case "lcp":
		return r.LCP
	case "inp":
		return r.INP
	}
	return r.CLS
}

// vitalOf compares a web vital of a day with its limit, or with the four weeks before. A day that is no
// longer kept is not judged.
func (j *judge) vitalOf(ctx context.Context, t *table.Table, s *Settings, day string) (g Judgement, err error) {
	after, err := report.WebVitals(ctx, t, report.VitalsRequest{Site: j.site.SiteID, From: day, To: day})
	if errors.Is(err, report.ErrExpired) {
		return g, nil
	}
	if err != nil {
		return g, err
	}
	now := vitalOf(&after.Total, s.Vital)
	if now == nil || now.Loads < s.AtLeast {
		return g, nil
	}
	before, err := report.WebVitals(ctx, t, report.VitalsRequest{Site: j.site.SiteID, From: calendar.ShiftDay(day, -vitalDays), To: calendar.ShiftDay(day, -1)})
	if err != nil && !errors.Is(err, report.ErrExpired) {
		return g, err
	}
	usual := vitalOf(&before.Total, s.Vital)
	g = Judgement{Count: now.P75, Page: worstPage(&before, &after, s.Vital)}
	switch {
	case s.Limit > 0:
		g.Judged, g.Usual, g.Value = true, s.Limit, now.P75
	case usual != nil && usual.Loads >= s.AtLeast && usual.P75 > 0:
		g.Judged, g.Usual, g.Value = true, usual.P75, now.P75/usual.P75
	}
	return g, nil
}

// worstPage returns the page with most of the loads that are not good, beyond what its share of the time
// before lets expect, or "".
func worstPage(before, after *report.Vitals, name string) (page string) {
	usual := map[string]float64{}
	for i := range before.Pages {
		if v := vitalOf(&before.Pages[i], name); v != nil {
			usual[before.Pages[i].Value] = 1 - v.Good
		}
	}
	most := 0.0
	for i := range after.Pages {
		r := &after.Pages[i]
		v := vitalOf(r, name)
		if v == nil || r.Value == analytics.Other || r.Value == analytics.None {
			continue
		}
		if more := math.Round(float64(v.Loads) * (1 - v.Good - usual[r.Value])); more > most {
			most, page = more, r.Value
		}
	}
	return page
}
