package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/onefold/onefold/internal/recorded"
)

// oracle is the result of the independent count in testdata/oracle.py for a log.
type oracle struct {
	Lines     int64            `json:"lines"`
	Malformed int64            `json:"malformed"`
	PageViews int64            `json:"pageViews"`
	Visitors  map[string]int64 `json:"visitors"` // by day
	Visits    int64            `json:"visits"`
	ByDay     map[string]int64 `json:"byDay"`
	ByHour    map[string]int64 `json:"byHour"`
	Pages     map[string]int64 `json:"pages"`
}

type reportJSON struct {
	Totals  bucketJSON   `json:"totals"`
	Buckets []bucketJSON `json:"buckets"`
	Top     []struct {
		Value     string `json:"value"`
		PageViews int64  `json:"pageViews"`
		Visits    int64  `json:"visits"`
	} `json:"top"`
}

type bucketJSON struct {
	Start     string `json:"start"`
	PageViews int64  `json:"pageViews"`
	Visits    int64  `json:"visits"`
	Visitors  int64  `json:"visitors"`
}

// The numbers of a real log equal those of an independent count, for each hour, each day, in total
// and for each page.
func TestRealLogAgainstOracle(t *testing.T) {
	t.Parallel()
	log := recorded.Path(t, recorded.AccessLog)
	want := count(t, log)
	data := filepath.Join(t.TempDir(), "data")
	summary := fromJSON[importSummary](t, onefold(t, "--data", data, "import", "--site", "s", "--include-bots", "--include-assets", "--json", log))
	if summary.Lines != want.Lines || summary.Malformed != want.Malformed || summary.Imported != want.PageViews {
		t.Errorf("imported %+v, the oracle counts %d lines, %d malformed, %d page views", summary, want.Lines, want.Malformed, want.PageViews)
	}
	report := func(args ...string) reportJSON {
		args = slices.Concat([]string{"--data", data, "report", "--site", "s", "--from", "2015-05-17", "--to", "2015-05-20", "--limit", "0", "--json"}, args)
		return fromJSON[reportJSON](t, onefold(t, args...))
	}
	byDay := report()
	if byDay.Totals.PageViews != want.PageViews || byDay.Totals.Visits != want.Visits {
		t.Errorf("totals %+v, the oracle counts %d page views, %d visits", byDay.Totals, want.PageViews, want.Visits)
	}
	for _, b := range byDay.Buckets {
		if b.PageViews != want.ByDay[b.Start] || b.Visitors != want.Visitors[b.Start] {
			t.Errorf("day %+v, the oracle counts %d page views, %d visitors", b, want.ByDay[b.Start], want.Visitors[b.Start])
		}
	}
	for _, b := range report("--period", "hour").Buckets {
		if b.PageViews != want.ByHour[b.Start] {
			t.Errorf("hour %+v, the oracle counts %d page views", b, want.ByHour[b.Start])
		}
	}
	pages := map[string]int64{}
	for _, row := range byDay.Top {
		pages[row.Value] = row.PageViews
	}
	for page, views := range want.Pages {
		if pages[page] != views {
			t.Errorf("page %s: %d views, the oracle counts %d", page, pages[page], views)
		}
	}
	everyDimensionAddsUp(t, report, want)
}

func everyDimensionAddsUp(t *testing.T, report func(...string) reportJSON, want oracle) {
	t.Helper()
	for _, by := range []string{"page", "entry_page", "exit_page", "referrer", "source", "channel", "utm_source", "country", "browser", "os", "device", "language"} {
		for _, period := range []string{"hour", "day", "month"} {
			r := report("--period", period, "--by", by)
			var top, buckets, visits int64
			for _, row := range r.Top {
				top += row.PageViews
				visits += row.Visits
			}
			for _, b := range r.Buckets {
				buckets += b.PageViews
			}
			if top != want.PageViews || buckets != want.PageViews {
				t.Errorf("by %s and %s: values add up to %d, buckets to %d page views, want %d", by, period, top, buckets, want.PageViews)
			}
			if by != "page" && visits != want.Visits {
				t.Errorf("by %s and %s: values add up to %d visits, want %d", by, period, visits, want.Visits)
			}
		}
	}
}

func count(t *testing.T, log string) oracle {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing: the oracle is written in it; install python3")
	}
	out, err := exec.Command(python, "testdata/oracle.py", log).Output()
	if err != nil {
		t.Fatalf("oracle: %v", err)
	}
	var o oracle
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatal(err)
	}
	return o
}
