package alerts

import (
	"context"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/contribution"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/analytics/wording"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// explain names what made the change of alerts that fire. Silence has no cause: everything is missing. A
// web vital has a page.
func explain(ctx context.Context, t *table.Table, j *judge, r *Rule) error {
	for i := range r.Untold {
		a := &r.Untold[i]
		if a.Status != Firing || a.Kind == Silence || a.Kind == Vital {
			continue
		}
		var err error
		if a.Cause, err = j.cause(ctx, t, r, a); err != nil {
			return err
		}
		if r.State.Alert != nil && r.State.Alert.AlertID == a.AlertID {
			r.State.Alert.Cause = a.Cause
		}
	}
	return nil
}

// cause divides the change of visits between the hours of an alert and those that it is compared with.
func (j *judge) cause(ctx context.Context, t *table.Table, r *Rule, a *Alert) (*wording.Cause, error) {
	before, err := time.Parse(calendar.HourLayout, a.ComparedWith)
	if err != nil {
		return nil, nil // the weeks before are unknown
	}
	hours := 1
	if a.Kind == Goal {
		s := r.full()
		hours = s.Hours
	}
	now := hour{a.FiredAt.Add(-time.Hour), a.FiredAt}.window(j.zone, hours)
	var by []analytics.Dimension
	for _, d := range j.site.Dimensions() {
		if contribution.Visits.Divides(d) {
			by = append(by, d)
		}
	}
	was, err := j.side(ctx, t, hour{before, before.Add(now.end.Sub(now.start))}, by)
	if err != nil {
		return nil, err
	}
	is, err := j.side(ctx, t, now, by)
	if err != nil {
		return nil, err
	}
	return wording.CauseOf(was, is, by), nil
}

func (j *judge) side(ctx context.Context, t *table.Table, h hour, by []analytics.Dimension) (*contribution.Side, error) {
	figures, rows, err := report.Hours(ctx, t, j.site, h.start.UTC().Format(calendar.HourLayout), h.end.UTC().Format(calendar.HourLayout), by)
	return &contribution.Side{Totals: figures, Rows: rows}, err
}
