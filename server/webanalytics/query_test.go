package webanalytics_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

type queried struct {
	Results     []queriedRow
	None, Other *queriedRow
	Meta        struct {
		Source   string
		TotalRow int `json:"total_rows"`
		Notes    []string
	}
	Query struct {
		DateRange  []string `json:"date_range"`
		Comparison []string `json:"comparison_date_range"`
	}
}

type queriedRow struct {
	Dimensions []string
	Metrics    []any
	Comparison *struct {
		Dimensions []string
		Metrics    []any
		Change     []*float64
	}
}

func (l *ledger) query(body map[string]any) queried {
	l.Helper()
	text, err := json.Marshal(body)
	servertest.Must(l.T, err)
	status, answer := l.Post("/api/v1/sites/blog/query", string(text), "Authorization", "Bearer "+servertest.Token)
	if status != http.StatusOK {
		l.Fatalf("%s: %d %s", text, status, answer)
	}
	var out queried
	servertest.Must(l.T, json.Unmarshal([]byte(answer), &out))
	return out
}

// totalsBy and rowsBy map metrics of queries to fields of the older responses.
var (
	totalsBy = map[string]string{
		"visitors": "visitors", "visits": "visits", "pageviews": "pageViews", "events": "events", "bounce_rate": "bounceRate", "visit_duration": "duration",
		"views_per_visit": "viewsPerVisit", "conversions": "conversions", "total_revenue": "revenue", "engagement_time": "engagedSeconds",
	}
	rowsBy = map[string]string{
		"visits": "visits", "pageviews": "pageViews", "bounce_rate": "bounceRate", "visit_duration": "duration", "total_revenue": "revenue",
		"engagement_time": "engagedSeconds", "share": "share", "visitors": "visitors",
	}
)

// Random queries have the numbers of stats and breakdown, to the unit.
func TestQueriesAgreeWithStatistics(t *testing.T) {
	seeds.Run(t, 2, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := newLedger(t, "Europe/Berlin", "2026-03-23", "2026-04-05", nil)
		from, to := l.bounds()
		l.ingest(deeds(r, 150, from, to))
		for range 60 {
			l.agreesWithQuery(r)
		}
	})
}

