package explore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// deepest tries every way of taking the steps.
func deepest(c FunnelDefinition, events []analytics.Event, began int64) int {
	most := 0
	for i, e := range events {
		s := c.Steps[0]
		prefix := strings.TrimRight(s.Path, "*")
		is := e.Name == s.Event && s.Event != "" || e.Name == "" && s.Event == "" && (e.Path == s.Path || prefix != s.Path && strings.HasPrefix(e.Path, prefix))
		start := began
		if start < 0 {
			start = at(e).UnixMilli()
		}
		if !is || c.WindowMinutes > 0 && at(e).UnixMilli()-start > int64(c.WindowMinutes)*60_000 {
			continue
		}
		n := 1
		if len(c.Steps) > 1 {
			n += deepest(FunnelDefinition{c.Steps[1:], c.WindowMinutes}, events[i+1:], start)
		}
		most = max(most, n)
	}
	return most
}

func TestFunnelsAgreeWithBruteForce(t *testing.T) {
	inTwoZones(t, 300, func(w *shop, random *rand.Rand, from, to string) {
		all := w.oracle(from, to)
		steps := []Step{{Path: "/"}, {Path: "/a"}, {Path: "/b"}, {Path: "/blog/**"}, {Path: "/**"}, {Event: "order"}, {Event: "signup"}}
		for range 8 {
			in := FunnelIn{Range: w.between(from, to), By: analytics.ByCountry}
			for range 2 + random.IntN(3) {
				in.Steps = append(in.Steps, steps[random.IntN(len(steps))])
			}
			in.WindowMinutes = []int{0, 5, 30, 90}[random.IntN(4)]
			if random.IntN(2) == 0 {
				in.Filters = drawFilters(random)
			}
			want := make([]int64, len(in.Steps))
			germans := int64(0)
			for _, v := range all.filtered(in.Filters).visits {
				n := deepest(in.FunnelDefinition, v.events, -1)
				for i := range n {
					want[i]++
				}
				if n > 1 && v.events[0].Country == "DE" {
					germans++
				}
			}
			got, err := w.x.FunnelReport(w.ctx, in)
			w.must(err)
			for i, s := range got.Steps {
				if s.Visits != want[i] || i > 0 && s.DropOff != want[i-1]-want[i] {
					w.Errorf("%v of %+v: %+v, want %v", in.Filters, in.FunnelDefinition, got.Steps, want)
					break
				}
			}
			for _, g := range got.Groups {
				if g.Value == "DE" && g.Visits[1] != germans {
					w.Errorf("%v of %+v: %+v, want %d from DE", in.Filters, in.FunnelDefinition, got.Groups, germans)
				}
			}
		}
	})
}

func TestFunnelsAreKept(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	course := FunnelDefinition{Steps: []Step{{Path: "/"}, {Event: "order"}}, WindowMinutes: 30}
	f, err := w.x.CreateFunnel(w.ctx, "shop", " Buying ", course)
	w.must(err)
	all, err := w.x.Funnels(w.ctx, "shop")
	w.must(err)
	if len(all) != 1 || all[0].Name != "Buying" || fmt.Sprint(all[0].FunnelDefinition) != fmt.Sprint(course) {
		t.Errorf("%+v", all)
	}
	w.must(w.x.DeleteFunnel(w.ctx, "shop", f.FunnelID))
	if err := w.x.DeleteFunnel(w.ctx, "shop", f.FunnelID); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if _, err := w.x.CreateFunnel(w.ctx, "other", "x", course); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	for name, c := range map[string]FunnelDefinition{
		"one step": {Steps: course.Steps[:1]}, "many steps": {Steps: make([]Step, 13)}, "empty step": {Steps: make([]Step, 2)},
		"both": {Steps: []Step{{Path: "/", Event: "x"}, {Path: "/"}}}, "no slash": {Steps: []Step{{Path: "a"}, {Path: "/"}}},
		"window": {Steps: course.Steps, WindowMinutes: 1441}, "long": {Steps: []Step{{Path: "/" + strings.Repeat("a", 600)}, {Path: "/"}}},
	} {
		if _, err := w.x.CreateFunnel(w.ctx, "shop", "x", c); !errors.Is(err, ErrQuestion) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := w.x.CreateFunnel(w.ctx, "shop", " ", course); !errors.Is(err, ErrQuestion) {
		t.Errorf("no name: error %v", err)
	}
}
