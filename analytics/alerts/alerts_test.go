package alerts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/alerts"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/table"
)

// steady writes hours of equal traffic, with others in their place where a test says so.
func (w *world) steady(from, until time.Time, c count, except map[time.Time]count) {
	w.Helper()
	for start := from; start.Before(until); start = start.Add(time.Hour) {
		if other, ok := except[start]; ok {
			w.write(start, other)
			continue
		}
		w.write(start, c)
	}
}

var weekOf = func(weeks int) time.Duration { return time.Duration(weeks) * 7 * 24 * time.Hour }

// A spike ends with an hour that has too few visitors for one: a quiet night resolves it.
func TestSpikeEndsAtNight(t *testing.T) {
	w := newWorld(t, "UTC", monday)
	w.steady(monday.Add(-weekOf(9)), monday.Add(4*time.Hour), count{8, 8}, map[time.Time]count{monday: {90, 90}})
	w.put(alerts.Rule{Key: alerts.Key{RuleID: "r"}, Settings: alerts.Settings{Kind: alerts.Spike}})
	for hour := range 3 {
		w.Set(monday.Add(time.Duration(hour)*time.Hour + 70*time.Minute))
		w.evaluate(1)
	}
	if got := shown(w.history()); !slices.Equal(got, []string{"2026-05-11T01:00:00Z to 2026-05-11T02:00:00Z"}) || len(w.messages()) != 2 {
		t.Errorf("history %v, %d messages", got, len(w.messages()))
	}
}

// A process that was down judges the last 24 hours when it starts, and tells what is still true. Of an
// alert that is over it tells nothing.
func TestMissedHours(t *testing.T) {
	w := newWorld(t, "UTC", monday)
	except := map[time.Time]count{}
	for i := range 5 {
		except[monday.Add(time.Duration(70+i)*time.Hour)] = count{400, 400} // over a day before the restart
	}
	except[monday.Add(100*time.Hour)] = count{500, 500} // over
	except[monday.Add(119*time.Hour)] = count{600, 600} // the last
	w.steady(monday.Add(-weekOf(9)), monday.Add(weekOf(1)), count{100, 100}, except)
	w.put(alerts.Rule{Key: alerts.Key{RuleID: "r"}, Settings: alerts.Settings{Kind: alerts.Spike}})
	w.Set(monday.Add(120*time.Hour + 10*time.Minute))
	w.evaluate(2)
	if got := shown(w.history()); !slices.Equal(got, []string{"2026-05-15T05:00:00Z to 2026-05-15T06:00:00Z", "2026-05-16T00:00:00Z to "}) {
		t.Errorf("history %v", got)
	}
	messages := w.messages()
	n, ok := messages["20260516T000000Z.alert.r.firing.shop.hook"]
	if len(messages) != 1 || !ok || n.Title != "Spike on shop: 600 visitors in the hour until 00:00 on Saturday, 16 May 2026; 100 are usual." {
		t.Errorf("messages %+v", messages)
	}
}

// An hour is judged ten minutes after its end, once, and only after all that has arrived is counted.
func TestWhenHoursAreJudged(t *testing.T) {
	w := newWorld(t, "UTC", monday)
	w.steady(monday.Add(-weekOf(8)), monday, count{100, 100}, nil)
	w.put(alerts.Rule{Key: alerts.Key{RuleID: "r"}, Settings: alerts.Settings{Kind: alerts.Drop}})
	calls := 0
	evaluate := func(settle error, want int) {
		t.Helper()
		n, err := alerts.Evaluate(w.Ctx, w.Table, func(context.Context) error { calls++; return settle })
		if n != want || !errors.Is(err, settle) {
			t.Errorf("evaluated %d, want %d: %v", n, want, err)
		}
	}
	w.Set(monday.Add(70*time.Minute - time.Millisecond))
	if evaluate(nil, 0); calls != 0 {
		t.Errorf("waited for statistics although nothing was due")
	}
	w.Set(monday.Add(70 * time.Minute))
	evaluate(errDisk, 0)
	if len(w.history()) != 0 {
		t.Errorf("judged hours that may not be counted yet")
	}
	w.write(monday, count{90, 90}) // it was on its way
	evaluate(nil, 1)
	evaluate(nil, 0)
	if len(w.history()) != 0 {
		t.Errorf("history %v", shown(w.history()))
	}
	w.write(monday, count{1, 1}) // a change after the hour was judged
	w.Set(monday.Add(130 * time.Minute))
	evaluate(nil, 1)
	if got := shown(w.history()); !slices.Equal(got, []string{"2026-05-11T02:00:00Z to "}) {
		t.Errorf("history %v", got)
	}
}

