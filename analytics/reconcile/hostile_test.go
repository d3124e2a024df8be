package reconcile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/analytics/report"
)

// A sender uses different values of the maximum length each time, in every dimension and every
// property. No item exceeds its limits, no fold stops, and everything still adds up in every tier.
func TestHostileValues(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newShop(t, "UTC", utc("2026-04-05T12:00"))
	var names []string
	for i := range analytics.MaxCustomProperties {
		names = append(names, fmt.Sprintf("%02d<script>%s", i, strings.Repeat("p", 54)))
	}
	_, err := analytics.UpdateSite(w.ctx, w.table, "shop", func(s *analytics.Site) error {
		s.CustomProperties = names
		return nil
	})
	w.must(err)
	const n = 1500
	for i := 0; i < n; {
		var hits []analytics.Hit
		for ; len(hits) < 250; i++ {
			hits = append(hits, hostileHit(random, i, names))
		}
		w.ingest(hits...)
		w.drain()
	}
	w.rollUp()
	w.checkClean("2026-04-01", "2026-04-01")
	for _, by := range append(analytics.Dimensions, analytics.Dimension("prop:"+names[0]), analytics.Dimension("prop:"+names[9])) {
		for _, period := range []analytics.Period{analytics.Hour, analytics.Day, analytics.Month} {
			var sum tally.Count
			for b, err := range analytics.BreakdownByTime.All(w.ctx, w.table, analytics.BreakdownIn{SiteID: "shop", Period: period, Dimension: by}) {
				w.must(err)
				if len(b.Values) > tally.MaxValues {
					t.Errorf("%s by %s holds %d values", period, by, len(b.Values))
				}
				sum = sum.Plus(b.Values.Sum()).Plus(b.Other)
			}
			if by == analytics.ByPage && sum.PageViews != n/2 || by == analytics.ByEventName && sum.Events != n/2 ||
				strings.HasPrefix(string(by), "prop:") && sum.PageViews+sum.Events != n || by == analytics.ByHostname && sum.PageViews != n/2 {
				t.Errorf("%s by %s adds up to %+v of %d events", period, by, sum, n)
			}
		}
	}
	w.checkSizes()
}

// A value with the same name as the row for no value, or as the row for the rest, has no row of its
// own.
func TestValuesCalledLikeOthers(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-04-01T12:00"))
	for i, source := range []string{"", "(none)", "(other)", "a"} {
		w.ingest(analytics.Hit{At: utc("2026-04-01T08:00"), Imported: true, Address: fmt.Sprint(i), URL: "/?utm_source=" + source})
	}
	w.drain()
	got := map[string]int64{}
	for _, row := range w.report(report.Request{From: "2026-04-01", To: "2026-04-01", By: analytics.ByUTMSource}).Top {
		if got[row.Value] > 0 {
			t.Errorf("%s has two rows", row.Value)
		}
		got[row.Value] += row.Visits
	}
	if want := map[string]int64{"(none)": 2, "(other)": 1, "a": 1}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// hostileHit has the longest values that ingest accepts, and longer ones where ingest cuts them.
// Every second hit is a page view.
func hostileHit(random *rand.Rand, i int, names []string) analytics.Hit {
	long := func(n int) string { return hostile(random, i, n) }
	h := analytics.Hit{
		At: utc("2026-04-01T08:00"), Imported: true, Address: fmt.Sprint(i), UserAgent: "test",
		URL: fmt.Sprintf("https://h%d.%s.example/%s?utm_source=%s&utm_medium=%s&utm_campaign=%s&utm_term=%s&utm_content=%s",
			i, strings.Repeat("a", 60), long(4000), long(300), long(300), long(300), long(300), long(300)),
		Referrer: fmt.Sprintf("https://r%d.example/%s", i, long(3000)), UserID: long(120), SessionID: long(60),
		Client:     analytics.Client{Screen: long(900), Language: long(900), Country: long(900), Region: long(900), City: long(900), Browser: long(900), OS: long(900), Device: long(900)},
		Properties: map[string]string{}, Revenue: "999999999999999.999999",
	}
	for _, name := range names {
		h.Properties[name] = long(512)
	}
	for p := len(names); p < 30; p++ {
		h.Properties[fmt.Sprint(p, strings.Repeat("n", 60))] = long(512)
	}
	if i%2 == 1 {
		h.Name = long(120)
	}
	return h
}

// hostile returns a unique text of at most n bytes that begins with something dangerous.
func hostile(random *rand.Rand, i, n int) string {
	nasty := []string{"<script>alert(1)</script>", "=cmd|' /C calc'!A0", "\\|a:is:b|", "\u202e\u0000", "💥", "(other)", "(none)", "'; DROP TABLE"}
	text := fmt.Sprint(nasty[random.IntN(len(nasty))], i, ";", strings.Repeat("x", n))
	return strings.ToValidUTF8(strings.NewReplacer(" ", "", "&", "", "#", "", "?", "").Replace(text)[:n], "")
}

// checkSizes checks that every item is far below the 400 KB limit of a store. Capacity units show
// the sizes.
func (w *shop) checkSizes() {
	w.Helper()
	in := &dynamodb.ScanInput{TableName: new("shop"), Limit: new(int32(1)), ConsistentRead: new(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	items, largest := 0, 0.0
	for {
		out, err := w.db.Scan(w.ctx, in)
		w.must(err)
		for _, it := range out.Items {
			items++
			kilobytes := *out.ConsumedCapacity.CapacityUnits * 4
			if largest = max(largest, kilobytes); kilobytes > 128 {
				w.Errorf("%v %v has %v KB", it["pk"], it["sk"], kilobytes)
			}
		}
		if out.LastEvaluatedKey == nil {
			w.Logf("%d items, the largest has %v KB", items, largest)
			return
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
