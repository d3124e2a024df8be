package explore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
)

// person says who made a visit: its user, the only user of the visitor's day, or the visitor.
func (o *oracle) person(v *oracleVisit) (who string, known bool) {
	if id := v.user(); id != "" {
		return "user " + id, true
	}
	users := map[string]bool{}
	for i := range o.visits {
		if other := &o.visits[i]; other.visitor == v.visitor && other.user() != "" {
			users[other.user()] = true
		}
	}
	if len(users) == 1 {
		return "user " + slices.Collect(maps.Keys(users))[0], true
	}
	return "visitor " + v.visitor, false
}

// attribution attributes the revenue of visits, event by event, and describes it as text.
func (o *oracle) attribution(paid *oracle, in *AttributionIn) (text string, total string) {
	value := func(v *oracleVisit) string { return v.values(in.By)[0] }
	events, revenue := map[string]int{}, map[string]map[Model]string{}
	pay := func(v *oracleVisit, m Model, amount string) {
		if revenue[value(v)] == nil {
			revenue[value(v)] = map[Model]string{}
		}
		revenue[value(v)][m] = decimal.Add(revenue[value(v)][m], amount)
	}
	n, known := 0, 0
	for i := range paid.visits {
		own := &paid.visits[i]
		for _, e := range own.events {
			if e.Revenue == "" {
				continue
			}
			n++
			total = decimal.Add(total, e.Revenue)
			who, isUser := o.person(own)
			if isUser {
				known++
			}
			var before []*oracleVisit
			for j := range o.visits {
				v := &o.visits[j]
				age := at(e).Sub(at(v.events[0]))
				if of, _ := o.person(v); of == who && age >= 0 && age <= time.Duration(in.Lookback)*24*time.Hour {
					before = append(before, v)
				}
			}
			slices.SortStableFunc(before, func(a, b *oracleVisit) int {
				return cmp.Or(at(a.events[0]).Compare(at(b.events[0])), cmp.Compare(value(a), value(b)))
			})
			even, decay, seen := make([]int64, len(before)), make([]int64, len(before)), map[string]bool{}
			for k, v := range before {
				days := float64(at(e).Sub(at(v.events[0])).Milliseconds()) / 86_400_000
				even[k], decay[k] = 7, int64(math.Round(math.Pow(2, 40)*math.Exp2(-days/float64(in.HalfLife))))
				if !seen[value(v)] {
					seen[value(v)] = true
					events[value(v)]++
				}
			}
			pay(before[0], FirstTouch, e.Revenue)
			pay(before[len(before)-1], LastTouch, e.Revenue)
			for k, v := range before {
				pay(v, Linear, decimal.Divide(e.Revenue, even)[k])
				pay(v, TimeDecay, decimal.Divide(e.Revenue, decay)[k])
			}
		}
	}
	lines := []string{fmt.Sprintln(n, known, cmp.Or(total, "0"))}
	for _, v := range slices.Sorted(maps.Keys(events)) {
		line := fmt.Sprint(v, " ", events[v])
		for _, m := range Models {
			line += " " + cmp.Or(revenue[v][m], "0")
		}
		lines = append(lines, line+"\n")
	}
	return strings.Join(lines, ""), total
}

func (a *Attribution) text() string {
	lines := []string{fmt.Sprintln(a.Events, a.Known, a.Revenue)}
	slices.SortFunc(a.Credits, func(a, b Credit) int { return cmp.Compare(a.Value, b.Value) })
	for _, c := range a.Credits {
		line := fmt.Sprint(c.Value, " ", c.Events)
		for _, m := range Models {
			line += " " + c.Revenue[m]
		}
		lines = append(lines, line+"\n")
	}
	return strings.Join(lines, "")
}

