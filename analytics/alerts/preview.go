package alerts

import (
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// MaxPreview is the maximum number of days of a preview.
const MaxPreview = 30

// Previewed is what a rule would have done.
type Previewed struct {
	From   time.Time `json:"from" doc:"Start of the first hour."`
	To     time.Time `json:"to" doc:"End of the last hour."`
	Hours  int       `json:"hours" doc:"Hours that were judged."`
	Unsure int       `json:"unjudged" doc:"Hours with too little to judge: fewer than four weeks before, or too small numbers. A web vital is judged once a day."`
	Alerts []Alert   `json:"alerts" doc:"Alerts that it would have sent, the earliest first. They have no cause."`
}

// Preview returns what a rule would have done in the last 1 to 30 days, with the counts as they are now:
// events that arrived late are included. It stores nothing. Errors: ErrRule, table.ErrNotFound for an
// unknown site.
func Preview(ctx context.Context, t *table.Table, r Rule, days int) (out Previewed, err error) {
	if days < 1 || days > MaxPreview {
		return out, wrong("days", "use 1 to %d", MaxPreview)
	}
	if r.RuleID == "" {
		r.RuleID = "preview"
	}
	if err = r.check(); err != nil {
		return out, err
	}
	site, err := analytics.GetSite(ctx, t, r.SiteID)
	if err != nil {
		return out, err
	}
	if err = r.checkReferences(ctx, t); err != nil {
		return out, err
	}
	zone, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return out, fmt.Errorf("alerts: preview for %s: %w", r.SiteID, err)
	}
	hours := hoursUntil(zone, startOfHour(zone, t.Now().AddDate(0, 0, -days)), t.Now().Add(-grace))
	j, err := (&evaluation{t: t}).judge(ctx, &site, zone, &r, hours)
	if err != nil {
		return out, fmt.Errorf("alerts: preview for %s: %w", r.SiteID, err)
	}
	out.run(&r, j, hours)
	return out, nil
}

// run judges hours with a rule that has no state yet.
func (out *Previewed) run(r *Rule, j *judge, hours []hour) {
	r.State, out.Alerts = State{}, []Alert{}
	s := r.full()
	for _, h := range hours {
		if g := kindOf(s.Kind).judge(j, &s, h); g.Judged {
			out.Hours++
		} else {
			out.Unsure++
		}
		for _, a := range r.step(j, []hour{h}) {
			if n := len(out.Alerts); n > 0 && out.Alerts[n-1].AlertID == a.AlertID {
				fired := &out.Alerts[n-1]
				fired.Status, fired.EndedAt = a.Status, a.EndedAt
				continue
			}
			out.Alerts = append(out.Alerts, a)
		}
	}
	out.From, out.To = hours[0].start.UTC(), hours[len(hours)-1].end.UTC()
}
