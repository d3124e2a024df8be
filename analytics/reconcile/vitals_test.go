package reconcile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
)

// vitalsOf returns the web vitals of days, in total and by what they belong to.
func (w *shop) vitalsOf(from, to string) (report.Vitals, map[string]report.VitalsRow) {
	w.Helper()
	out, err := report.WebVitals(w.ctx, w.table, report.VitalsRequest{Site: w.site.SiteID, From: from, To: to})
	w.must(err)
	rows := map[string]report.VitalsRow{"": out.Total}
	for _, row := range append(slices.Clone(out.Pages), out.Devices...) {
		rows[row.Value] = row
	}
	return out, rows
}

// checkVitals compares web vitals with the sorted values of raw events.
func (w *shop) checkVitals(from, to string) {
	w.Helper()
	type measured struct{ lcp, inp, cls []float64 }
	want := map[string]*measured{"": {}}
	for _, e := range w.recount(from, to).events {
		if e.Name != analytics.VitalsEvent {
			continue
		}
		for _, value := range []string{"", e.Path, e.Device} {
			if want[value] == nil {
				want[value] = &measured{}
			}
			m := want[value]
			if e.LCP > 0 {
				m.lcp = append(m.lcp, e.LCP)
			}
			if e.INP > 0 {
				m.inp = append(m.inp, e.INP)
			}
			if e.CLS != nil {
				m.cls = append(m.cls, *e.CLS)
			}
		}
	}
	_, got := w.vitalsOf(from, to)
	if len(got) != len(want) {
		w.Errorf("%s to %s: vitals of %d, recounted %d", from, to, len(got), len(want))
	}
	for value, m := range want {
		row := got[value]
		w.checkVital(value+" lcp", row.LCP, m.lcp, 2500, 4000, 1)
		w.checkVital(value+" inp", row.INP, m.inp, 200, 500, 1)
		w.checkVital(value+" cls", row.CLS, m.cls, 0.1, 0.25, 0.001)
	}
}

func (w *shop) checkVital(name string, got *report.Vital, values []float64, good, poor, unit float64) {
	w.Helper()
	if got == nil || len(values) == 0 {
		if got != nil || len(values) > 0 {
			w.Errorf("%s: %+v of %v", name, got, values)
		}
		return
	}
	slices.Sort(values)
	exact := values[(3*len(values)+3)/4-1]
	within := max(0.05*exact, good/40) + unit
	n, isGood, isPoor := float64(len(values)), 0., 0.
	for _, v := range values {
		if v <= good {
			isGood++
		} else if v > poor {
			isPoor++
		}
	}
	rating := report.NeedsImprovement
	if exact <= good {
		rating = report.Good
	} else if exact > poor {
		rating = report.Poor
	}
	if got.Loads != int64(len(values)) || math.Abs(got.P75-exact) > within || got.Good != isGood/n || got.Poor != isPoor/n || got.Rating != rating {
		w.Errorf("%s: %+v, want %v of %d, %v good, %v poor", name, *got, exact, len(values), isGood/n, isPoor/n)
	}
}

// Hours, days and months give the same vitals, whenever the events arrived.
func TestVitalsAgreeWithRecount(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newShop(t, "Europe/Berlin", utc("2026-04-02T12:00"))
	hits := shopTraffic(rand.New(rand.NewPCG(seed, 2)), utc("2026-02-27T23:00"), utc("2026-04-01T22:00"), 900)
	for i := range hits {
		hits[i].Device = []string{"desktop", "phone"}[i%2]
	}
	w.ingest(hits[:600]...)
	w.drain()
	w.checkVitals("2026-02-28", "2026-04-02")
	w.rollUp()
	w.checkVitals("2026-02-28", "2026-04-02")
	w.ingest(hits[600:]...) // late, on days that are rolled up
	w.drain()
	w.checkVitals("2026-02-28", "2026-04-02")
	w.rollUp()
	w.checkVitals("2026-02-28", "2026-04-02")
	w.checkVitals("2026-03-01", "2026-03-31")
	w.checkVitals("2026-03-05", "2026-03-05")
	w.checkClean("2026-03-20", "2026-04-01")
}

// Pages without a place are counted together, in every tier. So a page's vitals are its own, and
// the site's are complete.
func TestVitalsOfManyPages(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-04-02T12:00"))
	at := utc("2026-04-01T10:00")
	const pages = 900
	for part := range 3 {
		hits := make([]analytics.Hit, pages/3)
		for i := range hits {
			n := part*len(hits) + i
			hits[i] = analytics.Hit{
				At: at, Imported: true, Address: "1", Name: analytics.VitalsEvent, Path: fmt.Sprintf("/%s/%d", calendar.MonthOf("2026-04-01"), n),
				Vitals: analytics.Vitals{LCP: 1000 + float64(n), INP: 100, CLS: new(0.0)}, Client: analytics.Client{Device: "phone"},
			}
			hits[i].EventID = fmt.Sprintf("%s%016d", analytics.FirstID(at)[:10], n)
		}
		w.ingest(hits...)
		w.drain()
	}
	for range 2 {
		out, rows := w.vitalsOf("2026-04-01", "2026-04-01")
		sum := int64(0)
		for _, row := range out.Pages {
			sum += row.Loads
		}
		if sum != pages || out.Total.Loads != pages || len(out.Pages) > 201 || rows[analytics.Other].LCP == nil {
			t.Errorf("%d of %d loads in %d rows, others %+v", sum, out.Total.Loads, len(out.Pages), rows[analytics.Other])
		}
		if cls := out.Total.CLS; cls == nil || cls.P75 != 0 || cls.Good != 1 || cls.Rating != report.Good {
			t.Errorf("a page that never shifts: %+v", cls)
		}
		w.checkClean("2026-04-01", "2026-04-01")
		w.rollUp()
	}
}