// A change of what a rule looks for, turning it off and deleting it end its alert without a message. A
// change of the name does not.
func TestChangesOfAFiringRule(t *testing.T) {
	for _, change := range []string{"name", "settings", "off", "delete"} {
		w := newWorld(t, "UTC", monday)
		w.steady(monday.Add(-weekOf(8)), monday, count{100, 100}, nil)
		r := w.put(alerts.Rule{Key: alerts.Key{RuleID: "r"}, Settings: alerts.Settings{Kind: alerts.Drop}})
		w.Set(monday.Add(75 * time.Minute))
		w.evaluate(1)
		want := alerts.Resolved
		switch change {
		case "name":
			r.Name, want = "New", alerts.Firing
		case "settings":
			r.Factor = 4
		case "off":
			r.Off = true
		}
		if change == "delete" {
			_, err := alerts.Delete(w.Ctx, w.Table, r.Key)
			w.Must(err)
			if _, err := alerts.Delete(w.Ctx, w.Table, r.Key); !errors.Is(err, table.ErrNotFound) {
				t.Errorf("deleted twice: %v", err)
			}
		} else {
			w.put(alerts.Rule{Key: r.Key, Name: r.Name, Off: r.Off, Settings: r.Settings})
		}
		all, messages := w.history(), w.messages()
		if len(all) != 1 || all[0].Status != want || all[0].Quiet != (want == alerts.Resolved) || len(messages) != 1 {
			t.Errorf("%s: %+v, %d messages", change, all, len(messages))
		}
		w.Set(monday.Add(135 * time.Minute))
		w.evaluate(1)
		if n := len(w.history()); n != map[string]int{"name": 1, "settings": 2, "off": 1, "delete": 1}[change] {
			t.Errorf("%s: %d alerts an hour later", change, n)
		}
	}
}