func (l *ledger) agreesWithQuery(r *rand.Rand) {
	l.Helper()
	first := calendar.ShiftDay("2026-03-23", r.IntN(14))
	last := calendar.ShiftDay(first, r.IntN(14))
	asked := url.Values{"from": {first}, "to": {last}}
	body := map[string]any{"date_range": []string{first, last}}
	if r.IntN(2) == 0 {
		op, by, values := pickOne(r, "is", "is_not", "contains"), pickOne(r, "country", "source", "page", "goal", "prop:plan"), pickOne(r, []string{"DE"}, []string{"FR", "(none)"}, []string{"pro"}, []string{"/b|c"}, []string{"Google", "buy"})
		if op == "contains" {
			values = values[:1]
		}
		escaped := strings.NewReplacer(`\`, `\\`, `|`, `\|`)
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = escaped.Replace(v)
		}
		asked.Set("filter", by+":"+op+":"+strings.Join(texts, "|"))
		body["filters"] = []any{[]any{op, by, values}}
	}
	if mode := pickOne(r, "", "previous_period", "year_over_year"); mode != "" {
		by := r.IntN(2) == 0
		body["include"] = map[string]any{"comparisons": map[string]any{"mode": mode, "match_day_of_week": by}}
		asked.Set("compare", map[string]string{"previous_period": "previous", "year_over_year": "year"}[mode])
		asked.Set("align", map[bool]string{true: "weekday", false: "date"}[by])
	}
	if r.IntN(2) == 0 {
		l.agreesWithStats(r, asked, body)
		return
	}
	l.agreesWithBreakdown(r, asked, body)
}

func pickOne[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

type anyRow = map[string]any

func (l *ledger) agreesWithStats(r *rand.Rand, asked url.Values, body map[string]any) {
	l.Helper()
	metrics := slices.Sorted(maps.Keys(totalsBy))
	body["metrics"] = metrics
	period := pickOne(r, "", "hour", "day", "month")
	if period != "" {
		body["dimensions"], asked["period"] = []string{"time:" + period}, []string{period}
		body["pagination"] = map[string]any{"limit": 1000}
	}
	want := get[struct {
		Totals                     anyRow
		Previous                   anyRow
		Buckets, PreviousBuckets   []anyRow
		PreviousFrom, PreviousTo   string
		Source, From, To, TimeZone string
	}](l.Server, "/api/v1/sites/blog/stats?"+asked.Encode())
	got := l.query(body)
	buckets, before := want.Buckets, want.PreviousBuckets
	if period == "" {
		buckets, before = []anyRow{want.Totals}, []anyRow{want.Previous}
	}
	if got.Meta.Source != want.Source || len(got.Results) != len(buckets) || got.Query.DateRange[0] != want.From || got.Query.DateRange[1] != want.To {
		l.Fatalf("%v: %d rows of %s, %v, want %d of %s", body, len(got.Results), got.Meta.Source, got.Query, len(buckets), want.Source)
	}
	if want.PreviousFrom != "" && !slices.Equal(got.Query.Comparison, []string{want.PreviousFrom, want.PreviousTo}) {
		l.Errorf("%v: compared with %v, want %s to %s", body, got.Query.Comparison, want.PreviousFrom, want.PreviousTo)
	}
	for i, row := range got.Results {
		l.same(body, metrics, totalsBy, row.Metrics, buckets[i])
		if row.Comparison != nil && i < len(before) {
			l.same(body, metrics, totalsBy, row.Comparison.Metrics, before[i])
		}
		if period != "" && row.Dimensions[0] != buckets[i]["start"] {
			l.Errorf("%v: bucket %s, want %s", body, row.Dimensions, buckets[i]["start"])
		}
	}
}

func (l *ledger) agreesWithBreakdown(r *rand.Rand, asked url.Values, body map[string]any) {
	l.Helper()
	by := string(pickOne(r, append(slices.Clone(analytics.Dimensions), "prop:plan", "prop:url")...))
	metrics := []string{"visits", "pageviews", "bounce_rate", "visit_duration", "total_revenue", "engagement_time", "share"}
	if r.IntN(3) == 0 {
		metrics = append(metrics, "visitors")
	}
	body["metrics"], body["dimensions"], body["pagination"] = metrics, []string{by}, map[string]any{"limit": 1000}
	got := l.query(body)
	asked.Set("by", by)
	asked.Set("limit", "1000")
	check := func(side string, list map[string][]any, none, other []any) {
		l.Helper()
		if got.Meta.Source == "raw" {
			asked.Set("all", "true")
		}
		want := get[struct {
			Rows        []anyRow
			None, Other anyRow
			Source      string
		}](l.Server, "/api/v1/sites/blog/breakdown?"+asked.Encode())
		for _, row := range want.Rows {
			l.same(body, metrics, rowsBy, list[row["value"].(string)], row)
			delete(list, row["value"].(string))
		}
		for value, left := range list {
			if left[0] != nil && left[0] != 0. || left[1] != 0. {
				l.Errorf("%v: %s has %q with %v, the breakdown does not", body, side, value, left)
			}
		}
		for value, pair := range map[string][2]any{"none": {none, want.None}, "other": {other, want.Other}} {
			if row := pair[1].(anyRow); row != nil {
				l.same(body, metrics, rowsBy, pair[0].([]any), row)
			} else if have := pair[0].([]any); have != nil && have[1] != 0. {
				l.Errorf("%v: %s has %s %v, the breakdown does not", body, side, value, have)
			}
		}
	}
	now, before := map[string][]any{}, map[string][]any{}
	for _, row := range got.Results {
		now[row.Dimensions[0]] = row.Metrics
		if row.Comparison != nil {
			before[row.Dimensions[0]] = row.Comparison.Metrics
		}
	}
	asked.Del("compare")
	asked.Del("align")
	check("the range", now, metricsOfRow(got.None, false), metricsOfRow(got.Other, false))
	if got.Query.Comparison != nil {
		asked.Set("from", got.Query.Comparison[0])
		asked.Set("to", got.Query.Comparison[1])
		check("the comparison", before, metricsOfRow(got.None, true), metricsOfRow(got.Other, true))
	}
}

func metricsOfRow(row *queriedRow, before bool) []any {
	switch {
	case row == nil:
		return nil
	case before:
		return row.Comparison.Metrics
	}
	return row.Metrics
}

// same compares metrics with the fields of a row. Fields that are absent are unknown or 0.
func (l *ledger) same(body any, metrics []string, fields map[string]string, got []any, want anyRow) {
	l.Helper()
	if len(got) != len(metrics) {
		l.Fatalf("%v: %v, want %v", body, got, want)
	}
	for i, m := range metrics {
		has, wants := got[i], want[fields[m]]
		if has == nil && (wants == nil || wants == 0.) {
			continue
		}
		if wants == nil {
			wants = pickZero(m)
		}
		if has != wants {
			l.Errorf("%v: %s is %v, want %v of %v", body, m, has, wants, want)
		}
	}
}

func pickZero(metric string) any {
	if metric == "total_revenue" {
		return "0"
	}
	return 0.
}

func TestQuery(t *testing.T) {
	h := servertest.NewWithVisits(t)
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	const path = "/api/v1/sites/blog/query"
	for body, want := range map[string]string{
		`{"metrics":["visitors","visits","pageviews","views_per_visit"],"date_range":"today"}`:                                                 `[3 3 8 2.6666666666666665]`,
		`{"metrics":["pageviews"],"date_range":"Last 7 days","dimensions":["page"]}`:                                                           `/ [4], /pricing [2], /Docs [1], /docs/a [1]`,
		`{"metrics":["pageviews"],"date_range":"7d","dimensions":["event:page"],"search":"DOCS"}`:                                              `/Docs [1], /docs/a [1]`,
		`{"metrics":["pageviews"],"date_range":"7d","dimensions":["page"],"order_by":[["pageviews","asc"],["page","desc"]]}`:                   `/docs/a [1], /Docs [1], /pricing [2], / [4]`,
		`{"metrics":["pageviews"],"date_range":"7d","dimensions":["page"],"pagination":{"limit":2,"offset":1}}`:                                `/pricing [2], /Docs [1]`,
		`{"metrics":["pageviews"],"date_range":"7d","dimensions":["page"],"pagination":{"offset":99}}`:                                         ``,
		`{"metrics":["visitors"],"date_range":"7d","dimensions":["visit:browser"]}`:                                                            `Firefox [3]`,
		`{"metrics":["visits","pageviews"],"date_range":"7d","filters":[["is","event:page",["/pricing"]]]}`:                                    `[2 4]`,
		`{"metrics":["pageviews"],"date_range":"7d","dimensions":["page"],"include":{"comparisons":{"mode":"previous_period"}},"search":"pr"}`: `/pricing [2] from [0] [<nil>]`,
		`{"metrics":["visits"],"date_range":"all","dimensions":["utm_campaign"]}`:                                                              `, none [3]`,
	} {
		var got queried
		servertest.Must(t, json.Unmarshal([]byte(viewer.Want(http.StatusOK, "time_zone", http.MethodPost, path, body)), &got))
		var rows []string
		for _, r := range got.Results {
			text := strings.TrimSpace(strings.Join(r.Dimensions, " ") + " " + fmt.Sprint(r.Metrics))
			if r.Comparison != nil {
				text += fmt.Sprintf(" from %v %v", r.Comparison.Metrics, r.Comparison.Change)
			}
			rows = append(rows, text)
		}
		text := strings.Join(rows, ", ")
		if got.None != nil {
			text += fmt.Sprintf(", none %v", got.None.Metrics)
		}
		if text != want {
			t.Errorf("%s: %s, want %s", body, text, want)
		}
		if !strings.Contains(strings.Join(got.Meta.Notes, " "), "is not over") {
			t.Errorf("%s: no note about today: %v", body, got.Meta.Notes)
		}
	}
	for body, want := range map[string][2]string{
		`{"metrics":["visiters"],"date_range":"7d"}`:                                                                             {"unknown_metric", "pageviews"},
		`{"metrics":["share"],"date_range":"7d"}`:                                                                                {"metric_unavailable", "add one to dimensions"},
		`{"metrics":["conversions"],"date_range":"7d","dimensions":["source"]}`:                                                  {"metric_unavailable", "dimension goal"},
		`{"metrics":["events"],"date_range":"7d","dimensions":["source"]}`:                                                       {"metric_unavailable", "dimension event"},
		`{"metrics":["scroll_depth"],"date_range":"7d","dimensions":["source"]}`:                                                 {"metric_unavailable", "dimension page"},
		`{"metrics":["views_per_visit"],"date_range":"7d","dimensions":["page"]}`:                                                {"metric_unavailable", "by page"},
		`{"metrics":["visits"],"date_range":"7d","dimensions":["colour"]}`:                                                       {"unknown_dimension", "utm_campaign"},
		`{"metrics":["visits"],"date_range":"7d","dimensions":["time:minute"]}`:                                                  {"unknown_dimension", "time:hour"},
		`{"metrics":["visits"],"date_range":"next week"}`:                                                                        {"bad_range", "last_week"},
		`{"metrics":["visits"],"date_range":""}`:                                                                                 {"bad_range", "YYYY-MM-DD"},
		`{"metrics":["visits"],"date_range":["2026-02-30","2026-03-01"]}`:                                                        {"bad_range", "2026-02-30"},
		`{"metrics":["visits"],"date_range":["2026-03-02","2026-03-01"]}`:                                                        {"bad_range", "before it begins"},
		`{"metrics":["visits"],"date_range":["2000-01-01","2026-03-01"]}`:                                                        {"bad_range", "3660"},
		`{"metrics":["visits"],"date_range":"400d","dimensions":["time:hour"]}`:                                                  {"bad_range", "366"},
		`{"metrics":["visits"],"date_range":["2026-03-01"]}`:                                                                     {"invalid_request", ""},
		`{"metrics":["visits"],"date_range":7}`:                                                                                  {"invalid_request", ""},
		`{"metrics":["visits"],"date_range":null}`:                                                                               {"invalid_request", ""},
		`{"metrics":["visits"]}`:                                                                                                 {"invalid_request", "date_range"},
		`{"metrics":[],"date_range":"7d"}`:                                                                                       {"invalid_request", "metrics"},
		`{"metrics":["visits"],"date_range":"7d","dimensions":["page","source"]}`:                                                {"invalid_request", "dimensions"},
		`{"metrics":["visits"],"date_range":"7d","order_by":[["pageviews","desc"]]}`:                                             {"bad_order", "visits"},
		`{"metrics":["visits"],"date_range":"7d","order_by":[["visits","down"]]}`:                                                {"", "asc"},
		`{"metrics":["visits"],"date_range":"7d","filters":[["like","page",["/"]]]}`:                                             {"bad_question", "contains_not"},
		`{"metrics":["visits"],"date_range":"7d","filters":[["is","page",[]]]}`:                                                  {"invalid_request", ""},
		`{"metrics":["visits"],"date_range":"7d","filters":[["is","page","/"]]}`:                                                 {"", ""},
		`{"metrics":["visits"],"date_range":"7d","filters":[["is","colour",["red"]]]}`:                                           {"bad_question", "colour"},
		`{"metrics":["visits"],"date_range":"7d","include":{"comparisons":{"mode":"custom"}}}`:                                   {"bad_comparison", "date_range"},
		`{"metrics":["visits"],"date_range":"7d","include":{"comparisons":{"mode":"previous_period","date_range":"last_week"}}}`: {"bad_comparison", "custom"},
		`{"metrics":["visits"],"date_range":"7d","pagination":{"limit":1001}}`:                                                   {"invalid_request", "limit"},
		`{"metrics":["visits"],"date_range":"7d","colour":1}`:                                                                    {"invalid_request", "colour"},
		`[]`: {"invalid_request", ""},
		``:   {"", ""},
	} {
		status, answer := viewer.Do(http.MethodPost, path, body)
		if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest || !strings.Contains(answer, want[0]) || !strings.Contains(answer, want[1]) {
			t.Errorf("%s: %d %s, want %v", body, status, answer, want)
		}
	}
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/sites/other/query", `{"metrics":["visits"],"date_range":"7d"}`)
	h.Settings(func(s *analytics.Site) { s.Public = true })
	h.Browser().Want(http.StatusOK, `"metrics":[3]`, http.MethodPost, path, `{"metrics":["visits"],"date_range":"7d"}`)
	h.Browser().Want(http.StatusForbidden, "forbidden", http.MethodPost, path, `{"metrics":["visits"],"date_range":"7d","dimensions":["prop:secret"]}`)
}
