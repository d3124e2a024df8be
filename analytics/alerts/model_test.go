package alerts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics/alerts"
	"github.com/onefold/onefold/internal/seeds"
)

// model is what a site counted, and a naive idea of what rules do with it. It shares no code with the
// package: it looks at all hours for each question.
type model struct {
	where *time.Location
	hours map[int64]count // by start, epoch seconds
	first time.Time
}

// usual returns the median of the same hours of the eight weeks before.
func (m *model) usual(start time.Time, hours int, of func(count) int64) (float64, bool) {
	var all []int64
	local := start.In(m.where)
	for k := 1; k <= 8; k++ {
		last := time.Date(local.Year(), local.Month(), local.Day()-7*k, local.Hour(), 0, 0, 0, m.where)
		if first := last.Add(-time.Duration(hours-1) * time.Hour); !first.Before(m.first) {
			all = append(all, m.sum(last, hours, of))
		}
	}
	if len(all) < 4 {
		return 0, false
	}
	slices.Sort(all)
	if n := len(all); n%2 == 0 {
		return float64(all[n/2-1]+all[n/2]) / 2, true
	}
	return float64(all[len(all)/2]), true
}

func (m *model) sum(last time.Time, hours int, of func(count) int64) (n int64) {
	for i := range hours {
		n += of(m.hours[last.Add(-time.Duration(i)*time.Hour).Unix()])
	}
	return n
}

// looks says how an hour looks: unusual, as usual, in between (which keeps an alert, but starts none), or
// not to be judged.
func (m *model) looks(s *alerts.Settings, start time.Time) string {
	visitors := func(c count) int64 { return c.visitors }
	switch s.Kind {
	case alerts.Spike:
		usual, ok := m.usual(start, 1, visitors)
		n := float64(m.sum(start, 1, visitors))
		usual = max(usual, 1)
		switch {
		case !ok:
			return "unjudged"
		case n >= float64(s.AtLeast) && n/usual > s.Factor:
			return "unusual"
		case n >= float64(s.AtLeast) && n/usual > (1+s.Factor)/2:
			return "between"
		}
	case alerts.Drop:
		usual, ok := m.usual(start, 1, visitors)
		n := float64(m.sum(start, 1, visitors))
		switch {
		case !ok || usual < float64(s.AtLeast):
			return "unjudged"
		case n/usual < 1/s.Factor:
			return "unusual"
		case n/usual < (1+1/s.Factor)/2:
			return "between"
		}
	case alerts.Silence:
		views := func(c count) int64 { return c.views }
		usual, ok := m.usual(start, s.Hours, views)
		switch n := m.sum(start, s.Hours, views); {
		case n > 0:
		case !ok || usual < float64(s.AtLeast):
			return "unjudged"
		default:
			return "unusual"
		}
	}
	return "usual"
}

// alerts returns when a rule fires and when that ends, from some hour until another.
func (m *model) alerts(s *alerts.Settings, from, until time.Time) (all []string) {
	hour := func(n int) time.Duration { return time.Duration(n) * time.Hour }
	for start := from; start.Before(until); start = start.Add(time.Hour) {
		if m.looks(s, start) != "unusual" {
			continue
		}
		// It is pending from here. It fires at the first hour, at least For later, up to which all hours
		// that can be judged are unusual.
		fired := start
		for fired.Before(until) && (fired.Sub(start) < hour(s.For) || m.looks(s, fired) == "unjudged") {
			if fired = fired.Add(time.Hour); m.looks(s, fired) == "usual" || m.looks(s, fired) == "between" {
				break
			}
		}
		if !fired.Before(until) {
			break
		}
		if m.looks(s, fired) != "unusual" {
			start = fired
			continue
		}
		last, end := fired, fired.Add(time.Hour)
		for ; end.Before(until); end = end.Add(time.Hour) {
			switch m.looks(s, end) {
			case "unusual", "between":
				last = end
				continue
			case "unjudged":
				if end.Sub(last) < 7*24*time.Hour {
					continue
				}
			default:
				if end.Sub(last) < hour(s.KeepFor) {
					continue
				}
			}
			break
		}
		one := fired.Add(time.Hour).UTC().Format(time.RFC3339) + " to "
		if end.Before(until) {
			one += end.Add(time.Hour).UTC().Format(time.RFC3339)
		}
		all = append(all, one)
		start = end
	}
	return all
}

