package main

import (
	"fmt"
	"maps"
	"math/big"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
)

// soakCount holds the counts of a bucket or value, from the events sent or from derived items.
type soakCount struct {
	views, events, visits, conversions int64
	cents                              int64 // of revenue
}

func (c soakCount) plus(o soakCount) soakCount {
	return soakCount{c.views + o.views, c.events + o.events, c.visits + o.visits, c.conversions + o.conversions, c.cents + o.cents}
}

// soakFacts holds the counts of the events sent.
type soakFacts struct {
	all                  soakCount
	hours, pages, byPlan map[string]soakCount
}

func (s *soaked) facts() soakFacts {
	f := soakFacts{hours: map[string]soakCount{}, pages: map[string]soakCount{}, byPlan: map[string]soakCount{}}
	for id, e := range s.sent {
		one := soakCount{views: 1}
		if e.plan >= 0 {
			one = soakCount{events: 1, conversions: 1, cents: 10}
			plan := fmt.Sprintf("p%d", e.plan)
			f.byPlan[plan] = f.byPlan[plan].plus(one)
		} else {
			page := fmt.Sprintf("/p%d", e.page)
			f.pages[page] = f.pages[page].plus(one)
		}
		f.all = f.all.plus(one)
		hour := ulid.Time(id.Time()).UTC().Format("2006-01-02T15:00:00Z") // the site's UTC offset is a whole number of hours
		f.hours[hour] = f.hours[hour].plus(one)
	}
	return f
}

