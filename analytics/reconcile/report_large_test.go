package reconcile

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
)

// There are fifty thousand dissimilar paths, so the breakdowns of a range are larger than one
// answer of the table. While hours are read, every path is there. After days are rolled up, the
// paths with the most views are there, and the rest adds up.
func TestReportOfManyPaths(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-20T12:00"))
	const days, hours, each = 10, 5, 1000 // as many as an hour keeps
	for n := range days * hours {
		start := utc("2026-05-08T08:00").Add(time.Duration(n/hours)*24*time.Hour + time.Duration(n%hours)*time.Hour)
		hits := make([]analytics.Hit, each)
		for i := range hits {
			name := sha256.Sum256([]byte(fmt.Sprint(n, i)))
			hits[i] = analytics.Hit{
				At: start.Add(time.Duration(i) * 3 * time.Second), Imported: true, Address: fmt.Sprint(n, i/50), UserAgent: "test", // one visit within the hour
				Path: fmt.Sprintf("/%x/%x/%x", name[:8], name[8:16], name[16:25]), // too short for tokens, which are masked
			}
		}
		w.ingest(hits...)
		w.drain()
	}
	in := report.Request{From: "2026-05-08", To: "2026-05-17", By: analytics.ByPage}
	out := w.report(in)
	if unit := 4096.0; out.Cost.ReadUnits*unit < 2<<20 {
		t.Errorf("%+v for more than an answer holds", out.Cost)
	}
	const all = days * hours * each
	if len(out.Top) != all || out.Top[0].PageViews != 1 || out.Top[all-1].PageViews != 1 || out.Totals.PageViews != all {
		t.Errorf("%d rows from hours, the first %+v, the last %+v, totals %+v", len(out.Top), out.Top[0], out.Top[len(out.Top)-1], out.Totals)
	}
	w.rollUp()
	out = w.report(in)
	var sum int64
	for _, row := range out.Top {
		sum += row.PageViews
	}
	const kept = days * each
	if len(out.Top) != kept+1 || out.Top[0].Value != analytics.Other || out.Top[0].PageViews != all-kept || sum != all || out.Totals.PageViews != all {
		t.Errorf("%d rows from days, the first %+v, together %d page views, totals %+v", len(out.Top), out.Top[0], sum, out.Totals)
	}
	if limited := w.report(report.Request{From: in.From, To: in.To, By: analytics.ByPage, Limit: 7}); len(limited.Top) != 7 {
		t.Errorf("%d rows of 7", len(limited.Top))
	}
}