// A preview shows what evaluations do, to the hour, without storing anything.
func TestPreview(t *testing.T) {
	w := newWorld(t, "Europe/Berlin", monday)
	begin, until := monday.Add(-weekOf(9)), monday.AddDate(0, 0, 3)
	for start, i := begin, 0; start.Before(until); start, i = start.Add(time.Hour), i+1 {
		c := count{60, 60}
		if start.After(monday) && i%11 < 3 {
			c = count{2, 2}
		}
		w.write(start, c)
	}
	settings := alerts.Settings{Kind: alerts.Drop, For: 1}
	w.put(alerts.Rule{Key: alerts.Key{RuleID: "r"}, Settings: settings})
	for at := monday; at.Before(until); at = at.Add(time.Hour) {
		w.Set(at.Add(70 * time.Minute))
		w.evaluate(1)
	}
	w.Set(until.Add(10 * time.Minute))
	before := len(w.messages())
	p, err := alerts.Preview(w.Ctx, w.Table, alerts.Rule{Key: alerts.Key{SiteID: "shop"}, Settings: settings}, 3)
	w.Must(err)
	want := shown(w.history())
	if got := shown(p.Alerts); !slices.Equal(got, want) || len(got) < 5 {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
	if p.Hours != 3*24 || p.Unsure != 0 || len(w.messages()) != before || len(w.history()) != len(want) {
		t.Errorf("%+v", p)
	}
	p, err = alerts.Preview(w.Ctx, w.Table, alerts.Rule{Key: alerts.Key{SiteID: "shop"}, Settings: settings}, 30)
	if w.Must(err); p.Hours+p.Unsure != 30*24 {
		t.Errorf("%d hours and %d unjudged", p.Hours, p.Unsure)
	}
	for _, days := range []int{0, -1, 31} {
		if _, err := alerts.Preview(w.Ctx, w.Table, alerts.Rule{Key: alerts.Key{SiteID: "shop"}, Settings: settings}, days); !errors.Is(err, alerts.ErrRule) {
			t.Errorf("%d days: %v", days, err)
		}
	}
}

// A site that keeps hours for the shortest time has four weeks to compare with, and a preview of weeks
// ago has none.
func TestShortRetention(t *testing.T) {
	w := newWorld(t, "Europe/Berlin", monday)
	_, err := analytics.Sites.Modify(w.Ctx, w.Table, analytics.SiteKey{SiteID: "shop"}, func(s *analytics.Site) error {
		s.Retention.HourDays = 32
		return nil
	})
	w.Must(err)
	w.steady(monday.Add(-weekOf(5)), monday, count{100, 100}, nil)
	r := w.put(alerts.Rule{Key: alerts.Key{RuleID: "r"}, Settings: alerts.Settings{Kind: alerts.Drop}})
	w.Set(monday.Add(75 * time.Minute))
	w.evaluate(1)
	if got := shown(w.history()); !slices.Equal(got, []string{"2026-05-11T01:00:00Z to "}) {
		t.Errorf("history %v", got)
	}
	for _, days := range []int{1, 30} {
		if p, err := alerts.Preview(w.Ctx, w.Table, r, days); err != nil || days == 30 && p.Unsure < 28*24 {
			t.Errorf("%d days: %+v, %v", days, p, err)
		}
	}
}

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"

// visit stores a page view, or an event, as a tracker sends it.
func (w *world) visit(at time.Time, who int, h analytics.Hit) {
	w.Helper()
	h.At, h.UserAgent, h.Address, h.Imported = at, firefox, fmt.Sprintf("192.0.2.%d", who), true
	outcomes, err := analytics.NewCollector(w.Table, analytics.CollectorOptions{}).Ingest(w.Ctx, "shop", []analytics.Hit{h})
	w.Must(err)
	if outcomes[0].Status == analytics.Rejected {
		w.Fatalf("%+v", outcomes[0])
	}
}

// Real visits: the message of a spike names the source that made it, that of a goal the source that is
// missing.
func TestCause(t *testing.T) {
	w := newWorld(t, "Europe/Berlin", monday.Add(11*time.Hour))
	_, err := goals.Create(w.Ctx, w.Table, goals.Goal{GoalKey: analytics.GoalKey{SiteID: "shop", GoalID: "buy"}, Name: "Purchase", Path: "/thanks"})
	w.Must(err)
	noon := monday.Add(10 * time.Hour)
	for week := range 6 {
		at := noon.Add(-weekOf(5 - week))
		for i := range 10 {
			w.visit(at.Add(time.Duration(i)*time.Minute), i, analytics.Hit{Path: "/", Referrer: "https://www.google.com/"})
		}
		for i := 10; week < 5 && i < 16; i++ {
			w.visit(at.Add(time.Duration(i)*time.Minute), i, analytics.Hit{Path: "/thanks", Referrer: "https://ads.example/"})
		}
	}
	for i := range 60 {
		w.visit(noon.Add(time.Duration(i)*time.Second), 100+i, analytics.Hit{Path: "/story", Referrer: "https://news.ycombinator.com/item"})
	}
	w.Set(noon.Add(-time.Minute))
	w.Drain()
	w.put(alerts.Rule{Key: alerts.Key{RuleID: "s"}, Name: "Crowd", Settings: alerts.Settings{Kind: alerts.Spike, AtLeast: 20}})
	w.put(alerts.Rule{Key: alerts.Key{RuleID: "g"}, Settings: alerts.Settings{Kind: alerts.Goal, Goal: "buy", Hours: 2}})
	w.Set(noon.Add(70 * time.Minute))
	w.evaluate(1)
	all := map[string]alerts.Alert{}
	for _, a := range w.history() {
		all[a.RuleID] = a
	}
	spike, goal := all["s"], all["g"]
	if spike.Count != 70 || spike.Usual != 16 || spike.Cause == nil || spike.Cause.Value != "Hacker News" && !strings.Contains(spike.Cause.Value, "ycombinator") && spike.Cause.Value != "/story" {
		t.Errorf("spike: %+v, cause %+v", spike, spike.Cause)
	}
	if goal.Count != 0 || goal.Usual != 6 || !strings.HasPrefix(goal.Summary, "No conversions of the goal Purchase in the 2 h until 13:00 on Monday") {
		t.Errorf("goal: %+v, cause %+v", goal, goal.Cause)
	}
	n := w.messages()["20260511T110000Z.alert.s.firing.shop.hook"]
	m, err := alerts.Render(&n, notify.Links{Site: "https://onefold.example.com/sites/shop"})
	if err != nil || !strings.Contains(m.Text, "Most of it: ") || !strings.HasPrefix(m.Title, "Crowd on shop: 70 visitors in the hour until 13:00 on Monday, 11 May 2026; 16 are usual.") || m.Link == "" {
		t.Errorf("%+v %v", m, err)
	}
	var content alerts.Alert
	if err := json.Unmarshal([]byte(n.Content), &content); err != nil || content.Summary != spike.Summary || content.Cause == nil {
		t.Errorf("content %s: %v", n.Content, err)
	}
}

// Nobody reaches a goal that is deleted, which is no news: its rule judges nothing any more.
func TestDeletedGoal(t *testing.T) {
	w := newWorld(t, "UTC", monday.Add(11*time.Hour))
	key := analytics.GoalKey{SiteID: "shop", GoalID: "buy"}
	_, err := goals.Create(w.Ctx, w.Table, goals.Goal{GoalKey: key, Name: "Purchase", Path: "/thanks"})
	w.Must(err)
	noon := monday.Add(10 * time.Hour)
	for week := range 5 {
		for i := range 6 {
			w.visit(noon.Add(time.Duration(i)*time.Minute-weekOf(5-week)), i, analytics.Hit{Path: "/thanks"})
		}
	}
	w.Set(noon.Add(-time.Minute))
	w.Drain()
	settings := alerts.Settings{Kind: alerts.Goal, Goal: "buy", Hours: 2}
	r := w.put(alerts.Rule{Key: alerts.Key{RuleID: "r"}, Settings: settings})
	w.Must(goals.Delete(w.Ctx, w.Table, key))
	w.Set(noon.Add(70 * time.Minute))
	w.evaluate(1)
	if all := w.history(); len(all) != 0 || len(w.messages()) != 0 {
		t.Errorf("alerts of a deleted goal: %+v", all)
	}
	if _, err := alerts.Put(w.Ctx, w.Table, r); !errors.Is(err, alerts.ErrRule) {
		t.Errorf("a rule of a deleted goal: %v", err)
	}
}

// A web vital is judged once a day, against a limit or the four weeks before, and names the page.
func TestVital(t *testing.T) {
	w := newWorld(t, "UTC", monday.Add(23*time.Hour))
	load := func(day, n int, path string, ms float64) {
		t.Helper()
		for i := range n {
			w.visit(monday.AddDate(0, 0, day).Add(time.Duration(600+i)*time.Minute/2), i, analytics.Hit{Path: path, Name: analytics.VitalsEvent, Vitals: analytics.Vitals{LCP: ms}})
		}
	}
	for day := -14; day < 0; day++ {
		load(day, 20, "/", 1500)
	}
	load(0, 20, "/", 1500)
	load(0, 12, "/slow", 6000)
	w.Set(monday.Add(23 * time.Hour))
	w.Drain()
	w.put(alerts.Rule{Key: alerts.Key{RuleID: "limit"}, Settings: alerts.Settings{Kind: alerts.Vital, Vital: "lcp", Limit: 2500, AtLeast: 30}})
	w.put(alerts.Rule{Key: alerts.Key{RuleID: "usual"}, Settings: alerts.Settings{Kind: alerts.Vital, Vital: "lcp", AtLeast: 30}})
	w.put(alerts.Rule{Key: alerts.Key{RuleID: "few"}, Settings: alerts.Settings{Kind: alerts.Vital, Vital: "lcp", Limit: 2500}})
	for range 30 {
		w.evaluate(1)
		w.Advance(time.Hour)
	}
	all := w.history()
	if len(all) != 2 || all[0].Page != "/slow" || all[1].Page != "/slow" || !all[0].FiredAt.Equal(monday.Add(25*time.Hour)) {
		t.Fatalf("history %+v", all)
	}
	if s := all[0].Summary; !strings.HasPrefix(s, "LCP on Monday, 11 May 2026: ") || !strings.Contains(s, "at the 75th percentile; the limit is 2,500 ms. Most of the additional slow loads: page /slow.") {
		t.Errorf("%s", s)
	}
	if s := all[1].Summary; !strings.Contains(s, "; in the four weeks before it was 1,") {
		t.Errorf("%s", s)
	}
}

func TestInvalidRules(t *testing.T) {
	w := newWorld(t, "UTC", monday)
	drop := alerts.Settings{Kind: alerts.Drop}
	for code, r := range map[string]alerts.Rule{
		"rule_kind":     {Settings: alerts.Settings{Kind: "moon"}},
		"rule_id":       {Key: alerts.Key{RuleID: "a.b"}, Settings: drop},
		"rule_name":     {Name: "a\nb", Settings: drop},
		"rule_factor":   {Settings: alerts.Settings{Kind: alerts.Drop, Factor: 1}},
		"rule_atLeast":  {Settings: alerts.Settings{Kind: alerts.Drop, AtLeast: -1}},
		"rule_hours":    {Settings: alerts.Settings{Kind: alerts.Silence, Hours: 169}},
		"rule_for":      {Settings: alerts.Settings{Kind: alerts.Drop, For: 169}},
		"rule_keepFor":  {Settings: alerts.Settings{Kind: alerts.Drop, KeepFor: -1}},
		"rule_limit":    {Settings: alerts.Settings{Kind: alerts.Vital, Vital: "lcp", Limit: math.NaN()}},
		"rule_vital":    {Settings: alerts.Settings{Kind: alerts.Vital, Vital: "fid"}},
		"rule_goal":     {Settings: alerts.Settings{Kind: alerts.Goal, Goal: "none"}},
		"rule_channels": {Channels: []string{"none"}, Settings: drop},
	} {
		r.SiteID = "shop"
		if _, err := alerts.Put(w.Ctx, w.Table, r); !errors.Is(err, alerts.ErrRule) || !strings.Contains(err.Error(), "("+code+")") {
			t.Errorf("%+v: %v, want %s", r, err, code)
		}
	}
	for _, s := range []alerts.Settings{{Kind: alerts.Spike, Hours: 2}, {Kind: alerts.Drop, Limit: 2}, {Kind: alerts.Silence, Factor: 2}, {Kind: alerts.Vital, Vital: "lcp", For: 1}, {Kind: alerts.Drop, Factor: math.Inf(1)}} {
		if err := s.Check(); !errors.Is(err, alerts.ErrRule) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if _, err := alerts.Put(w.Ctx, w.Table, alerts.Rule{Key: alerts.Key{SiteID: "none"}, Settings: drop}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("an unknown site: %v", err)
	}
	for i := range 20 {
		w.put(alerts.Rule{Key: alerts.Key{RuleID: fmt.Sprint("r", i)}, Settings: drop})
	}
	if _, err := alerts.Put(w.Ctx, w.Table, alerts.Rule{Key: alerts.Key{SiteID: "shop"}, Settings: drop}); !errors.Is(err, alerts.ErrRule) {
		t.Errorf("a 21st rule: %v", err)
	}
	w.put(alerts.Rule{Key: alerts.Key{RuleID: "r0"}, Name: "again", Settings: drop})
}
