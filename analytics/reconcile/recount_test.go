package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
)

// recount is a simple count of raw events: it sorts them, splits them into visits, and adds up. It
// shares no code with the folds.
type recount struct {
	hours  map[string]*report.Figures // by start; Visitors are active ones
	days   map[string]*report.Figures
	total  report.Figures
	visits []recountedVisit
	events []analytics.Event
}

type recountedVisit struct {
	events []analytics.Event
	hour   string
}

// recount reads all raw events of the site between two days.
func (w *shop) recount(from, to string) *recount {
	w.Helper()
	zone, err := time.LoadLocation(w.site.TimeZone)
	w.must(err)
	start, err := w.cal.Start(from)
	w.must(err)
	end, err := w.cal.Start(calendar.ShiftDay(to, 1))
	w.must(err)
	events, err := analytics.EventsBetween(&w.site, start, end, "").Collect(context.Background(), w.table)
	w.must(err)
	r := &recount{hours: make(map[string]*report.Figures), days: make(map[string]*report.Figures), events: events}
	byDay := make(map[string][]analytics.Event)
	for _, e := range events {
		key := dayText(zone, e) + " " + e.VisitorID
		if measurement(e) {
			continue
		}
		byDay[key] = append(byDay[key], e)
	}
	active := make(map[string]map[string]bool)
	for _, e := range events {
		h := hourText(zone, e)
		r.count(zone, e, func(f *report.Figures) {
			switch e.Name {
			case analytics.VitalsEvent:
			case analytics.EngagementEvent:
				f.EngagedSeconds += float64(e.EngagedMS) / 1000
			case "":
				f.PageViews++
			default:
				f.Events++
			}
		})
		if measurement(e) {
			continue
		}
		if active[h] == nil {
			active[h] = make(map[string]bool)
		}
		active[h][dayText(zone, e)+e.VisitorID] = true
	}
	for h, who := range active {
		r.hours[h].Visitors = int64(len(who))
	}
	for _, key := range slices.Sorted(maps.Keys(byDay)) {
		mine := byDay[key]
		r.days[dayText(zone, mine[0])].Visitors++
		r.total.Visitors++
		r.cut(zone, mine)
	}
	return r
}

// cut splits a visitor's day, in order, at gaps of half an hour.
func (r *recount) cut(zone *time.Location, events []analytics.Event) {
	for len(events) > 0 {
		n := 1
		for n < len(events) && timeOf(events[n]).Sub(timeOf(events[n-1])) < 30*time.Minute {
			n++
		}
		visit := recountedVisit{events[:n], hourText(zone, events[0])}
		views := 0
		for _, e := range visit.events {
			if e.Name == "" {
				views++
			}
		}
		r.count(zone, events[0], func(f *report.Figures) {
			f.Visits++
			f.Seconds += int64(timeOf(visit.events[n-1]).Sub(timeOf(events[0])) / time.Second)
			if n == 1 && views == 1 {
				f.Bounces++
			}
			f.Conversions += int64(len(visit.orders())) + int64(len(visit.pages()))
		})
		r.visits = append(r.visits, visit)
		events = events[n:]
	}
}

// orders returns the visit's conversions of the goal that counts each time.
func (v *recountedVisit) orders() []analytics.Event {
	return slices.DeleteFunc(slices.Clone(v.events), func(e analytics.Event) bool { return e.Name != "order" })
}

// pages returns the visit's conversion of the goal that counts once per visit, if there is one.
func (v *recountedVisit) pages() []analytics.Event {
	seen := slices.DeleteFunc(slices.Clone(v.events), func(e analytics.Event) bool { return e.Name != "" || e.Path != "/page/1" && e.Path != "/page/2" })
	return seen[:min(len(seen), 1)]
}

func (r *recount) count(zone *time.Location, e analytics.Event, add func(*report.Figures)) {
	h, d := hourText(zone, e), dayText(zone, e)
	if r.hours[h] == nil {
		r.hours[h] = new(report.Figures)
	}
	if r.days[d] == nil {
		r.days[d] = new(report.Figures)
	}
	add(r.hours[h])
	add(r.days[d])
	add(&r.total)
}

// top counts by page, or by a property of the visit's first event.
func (r *recount) top(by analytics.Dimension) map[string]tally.Count {
	out := make(map[string]tally.Count)
	add := func(value string, c tally.Count) {
		if value == "" {
			value = analytics.None
		}
		out[value] = out[value].Plus(c)
	}
	for _, v := range r.visits {
		first := v.events[0]
		value := map[analytics.Dimension]string{analytics.ByCountry: first.Country, analytics.ByBrowser: first.Browser, analytics.BySource: first.Source.Name, analytics.ByChannel: first.Channel}[by]
		if by == analytics.ByGoal {
			if n := len(v.orders()); n > 0 {
				add("order", tally.Count{Events: int64(n), Visits: 1})
			}
			if len(v.pages()) > 0 {
				add("page", tally.Count{Events: 1, Visits: 1})
			}
			continue
		}
		pages := make(map[string]bool)
		for _, e := range v.events {
			switch {
			case by == analytics.ByPage && e.Name == "":
				add(e.Path, tally.Count{PageViews: 1})
				pages[e.Path] = true
			case by == analytics.ByEventName && e.Name != "":
				add(e.Name, tally.Count{Events: 1})
			case by != analytics.ByPage && by != analytics.ByEventName && e.Name == "":
				add(value, tally.Count{PageViews: 1})
			}
		}
		for p := range pages {
			add(p, tally.Count{Visits: 1})
		}
		if by != analytics.ByPage && by != analytics.ByEventName {
			add(value, tally.Count{Visits: 1})
		}
	}
	return out
}

func measurement(e analytics.Event) bool {
	return e.Name == analytics.EngagementEvent || e.Name == analytics.VitalsEvent
}

func timeOf(e analytics.Event) time.Time {
	return ulid.MustParse(e.EventID).Timestamp().UTC()
}

func dayText(zone *time.Location, e analytics.Event) string {
	return timeOf(e).In(zone).Format("2006-01-02")
}

// hourText truncates the local time to the hour and writes it in UTC.
func hourText(zone *time.Location, e analytics.Event) string {
	local := timeOf(e).In(zone)
	into := time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second + time.Duration(local.Nanosecond())
	return local.Add(-into).UTC().Format("2006-01-02T15:04:05Z")
}
