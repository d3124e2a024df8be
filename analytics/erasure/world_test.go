package erasure

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

var noon = time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)

// world is a site with its folds and its own clock.
type world struct {
	*foldtest.World
	collector *analytics.Collector
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: foldtest.NewWorld(t, foldtest.Setup{
		Schema: Schema, Group: analytics.FoldGroup, At: noon,
		Folds: func(*table.Table) []*fold.Fold { return analytics.Folds(analytics.Config{}) },
	})}
	w.collector = analytics.NewCollector(w.Table, analytics.CollectorOptions{})
	w.site("site")
	return w
}

func (w *world) site(id string) {
	w.Helper()
	_, err := analytics.CreateSite(w.Ctx, w.Table, analytics.NewSite{ID: id, Shards: 4, TimeZone: "Europe/Berlin"})
	w.Must(err)
	w.Must(analytics.Goals.Put(w.Ctx, w.Table, &analytics.Goal{GoalKey: analytics.GoalKey{SiteID: id, GoalID: "page"}, Name: "page", Path: "/p*"}))
}

func (w *world) ingest(site string, hits ...analytics.Hit) {
	w.Helper()
	outcomes, err := w.collector.Ingest(w.Ctx, site, hits)
	w.Must(err)
	for _, o := range outcomes {
		if o.Status != analytics.Stored {
			w.Fatalf("%+v", o)
		}
	}
}

func (w *world) settle() {
	w.Helper()
	w.Must(w.Worker.Drain(w.Ctx))
	_, err := reconcile.RollUp(w.Ctx, w.Table, "site", w.Now())
	w.Must(err)
	w.Must(w.Worker.Drain(w.Ctx))
}

// draw generates what visitors do within three days. Ann uses two addresses and is sometimes
// identified.
func draw(r *rand.Rand, n int) (all, others []analytics.Hit) {
	for range n {
		visitor := r.IntN(8)
		h := analytics.Hit{
			At:      noon.Add(-time.Duration(r.IntN(72*3600)) * time.Second),
			Address: fmt.Sprint("192.0.2.", visitor), UserAgent: "test", Client: analytics.Client{Country: []string{"DE", "FR"}[r.IntN(2)]},
			Path: []string{"/", "/p1", "/p2"}[r.IntN(3)], Referrer: []string{"", "https://blog.net/x"}[r.IntN(2)],
		}
		switch r.IntN(6) {
		case 0:
			h.Name, h.Revenue = "order", "9.99"
		case 1:
			h.Name, h.EngagedMS, h.Scroll = analytics.EngagementEvent, 1500, r.IntN(101)
		case 2:
			h.Name, h.Vitals = analytics.VitalsEvent, analytics.Vitals{LCP: float64(r.IntN(6000)), CLS: new(float64(r.IntN(3)) / 8)}
		}
		if visitor < 2 {
			h.UserID = "ann-4711"
		} else if r.IntN(3) == 0 {
			h.UserID = "bob"
		}
		all = append(all, h)
		if visitor >= 2 {
			others = append(others, h)
		}
	}
	return all, others
}

// figures returns the answers of all reports for the site's days.
func (w *world) figures() map[string]string {
	w.Helper()
	got := map[string]string{}
	for _, period := range []analytics.Period{analytics.Hour, analytics.Day, analytics.Month} {
		for _, by := range analytics.Dimensions {
			out, err := report.Make(w.Ctx, w.Table, report.Request{Site: "site", From: "2026-05-01", To: "2026-05-31", Period: period, By: by})
			w.Must(err)
			got[fmt.Sprint(period, " totals")] = fmt.Sprintf("%+v", out.Totals.Figures)
			for _, b := range out.Buckets {
				got[fmt.Sprint(period, " ", b.Start)] = fmt.Sprintf("%+v", b.Figures)
			}
			for _, r := range out.Top {
				depth, duration := 0.0, 0.0
				if r.ScrollDepth != nil {
					depth = *r.ScrollDepth
				}
				if r.Duration != nil {
					duration = *r.Duration
				}
				r.ScrollDepth, r.BounceRate, r.Duration = nil, nil, nil
				got[fmt.Sprint(by, " ", r.Value)] = fmt.Sprintf("%+v %v %v", r, depth, duration)
			}
		}
	}
	vitals, err := report.WebVitals(w.Ctx, w.Table, report.VitalsRequest{Site: "site", From: "2026-05-01", To: "2026-05-31"})
	w.Must(err)
	for _, row := range append(vitals.Pages, vitals.Devices...) {
		text, err := json.Marshal(row)
		w.Must(err)
		got["vitals of "+row.Value] = string(text)
	}
	return got
}

func (w *world) checkSame(want map[string]string) {
	w.Helper()
	got := w.figures()
	keys := make([]string, 0, len(got)+len(want))
	for k := range got {
		keys = append(keys, k)
	}
	for k := range want {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		if got[k] != want[k] {
			w.Errorf("%s is %s, want %s", k, got[k], want[k])
		}
	}
}

func (w *world) checkClean() {
	w.Helper()
	found, err := reconcile.Verify(w.Ctx, w.Table, w.Worker, reconcile.RangeIn{Site: "site", From: "2026-05-08", To: "2026-05-12"}, nil)
	w.Must(err)
	if found.Count > 0 || len(found.Busy) > 0 {
		w.Errorf("%d differences: %+v", found.Count, found.List)
	}
}

// items returns all items of the table that contain a text.
func (w *world) items(text string) (found []string) {
	w.Helper()
	in := &dynamodb.ScanInput{TableName: new(foldtest.TableName)}
	for {
		out, err := w.DB.Scan(w.Ctx, in)
		w.Must(err)
		for _, it := range out.Items {
			if all := plain(&types.AttributeValueMemberM{Value: it}); strings.Contains(all, text) {
				found = append(found, plain(it["pk"])+" "+plain(it["sk"]))
			}
		}
		if out.LastEvaluatedKey == nil {
			return found
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// plain returns a value as text. For binary values, this is their bytes.
func plain(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	case *types.AttributeValueMemberL:
		var b strings.Builder
		for _, e := range v.Value {
			b.WriteString(plain(e) + "\n")
		}
		return b.String()
	case *types.AttributeValueMemberM:
		var b strings.Builder
		for name, e := range v.Value {
			b.WriteString(name + "=" + plain(e) + "\n")
		}
		return b.String()
	}
	return ""
}

func mustZone(w *world) calendar.Zone {
	w.Helper()
	zone, err := calendar.LoadZone("Europe/Berlin")
	w.Must(err)
	return zone
}