func shown(all []alerts.Alert) (list []string) {
	for _, a := range all {
		one := a.FiredAt.Format(time.RFC3339) + " to "
		if a.Status == alerts.Resolved {
			one += a.EndedAt.Format(time.RFC3339)
		}
		list = append(list, one)
	}
	return list
}

// traffic draws hours with a weekly rhythm, quiet nights, bursts and outages.
func (m *model) traffic(random *rand.Rand, from, until time.Time) {
	m.first, m.hours = from, map[int64]count{}
	var mood float64 = 1
	for start := from; start.Before(until); start = start.Add(time.Hour) {
		if random.IntN(30) == 0 {
			mood = []float64{1, 1, 0, 0.2, 0.5, 2.5, 6}[random.IntN(7)]
		}
		local := start.In(m.where)
		base := float64(40 + 10*int(local.Weekday()))
		if local.Hour() < 6 {
			base = 4
		}
		n := int64(base * mood * (0.7 + 0.6*random.Float64()))
		if start.Equal(from) {
			n = max(n, 1)
		}
		m.hours[start.Unix()] = count{n, n + n*int64(random.IntN(3))}
	}
}

// Several servers evaluate rules at any time, writes fail at any point, and processes restart: the
// history is that of the naive model, and each alert has one message per state.
func TestModel(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"}
	seeds.Run(t, 4, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		zone := zones[random.IntN(len(zones))]
		where, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		// Ten weeks, over a clock change in some zones and seeds.
		begin := time.Date(2026, []time.Month{1, 2, 3, 9}[random.IntN(4)], 2, random.IntN(24), 0, 0, 0, where)
		m := &model{where: where}
		made := begin.Add(time.Duration(20+random.IntN(50)) * 24 * time.Hour)
		end := made.Add(8 * 24 * time.Hour)
		m.traffic(random, begin, end)
		w := newWorld(t, zone, made)
		for start := begin; start.Before(end); start = start.Add(time.Hour) {
			w.write(start, m.hours[start.Unix()])
		}
		rules := map[string]alerts.Settings{
			"spike":   {Kind: alerts.Spike, Factor: 2, AtLeast: int64(10 + random.IntN(80)), For: random.IntN(3), KeepFor: random.IntN(4)},
			"drop":    {Kind: alerts.Drop, Factor: 3, AtLeast: int64(2 + random.IntN(30)), For: random.IntN(3), KeepFor: random.IntN(4)},
			"silence": {Kind: alerts.Silence, Hours: 1 + random.IntN(5), AtLeast: int64(1 + random.IntN(60)), For: random.IntN(2), KeepFor: random.IntN(3)},
		}
		for id, s := range rules {
			w.put(alerts.Rule{Key: alerts.Key{RuleID: id}, Settings: s})
		}
		for w.Now().Before(end) {
			w.failing.Store(random.Int64N(12)) // 0: none
			w.evaluate(1 + random.IntN(3))
			w.failing.Store(0)
			w.evaluate(1)
			w.Advance(time.Duration(1+random.IntN(400)) * time.Minute)
		}
		w.Set(end.Add(30 * time.Minute))
		w.evaluate(1)
		checkModel(w, m, rules, made, end)
	})
}

func checkModel(w *world, m *model, rules map[string]alerts.Settings, made, end time.Time) {
	w.Helper()
	messages := w.messages()
	all := w.history()
	for id, s := range rules {
		of := slices.DeleteFunc(slices.Clone(all), func(a alerts.Alert) bool { return a.RuleID != id })
		if got, want := shown(of), m.alerts(&s, made, end); !slices.Equal(got, want) {
			w.Errorf("%s %+v:\n got %v\nwant %v", id, s, got, want)
		}
		for _, a := range of {
			firing := fmt.Sprintf("%s.alert.%s.firing.shop.hook", a.FiredAt.Format("20060102T150405Z"), id)
			ended := fmt.Sprintf("%s.alert.%s.resolved.shop.hook", a.EndedAt.Format("20060102T150405Z"), id)
			if _, told := messages[firing]; told == a.Quiet {
				w.Errorf("%s was told: %t, quiet: %t", firing, told, a.Quiet)
			}
			if _, told := messages[ended]; told != (a.Status == alerts.Resolved && !a.Quiet) {
				w.Errorf("%s was told: %t, %s", ended, told, a.Status)
			}
			delete(messages, firing)
			delete(messages, ended)
		}
	}
	if len(messages) > 0 {
		w.Errorf("messages of no alert: %v", messages)
	}
	w.Logf("%d alerts", len(all))
}
