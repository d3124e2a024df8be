package alerts

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// The usual number is the median of the same weekday and hour of the weeks before.
const (
	mostWeeks  = 8
	leastWeeks = 4
)

// Judgement is what an hour looks like to a rule.
type Judgement struct {
	Judged bool    `dynamodbav:"-" json:"-"` // false: there is too little to judge, or the hour decides nothing
	Value  float64 `dynamodbav:"-" json:"-"` // what is compared with the levels
	Count  float64 `dynamodbav:"count" json:"count" doc:"The number: visitors, page views and events, conversions, or a 75th percentile."`
	Usual  float64 `dynamodbav:"usual" json:"usual" doc:"The usual number: the median of the weeks before, for a vital that of the four weeks before, or the limit."`
	// ComparedWith is the start of the hours whose number is nearest to the usual one.
	ComparedWith string `dynamodbav:"comparedWith,omitempty" json:"comparedWith,omitempty" doc:"Start of the hours whose number is nearest to the usual one, for the cause."`
	Page         string `dynamodbav:"page,omitempty" json:"page,omitempty" doc:"Vital: the page with most of the additional loads that are not good."`
}

// judge has the statistics that judging hours needs.
type judge struct {
	site  *analytics.Site
	zone  calendar.Zone
	weeks int
	hours map[string]report.Figures
	first time.Time            // start of the first hour with data; zero: there is none
	goals map[string]int64     // conversions of the rule's goal, by hour
	known []goals.Goal         // of the site, for their names
	loads map[string]Judgement // of the rule's vital, by day
}

func visitors(f report.Figures) int64 { return f.Visitors }
func actions(f report.Figures) int64  { return f.PageViews + f.Events }

// loadHours reads the statistics of the hours from some to be judged until now, and of the weeks before,
// as far as hours are kept.
func loadHours(ctx context.Context, t *table.Table, site *analytics.Site, zone calendar.Zone, from, until time.Time) (*judge, error) {
	kept := int(site.Retention.Of(analytics.Hour)/(24*time.Hour)) - int(t.Now().Sub(from)/(24*time.Hour)) - 2
	j := &judge{site: site, zone: zone, weeks: min(mostWeeks, max(kept/7, 0)), hours: map[string]report.Figures{}}
	first := calendar.ShiftDay(zone.Day(from), -7*j.weeks-maxHours/24)
	if oldest := calendar.ShiftDay(zone.Day(t.Now()), 2-int(site.Retention.Of(analytics.Hour)/(24*time.Hour))); first < oldest {
		first = oldest
	}
	r, err := report.Statistics(ctx, t, report.Request{Site: site.SiteID, From: first, To: zone.Day(until), Period: analytics.Hour})
	if err != nil {
		return nil, err
	}
	for _, b := range r.Buckets {
		j.hours[b.Start] = b.Figures
		if j.first.IsZero() && actions(b.Figures) > 0 {
			if j.first, err = time.Parse(calendar.HourLayout, b.Start); err != nil {
				return nil, err
			}
		}
	}
	return j, nil
}

// loadFor reads what a rule needs besides, for some hours.
func (j *judge) loadFor(ctx context.Context, t *table.Table, s *Settings, hours []hour) (err error) {
	switch s.Kind {
	case Goal:
		if j.first.IsZero() {
			return nil
		}
		if j.known, err = goals.List(ctx, t, j.site.SiteID); err != nil {
			return err
		}
		j.goals, err = report.EventsByHour(ctx, t, j.site, analytics.ByGoal, s.Goal, j.first.Format(calendar.HourLayout), hours[len(hours)-1].end.UTC().Format(calendar.HourLayout))
	case Vital:
		j.loads = map[string]Judgement{}
		for _, h := range hours {
			if day, ended := j.ended(h); ended {
				if j.loads[day], err = j.vitalOf(ctx, t, s, day); err != nil {
					return err
				}
			}
		}
	}
	return err
}

// sum adds up the hours of a window.
func (j *judge) sum(h hour, of func(name string) int64) (n int64) {
	for start := h.start; start.Before(h.end); start = nextHour(j.zone, start) {
		n += of(j.zone.Hour(start))
	}
	return n
}

func (j *judge) by(figure func(report.Figures) int64) func(name string) int64 {
	return func(name string) int64 { return figure(j.hours[name]) }
}

// usual returns the median number of the same hours of the weeks before, and the hours that are nearest
// to it, the latest of them. ok is false if there are fewer than four weeks with data.
func (j *judge) usual(h hour, hours int, of func(name string) int64) (median float64, nearest hour, ok bool) {
	type week struct {
		hour
		n int64
	}
	var all []week
	for k := 1; k <= j.weeks; k++ {
		if w := h.weeksBefore(j.zone, k).window(j.zone, hours); !j.first.IsZero() && !w.start.Before(j.first) {
			all = append(all, week{w, j.sum(w, of)})
		}
	}
	if len(all) < leastWeeks {
		return 0, hour{}, false
	}
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b week) int { return cmp.Compare(a.n, b.n) })
	median = float64(sorted[(len(sorted)-1)/2].n+sorted[len(sorted)/2].n) / 2
	away := func(w week) float64 { return math.Abs(float64(w.n) - median) }
	return median, slices.MinFunc(all, func(a, b week) int { return cmp.Compare(away(a), away(b)) }).hour, true
}

// compared returns the number of an hour with the usual one, not yet judged.
func (j *judge) compared(h hour, hours int, of func(name string) int64) (g Judgement, ok bool) {
	g.Count = float64(j.sum(h.window(j.zone, hours), of))
	usual, nearest, ok := j.usual(h, hours, of)
	if ok {
		g.Usual, g.ComparedWith = usual, nearest.name(j.zone)
	}
	return g, ok
}

func (j *judge) spike(s *Settings, h hour) Judgement {
	g, ok := j.compared(h, 1, j.by(visitors))
	if g.Judged = ok; ok && g.Count >= float64(s.AtLeast) {
		g.Value = g.Count / max(g.Usual, 1)
	}
	return g
}

func (j *judge) drop(s *Settings, h hour) Judgement {
	g, ok := j.compared(h, 1, j.by(visitors))
	if g.Judged = ok && g.Usual >= float64(s.AtLeast); g.Judged {
		g.Value = g.Count / g.Usual
	}
	return g
}

func (j *judge) silence(s *Settings, h hour) Judgement { return j.none(s, h, j.by(actions)) }

func (j *judge) goal(s *Settings, h hour) Judgement {
	if !slices.ContainsFunc(j.known, func(g goals.Goal) bool { return g.GoalID == s.Goal }) {
		return Judgement{} // deleted: there are no conversions any more
	}
	return j.none(s, h, func(name string) int64 { return j.goals[name] })
}

// none judges whether there is nothing where something is usual. Any number shows that there is
// something, whatever is usual.
func (j *judge) none(s *Settings, h hour, of func(name string) int64) Judgement {
	g, ok := j.compared(h, s.Hours, of)
	switch {
	case g.Count > 0:
		g.Judged = true
	case ok && g.Usual >= float64(s.AtLeast):
		g.Judged, g.Value = true, 1
	}
	return g
}

// vital judges a day in the first hour after it.
func (j *judge) vital(_ *Settings, h hour) Judgement {
	if day, ended := j.ended(h); ended {
		return j.loads[day]
	}
	return Judgement{}
}

// ended returns the day that ended before an hour, if it is the first of the next day.
func (j *judge) ended(h hour) (day string, ended bool) {
	day = j.zone.Day(h.start.Add(-time.Minute))
	return day, day != j.zone.Day(h.start)
}
