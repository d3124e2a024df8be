package webanalytics_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

type difference struct {
	Before, After, Difference any
	Change                    *float64
}

type explained struct {
	Total, Divided difference
	DividedAs      string `json:"divided_as"`
	Dimensions     []struct {
		Dimension string
		Parts     []struct {
			Value string
			difference
		}
		Rest, Unattributed *difference
		RestValues         int `json:"rest_values"`
	}
	Range      []string `json:"date_range"`
	Comparison []string `json:"comparison_date_range"`
	Meta       struct{ Notes []string }
}

func (l *ledger) explain(body map[string]any) explained {
	l.Helper()
	text, err := json.Marshal(body)
	servertest.Must(l.T, err)
	status, answer := l.Post("/api/v1/sites/blog/explain", string(text), "Authorization", "Bearer "+servertest.Token)
	if status != http.StatusOK {
		l.Fatalf("%s: %d %s", text, status, answer)
	}
	var out explained
	servertest.Must(l.T, json.Unmarshal([]byte(answer), &out))
	return out
}

// exactly returns a number of an answer as an exact amount.
func exactly(n any) string {
	switch n := n.(type) {
	case float64:
		return plainAmount(fmt.Sprint(int64(n)))
	case string:
		return plainAmount(n)
	}
	return ""
}

// The contributions of random explanations add up to the change of the totals, and are the differences
// of the breakdowns, with and without filters.
func TestExplanationsAddUp(t *testing.T) {
	seeds.Run(t, 2, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 4))
		l := newLedger(t, "Europe/Berlin", "2026-03-16", "2026-04-05", nil)
		from, to := l.bounds()
		l.ingest(deeds(r, 150, from, to))
		for range 20 {
			first := calendar.ShiftDay("2026-03-20", r.IntN(14))
			body := map[string]any{
				"metric": pickOne(r, "visitors", "visits", "pageviews", "events", "conversions", "total_revenue"), "limit": 1 + r.IntN(4),
				"date_range":  []string{first, calendar.ShiftDay(first, r.IntN(6))},
				"comparisons": map[string]any{"mode": "custom", "date_range": []string{"2026-03-16", calendar.ShiftDay("2026-03-16", r.IntN(10))}},
			}
			filter := ""
			if r.IntN(2) == 0 {
				body["filters"], filter = []any{[]any{"is_not", "country", []string{"FR"}}}, "&filter=country:is_not:FR"
			}
			l.addsUpExplained(body, filter)
		}
	})
}

func (l *ledger) addsUpExplained(body map[string]any, filter string) {
	l.Helper()
	e := l.explain(body)
	metric := fmt.Sprint(body["metric"])
	minus := func(a, b string) string { return decimal.Add(a, decimal.Times(b, -1)) }
	before, _ := l.totals(fmt.Sprintf("from=%s&to=%s%s", e.Comparison[0], e.Comparison[1], filter))
	after, _ := l.totals(fmt.Sprintf("from=%s&to=%s%s", e.Range[0], e.Range[1], filter))
	if got, want := [2]string{exactly(e.Total.Before), exactly(e.Total.After)}, [2]string{before.metric(metric), after.metric(metric)}; got != want {
		l.Errorf("%v: %v, want %v", body, got, want)
	}
	if len(e.Dimensions) == 0 && e.Divided.After != 0. && e.Divided.After != "0" {
		l.Errorf("%v: nothing is divided: %+v", body, e)
	}
	for _, d := range e.Dimensions {
		rows := [2]map[string]ledgerRow{
			l.rows(d.Dimension, fmt.Sprintf("from=%s&to=%s%s", e.Comparison[0], e.Comparison[1], filter)),
			l.rows(d.Dimension, fmt.Sprintf("from=%s&to=%s%s", e.Range[0], e.Range[1], filter)),
		}
		sum := ""
		for _, p := range d.Parts {
			was, is := rows[0][p.Value], rows[1][p.Value]
			if got, want := [2]string{exactly(p.Before), exactly(p.After)}, [2]string{was.part(e.DividedAs), is.part(e.DividedAs)}; got != want {
				l.Errorf("%v by %s: %s has %v, want %v", body, d.Dimension, p.Value, got, want)
			}
			sum = decimal.Add(sum, exactly(p.Difference))
			if exactly(p.Difference) != minus(exactly(p.After), exactly(p.Before)) {
				l.Errorf("%v: %+v", body, p)
			}
		}
		for _, left := range []*difference{d.Rest, d.Unattributed} {
			if left != nil {
				sum = decimal.Add(sum, exactly(left.Difference))
			}
		}
		if want := minus(exactly(e.Divided.After), exactly(e.Divided.Before)); sum != want || want != exactly(e.Divided.Difference) {
			l.Errorf("%v by %s: the parts add up to %q, want %q", body, d.Dimension, sum, want)
		}
		if d.Unattributed != nil {
			l.Errorf("%v by %s: %+v is unattributed", body, d.Dimension, *d.Unattributed)
		}
	}
}

