package explore

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
)

// oracle computes what the raw events of a range mean, in the simplest way and without using the
// other code. It splits a visitor's day at gaps of half an hour. Each session ID of the sender is
// one visit.
type oracle struct {
	zone   *time.Location
	visits []oracleVisit
}

type oracleVisit struct {
	visitor string // visitor and day
	day     string
	events  []analytics.Event
}

func (w *shop) oracle(from, to string) *oracle {
	w.Helper()
	o := &oracle{}
	var err error
	o.zone, err = time.LoadLocation(w.site.TimeZone)
	w.must(err)
	start, err := w.cal.Start(from)
	w.must(err)
	end, err := w.cal.Start(calendar.ShiftDay(to, 1))
	w.must(err)
	events, err := analytics.EventsBetween(&w.site, start, end, "").Collect(w.ctx, w.table)
	w.must(err)
	byVisitor := map[string][]analytics.Event{}
	for _, e := range events {
		if e.Name == analytics.EngagementEvent {
			continue
		}
		k := o.day(e) + " " + e.VisitorID + " " + e.SessionID
		byVisitor[k] = append(byVisitor[k], e)
	}
	for _, k := range slices.Sorted(maps.Keys(byVisitor)) {
		o.cut(byVisitor[k])
	}
	return o
}

func (o *oracle) cut(events []analytics.Event) {
	for len(events) > 0 {
		n := 1
		for n < len(events) && (events[0].SessionID != "" || at(events[n]).Sub(at(events[n-1])) < 30*time.Minute) {
			n++
		}
		o.visits = append(o.visits, oracleVisit{o.day(events[0]) + events[0].VisitorID, o.day(events[0]), events[:n]})
		events = events[n:]
	}
}

func at(e analytics.Event) time.Time {
	return ulid.Time(ulid.MustParseStrict(e.EventID).Time()).UTC()
}

func (o *oracle) day(e analytics.Event) string { return at(e).In(o.zone).Format("2006-01-02") }

// hour truncates the local time to the hour and returns it in UTC.
func (o *oracle) hour(e analytics.Event) string {
	local := at(e).In(o.zone)
	into := time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second + time.Duration(local.Nanosecond())
	return local.Add(-into).UTC().Format("2006-01-02T15:04:05Z")
}

// values returns a visit's values of a dimension.
func (v *oracleVisit) values(by analytics.Dimension) (values []string) {
	add := func(s string) {
		if s != "" {
			values = append(values, s)
		}
	}
	first := v.events[0]
	name, property := strings.CutPrefix(string(by), "prop:")
	for _, e := range v.events {
		switch {
		case property:
			add(e.Properties[name])
		case by == analytics.ByPage && e.Name == "":
			add(e.Path)
		case by == analytics.ByEventName:
			add(e.Name)
		case by == analytics.ByGoal && e.Name == "" && strings.HasPrefix(e.Path, "/blog/"):
			add("blog")
		case by == analytics.ByGoal && e.Name == "order":
			add("buy")
		}
	}
	views := slices.DeleteFunc(slices.Clone(v.events), func(e analytics.Event) bool { return e.Name != "" })
	switch {
	case by == analytics.ByCountry:
		add(first.Country)
	case by == analytics.ByBrowser:
		add(first.Browser)
	case by == analytics.ByHostname:
		add(first.Host)
	case by == analytics.BySource:
		add(first.Source.Name)
	case by == analytics.ByEntryPage && len(views) > 0:
		add(views[0].Path)
	case by == analytics.ByExitPage && len(views) > 0:
		add(views[len(views)-1].Path)
	}
	if len(values) == 0 {
		values = []string{"(none)"}
	}
	return values
}

// selects reports whether a filter selects a visit.
func (v *oracleVisit) selects(f Filter) bool {
	found := slices.ContainsFunc(v.values(f.Dimension), func(value string) bool {
		return slices.ContainsFunc(f.Values, func(want string) bool {
			switch f.Op {
			case Is, IsNot:
				return value == want
			case Contains, ContainsNot:
				return value != "(none)" && strings.Contains(strings.ToLower(value), strings.ToLower(want))
			case Matches: // the tests only draw patterns with one * or ** at the end
				if value == "(none)" || !strings.HasSuffix(want, "*") {
					return value != "(none)" && value == want
				}
				rest, ok := strings.CutPrefix(value, strings.TrimRight(want, "*"))
				return ok && (strings.HasSuffix(want, "**") || !strings.Contains(rest, "/"))
			}
			return false
		})
	})
	return found != strings.HasSuffix(string(f.Op), "_not")
}

func (o *oracle) filtered(filters []Filter) *oracle {
	out := &oracle{zone: o.zone}
	for _, v := range o.visits {
		if !slices.ContainsFunc(filters, func(f Filter) bool { return !v.selects(f) }) {
			out.visits = append(out.visits, v)
		}
	}
	return out
}

// conversions counts visits that viewed the blog, and orders.
func (o *oracle) conversions() (n int64) {
	for _, v := range o.visits {
		if slices.Contains(v.values(analytics.ByGoal), "blog") {
			n++
		}
		for _, e := range v.events {
			if e.Name == "order" {
				n++
			}
		}
	}
	return n
}

// oracleFigures are figures that keep their visitors as a set.
type oracleFigures struct {
	report.Figures
	who     map[string]bool
	revenue *big.Rat
}

// figures groups visits and events by bucket and counts them.
func (o *oracle) figures(bucket func(v *oracleVisit, e analytics.Event) string) map[string]*oracleFigures {
	all := map[string]*oracleFigures{}
	of := func(k string) *oracleFigures {
		if all[k] == nil {
			all[k] = &oracleFigures{who: map[string]bool{}, revenue: new(big.Rat)}
		}
		return all[k]
	}
	for i := range o.visits {
		v := &o.visits[i]
		f := of(bucket(v, v.events[0]))
		f.Visits++
		last := v.events[len(v.events)-1]
		f.Seconds += int64(at(last).Sub(at(v.events[0])) / time.Second)
		if len(v.events) == 1 && v.events[0].Name == "" {
			f.Bounces++
		}
		for _, e := range v.events {
			f := of(bucket(v, e))
			f.who[v.visitor] = true
			if e.Name == "" {
				f.PageViews++
			} else {
				f.Events++
			}
			amount, _ := new(big.Rat).SetString(cmp.Or(e.Revenue, "0"))
			f.revenue.Add(f.revenue, amount)
		}
	}
	for _, f := range all {
		f.Visitors = int64(len(f.who))
		f.Revenue = f.revenue.FloatString(6)
	}
	return all
}

// plain makes figures comparable: it writes amounts in one format and leaves out attention, which
// belongs to no visit.
func plain(f report.Figures) report.Figures {
	amount, _ := new(big.Rat).SetString(cmp.Or(f.Revenue, "0"))
	f.Revenue = amount.FloatString(6)
	f.EngagedSeconds = 0
	return f
}