// check compares stored and derived data with the events sent. It first rolls up days and months,
// including open ones.
func (s *soaked) check(t *testing.T, g *globals) {
	t.Helper()
	facts := s.facts()
	err := g.withStore(t.Context(), t.Output(), tuning{existing: true}, func(st *store) error {
		if err := st.worker.Drain(t.Context()); err != nil {
			return err
		}
		if _, err := reconcile.RollUp(t.Context(), st.table, "s", time.Now().AddDate(0, 0, 40)); err != nil {
			return err
		}
		for _, check := range []func(*testing.T, *store, *soakFacts) error{s.checkRaw, checkStats, checkBreakdowns, checkSessions} {
			if err := check(t, st, &facts); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checkReports(t, g, facts.all.views)
	t.Logf("verify: %s", onefold(t, g.flags("verify", "--site", "s")...))
}

// flags returns the arguments of a command on the same table.
func (g *globals) flags(command ...string) []string {
	return append([]string{"--data", g.Data, "--store", g.Store}, command...)
}

// checkRaw checks that every event sent is stored once and unchanged.
func (s *soaked) checkRaw(t *testing.T, st *store, _ *soakFacts) error {
	site, err := analytics.GetSite(t.Context(), st.table, "s")
	if err != nil {
		return err
	}
	raw := make(map[ulid.ULID]int, len(s.sent))
	now := time.Now()
	for e, err := range analytics.EventsBetween(&site, now.AddDate(0, 0, -4), now, "").All(t.Context(), st.table) {
		if err != nil {
			return err
		}
		id, err := ulid.ParseStrict(e.EventID)
		if err != nil {
			return err
		}
		raw[id]++
		if sent := s.sent[id]; sent == nil || e.Path != fmt.Sprintf("/p%d", sent.page) || (e.Name == "buy") != (sent.plan >= 0) {
			t.Errorf("event %s is stored as %s %s, sent was %+v", id, e.Name, e.Path, sent)
		}
	}
	for id := range s.sent {
		if raw[id] != 1 {
			t.Errorf("event %s is stored %d times", id, raw[id])
		}
	}
	t.Logf("raw: %d events, %d were sent", len(raw), len(s.sent))
	return nil
}

var soakPeriods = []analytics.Period{analytics.Hour, analytics.Day, analytics.Month}

// checkStats checks that hourly statistics match the events, and that hours, days and months add up
// to the same.
func checkStats(t *testing.T, st *store, facts *soakFacts) error {
	var visits int64
	for _, period := range soakPeriods {
		var sum soakCount
		buckets := map[string]soakCount{}
		for b, err := range analytics.StatsByTime.All(t.Context(), st.table, analytics.StatsIn{SiteID: "s", Period: period}) {
			if err != nil {
				return err
			}
			got := soakCount{b.PageViews, b.Events, b.Visits, b.Conversions, cents(t, b.Revenue)}
			sum, buckets[b.Start] = sum.plus(got), buckets[b.Start].plus(got)
		}
		if period == analytics.Hour {
			for hour, got := range buckets {
				got.visits, got.conversions = 0, 0 // they count in the hour in which the visit started
				want := facts.hours[hour]
				want.conversions = 0
				if got != want {
					t.Errorf("hour %s: %+v, sent were %+v", hour, got, want)
				}
			}
			visits = sum.visits
		}
		want := facts.all
		want.visits = visits
		if sum != want {
			t.Errorf("the %ss add up to %+v, want %+v", period, sum, want)
		}
		t.Logf("sum of %d %s buckets: %+v", len(buckets), period, sum)
	}
	facts.all.visits = visits
	return nil
}

// checkSessions checks that there is a session per visit, and that sessions contain all events.
func checkSessions(t *testing.T, st *store, facts *soakFacts) error {
	var sum soakCount
	for s, err := range analytics.RecentSessions(t.Context(), st.table, "s") {
		if err != nil {
			return err
		}
		sum = sum.plus(soakCount{s.PageViews, s.Events, 1, s.Conversions, cents(t, s.Revenue)})
	}
	if sum != facts.all {
		t.Errorf("sessions add up to %+v, want %+v", sum, facts.all)
	}
	t.Logf("sum of sessions: %+v", sum)
	return nil
}

// checkBreakdowns checks that the values of each dimension add up to the same in hours, days and
// months: to the events, value by value, if events have the dimension themselves; in total, if it
// is one of visits.
func checkBreakdowns(t *testing.T, st *store, facts *soakFacts) error {
	want := facts.all
	buys := soakCount{events: want.events, cents: want.cents}
	for by, want := range map[analytics.Dimension]any{
		analytics.ByPage: facts.pages, analytics.ByEventName: map[string]soakCount{"buy": buys}, "prop:plan": facts.byPlan,
		analytics.ByGoal:   soakCount{events: want.conversions, cents: want.cents},
		analytics.BySource: want, analytics.ByReferrer: want, analytics.ByChannel: want, analytics.ByUTMSource: want,
		analytics.ByBrowser: want, analytics.ByOS: want, analytics.ByDevice: want, analytics.ByScreen: want,
		analytics.ByLanguage: want, analytics.ByHostname: want,
		analytics.ByEntryPage: nil, analytics.ByExitPage: nil, // a visit without a page view has none
	} {
		hours, err := soakValues(t, st, analytics.Hour, by)
		if err != nil {
			return err
		}
		for _, period := range soakPeriods[1:] {
			values, err := soakValues(t, st, period, by)
			if err != nil {
				return err
			}
			if !maps.Equal(values, hours) {
				t.Errorf("by %s: %ss have %+v, the hours %+v", by, period, values, hours)
			}
		}
		checkValues(t, by, hours, want)
	}
	return nil
}

func checkValues(t *testing.T, by analytics.Dimension, values map[string]soakCount, want any) {
	t.Helper()
	var sum soakCount
	for _, c := range values {
		sum = sum.plus(c)
	}
	switch want := want.(type) {
	case soakCount:
		if by != analytics.ByGoal {
			want.events, want.conversions = 0, 0 // breakdowns of visits do not count them
		} else {
			sum.visits = 0
		}
		if sum != want {
			t.Errorf("the values of %s add up to %+v, want %+v", by, sum, want)
		}
	case map[string]soakCount:
		for v, c := range values {
			c.visits, c.conversions = 0, want[v].conversions
			if c != want[v] {
				t.Errorf("by %s: %s counts %+v, sent were %+v", by, v, c, want[v])
			}
		}
		if len(values) != len(want) {
			t.Errorf("by %s: %d values, sent were %d", by, len(values), len(want))
		}
	}
	t.Logf("sum of %d values of %s: %+v", len(values), by, sum)
}

// soakValues adds up the buckets of a period by value. None of the breakdowns may be full.
func soakValues(t *testing.T, st *store, period analytics.Period, by analytics.Dimension) (map[string]soakCount, error) {
	values := map[string]soakCount{}
	for b, err := range analytics.BreakdownByTime.All(t.Context(), st.table, analytics.BreakdownIn{SiteID: "s", Period: period, Dimension: by}) {
		if err != nil {
			return nil, err
		}
		if b.Full {
			t.Errorf("%s %s by %s is full", period, b.Start, by)
		}
		for v, c := range b.Values {
			values[v] = values[v].plus(soakCount{c.PageViews, c.Events, c.Visits, 0, cents(t, c.Revenue)})
		}
	}
	return values, nil
}

// checkReports adds up the reports of every bucket width and every dimension.
func checkReports(t *testing.T, g *globals, views int64) {
	t.Helper()
	for _, period := range soakPeriods {
		for _, by := range []string{"page", "entry_page", "exit_page", "referrer", "source", "channel", "utm_source", "country", "browser", "os", "device", "language"} {
			r := fromJSON[reportJSON](t, onefold(t, g.flags("report", "--site", "s", "--period", string(period), "--by", by, "--limit", "0", "--json")...))
			var buckets, top int64
			for _, b := range r.Buckets {
				buckets += b.PageViews
			}
			for _, row := range r.Top {
				top += row.PageViews
			}
			if r.Totals.PageViews != views || buckets != views || top != views {
				t.Errorf("by %s and %s: %d page views in total, %d in buckets, %d in values; %d were sent", period, by, r.Totals.PageViews, buckets, top, views)
			}
		}
	}
}

// cents parses an amount of money; "" is 0.
func cents(t *testing.T, amount string) int64 {
	t.Helper()
	r, ok := new(big.Rat).SetString("0" + amount)
	if !ok || !r.Mul(r, big.NewRat(100, 1)).IsInt() {
		t.Errorf("revenue %q is no amount in cents", amount)
		return 0
	}
	return r.Num().Int64()
}