func (s sheet) metric(name string) string {
	switch name {
	case "visitors":
		return plainAmount(fmt.Sprint(s.Visitors))
	case "conversions":
		return plainAmount(fmt.Sprint(s.Conversions))
	}
	return s.part(name)
}

func (s sheet) part(name string) string {
	switch name {
	case "pageviews":
		return plainAmount(fmt.Sprint(s.PageViews))
	case "events", "conversions":
		return plainAmount(fmt.Sprint(s.Events))
	case "total_revenue":
		return plainAmount(s.Revenue)
	}
	return plainAmount(fmt.Sprint(s.Visits))
}

func TestExplain(t *testing.T) {
	h := servertest.NewWithVisits(t)
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	const path = "/api/v1/sites/blog/explain"
	var e explained
	servertest.Must(t, json.Unmarshal([]byte(viewer.Want(http.StatusOK, "divided_as", http.MethodPost, path, `{"metric":"pageviews","date_range":"today","dimensions":["page","browser","page"],"limit":1}`)), &e))
	var said []string
	for _, d := range e.Dimensions {
		said = append(said, fmt.Sprintf("%s: %s %v", d.Dimension, d.Parts[0].Value, d.Parts[0].Difference))
		if d.Rest != nil {
			said = append(said, fmt.Sprintf("and %d: %v", d.RestValues, d.Rest.Difference))
		}
	}
	slices.Sort(said[:2])
	if got, want := strings.Join(said, ", "), "and 3: 4, page: / 4, browser: Firefox 8"; got != want || e.Total.Change != nil {
		t.Errorf("%s, want %s: %+v", got, want, e)
	}
	text := viewer.Want(http.StatusOK, "add up to the change of visits, which is +3, not to that of visitors", http.MethodPost, path, `{"metric":"visitors","date_range":"7d"}`)
	if !strings.Contains(text, "is not over") {
		t.Error(text)
	}
	viewer.Want(http.StatusOK, `"dimensions":[]`, http.MethodPost, path, `{"metric":"conversions","date_range":"7d"}`)
	for body, want := range map[string][2]string{
		`{"metric":"bounce_rate","date_range":"7d"}`:                                     {"invalid_request", "visitors"},
		`{"metric":"visits","date_range":"7d","dimensions":["page"]}`:                    {"metric_unavailable", "utm_campaign"},
		`{"metric":"events","date_range":"7d","dimensions":["source"]}`:                  {"metric_unavailable", "event"},
		`{"metric":"visits","date_range":"7d","dimensions":["colour"]}`:                  {"unknown_dimension", "utm_campaign"},
		`{"metric":"visits","date_range":"soon"}`:                                        {"bad_range", "last_week"},
		`{"metric":"visits","date_range":"7d","comparisons":{"mode":"custom"}}`:          {"bad_comparison", "date_range"},
		`{"metric":"visits","date_range":"7d","limit":101}`:                              {"invalid_request", "limit"},
		`{"metric":"visits","date_range":"7d","filters":[["is","country",["(other)"]]]}`: {"bad_question", "(other)"},
		`{"metric":"visits","date_range":"7d","filters":[["is","country",["DE"]]],"comparisons":{"mode":"custom","date_range":["2020-01-01","2020-01-02"]}}`: {"raw_events_gone", "2020"},
		`{"metric":"visits"}`: {"invalid_request", "date_range"},
	} {
		status, answer := viewer.Do(http.MethodPost, path, body)
		if status != http.StatusUnprocessableEntity || !strings.Contains(answer, want[0]) || !strings.Contains(answer, want[1]) {
			t.Errorf("%s: %d %s, want %v", body, status, answer, want)
		}
	}
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/sites/other/explain", `{"metric":"visits","date_range":"7d"}`)
}