// Attributed revenue agrees with a naive model to the cent, and in every model the values add up to the
// revenue that reports say.
func TestAttributionAgreesWithTheOracle(t *testing.T) {
	inTwoZones(t, 400, func(w *shop, random *rand.Rand, first, to string) {
		for range 6 {
			in := AttributionIn{Lookback: 1 + random.IntN(4), HalfLife: 1 + random.IntN(5), By: []analytics.Dimension{analytics.BySource, analytics.ByEntryPage, analytics.ByCountry}[random.IntN(3)]}
			in.Range = w.between(calendar.ShiftDay(first, 1+random.IntN(2)), to)
			all, paid := w.oracle(calendar.ShiftDay(first, -5), to), w.oracle(in.From, in.To)
			if random.IntN(2) == 0 {
				in.Filters = drawFilters(random)[:1]
				paid = paid.filtered(in.Filters)
			}
			got, err := w.x.Attribution(w.ctx, in)
			w.must(err)
			want, total := all.attribution(paid, &in)
			for _, m := range Models {
				sum := ""
				for _, c := range got.Credits {
					sum = decimal.Add(sum, map[bool]string{false: c.Revenue[m]}[c.Revenue[m] == "0"])
				}
				if sum != total {
					w.Errorf("%s adds up to %q, want %q", m, sum, total)
				}
			}
			reported, err := w.x.Report(w.ctx, report.Request{Site: "shop", From: in.From, To: in.To}, in.Filters)
			w.must(err)
			if cmp.Or(got.Revenue, "0") != reported.Totals.Revenue {
				w.Errorf("revenue %s, reported %s", got.Revenue, reported.Totals.Revenue)
			}
			if text := got.text(); text != want {
				w.Fatalf("%+v:\n%swant\n%s", in, text, want)
			}
		}
	})
}

// The four models of a purchase after three visits of a user, and of one by a stranger.
func TestAttributionModels(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-20T12:00"))
	visit := func(at, source, user, revenue string) analytics.Hit {
		h := analytics.Hit{At: utc(at), Imported: true, Address: "10.0.0.1", UserAgent: "test", Path: "/", UserID: user, Revenue: revenue}
		if source != "" {
			h.URL = "https://example.com/?utm_campaign=" + source
			h.Path = ""
		}
		return h
	}
	w.ingest(
		visit("2026-04-25T10:00", "too-early", "ann", ""), visit("2026-05-05T10:00", "spring", "ann", ""), visit("2026-05-12T10:00", "mail", "ann", ""),
		visit("2026-05-19T10:00", "", "ann", "100"), visit("2026-05-18T10:00", "other", "bob", "1"),
	)
	got, err := w.x.Attribution(w.ctx, AttributionIn{Range: w.between("2026-05-19", "2026-05-20"), By: "utm_campaign", Lookback: 20})
	w.must(err)
	const want = "1 1 100\n(none) 1 0 100 33.34 57.14\nmail 1 0 0 33.33 28.57\nspring 1 100 0 33.33 14.29\n"
	if text := got.text(); text != want {
		t.Errorf("%swant\n%s", text, want)
	}
}

func TestInvalidAttribution(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-20T12:00"))
	days := w.between("2026-05-19", "2026-05-20")
	for what, in := range map[string]AttributionIn{
		"no dimension": {Range: days}, "of events": {Range: days, By: analytics.ByPage}, "unknown": {Range: days, By: "colour"}, "a property": {Range: days, By: "prop:plan"},
		"a long lookback": {Range: days, By: analytics.BySource, Lookback: 91}, "a negative one": {Range: days, By: analytics.BySource, Lookback: -1},
		"a long half-life": {Range: days, By: analytics.BySource, HalfLife: 91}, "no days": {Range: w.between("2026-05-20", "2026-05-19"), By: analytics.BySource},
	} {
		if _, err := w.x.Attribution(w.ctx, in); !errors.Is(err, ErrQuestion) {
			t.Errorf("%s: %v", what, err)
		}
	}
	got, err := w.x.Attribution(w.ctx, AttributionIn{Range: days, By: analytics.BySource})
	w.must(err)
	if got.Revenue != "0" || len(got.Credits) != 0 {
		t.Errorf("without revenue: %+v", got)
	}
}
