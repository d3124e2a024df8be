package contribution_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/contribution"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/seeds"
)

func TestDivides(t *testing.T) {
	for _, c := range []struct {
		metric contribution.Metric
		by     analytics.Dimension
		want   bool
	}{
		{contribution.Visits, analytics.BySource, true}, {contribution.Visits, analytics.ByPage, false}, {contribution.Visits, analytics.ByEventName, false},
		{contribution.PageViews, analytics.ByPage, true}, {contribution.PageViews, analytics.ByHostname, true}, {contribution.PageViews, analytics.ByGoal, false},
		{contribution.Events, analytics.ByEventName, true}, {contribution.Events, analytics.BySource, false}, {contribution.Events, "prop:plan", false},
		{contribution.Conversions, analytics.ByGoal, true}, {contribution.Conversions, analytics.ByCountry, false},
		{contribution.Revenue, analytics.ByUTMCampaign, true}, {contribution.Revenue, analytics.ByPage, false},
	} {
		if got := c.metric.Divides(c.by); got != c.want {
			t.Errorf("%s by %s: %v", c.metric, c.by, got)
		}
	}
}

// Parts and what is unattributed add up to the change, whatever the rows are.
func TestPartsAddUp(t *testing.T) {
	seeds.Run(t, 20, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		side := func() *contribution.Side {
			s := &contribution.Side{Rows: map[analytics.Dimension][]report.Row{}}
			s.Totals = report.Figures{Visits: r.Int64N(1000), Revenue: fmt.Sprintf("%d.%d", r.IntN(100), 1+r.IntN(8))}
			for _, d := range []analytics.Dimension{analytics.BySource, analytics.ByCountry} {
				for v := range r.IntN(30) {
					if r.IntN(3) > 0 {
						s.Rows[d] = append(s.Rows[d], report.Row{Value: fmt.Sprint("v", v), Visits: r.Int64N(50), Revenue: fmt.Sprintf("-0.0%d", 1+r.IntN(8))})
					}
				}
			}
			return s
		}
		before, after := side(), side()
		for _, m := range []contribution.Metric{contribution.Visits, contribution.Revenue} {
			total, all := contribution.Of(m, before, after, []analytics.Dimension{analytics.BySource, analytics.ByCountry})
			for _, d := range all {
				rows := map[string]bool{}
				sum := rat(d.Unattributed.Difference())
				for i, p := range d.Parts {
					if rows[p.Value] {
						t.Fatalf("%s is listed twice", p.Value)
					}
					rows[p.Value] = true
					sum.Add(sum, rat(p.Difference()))
					if last := max(0, i-1); abs(d.Parts[last].Difference()).Cmp(abs(p.Difference())) < 0 {
						t.Errorf("%+v is after %+v", p, d.Parts[last])
					}
				}
				if want := rat(total.Difference()); sum.Cmp(want) != 0 {
					t.Errorf("%s by %s adds up to %s, want %s", m, d.By, sum, want)
				}
			}
			if len(all) == 2 && all[0].Shift < all[1].Shift {
				t.Errorf("%v before %v", all[0].Shift, all[1].Shift)
			}
		}
	})
}

func rat(a contribution.Amount) *big.Rat {
	if a == "" {
		return new(big.Rat)
	}
	n, ok := new(big.Rat).SetString(string(a))
	if !ok {
		panic(a)
	}
	return n
}

func abs(a contribution.Amount) *big.Rat { return new(big.Rat).Abs(rat(a)) }

func TestRanking(t *testing.T) {
	rows := func(values ...any) (list []report.Row) {
		for i := 0; i < len(values); i += 2 {
			list = append(list, report.Row{Value: values[i].(string), Visits: int64(values[i+1].(int))})
		}
		return list
	}
	before := &contribution.Side{Totals: report.Figures{Visits: 300}, Rows: map[analytics.Dimension][]report.Row{
		analytics.ByDevice: rows("desktop", 200, "phone", 100), analytics.ByUTMCampaign: rows("spring", 100, analytics.None, 200), analytics.ByCity: rows(analytics.None, 300),
	}}
	after := &contribution.Side{Totals: report.Figures{Visits: 210}, Rows: map[analytics.Dimension][]report.Row{
		analytics.ByDevice: rows("desktop", 140, "phone", 70), analytics.ByUTMCampaign: rows(analytics.None, 200, "new", 10), analytics.ByCity: rows(analytics.None, 210),
	}}
	total, all := contribution.Of(contribution.Visits, before, after, []analytics.Dimension{analytics.ByDevice, analytics.ByCity, analytics.ByUTMCampaign})
	if got, want := fmt.Sprint(total, all), "{300 210} [{utm_campaign [{spring {100 }} {new { 10}} {(none) {200 200}}] { } 70} {device [{desktop {200 140}} {phone {100 70}}] { } 0}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if rest := contribution.Rest(all[0].Parts[1:]); rest.Before != "200" || rest.After != "210" || rest.Difference() != "10" {
		t.Errorf("the rest is %+v", rest)
	}
	if _, none := contribution.Of(contribution.Visits, &contribution.Side{}, &contribution.Side{}, []analytics.Dimension{analytics.ByCity}); none != nil {
		t.Errorf("nothing is divided into %+v", none)
	}
}
