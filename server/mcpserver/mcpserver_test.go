package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/alerts"
	"github.com/onefold/onefold/analytics/digest"
	"github.com/onefold/onefold/analytics/segments"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
)

// withKey sends requests with a key.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	as := r.Clone(r.Context())
	if k != "" {
		as.Header.Set("Authorization", "Bearer "+string(k))
	}
	return http.DefaultTransport.RoundTrip(as)
}

func connect(h *servertest.Server, key string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	return client.Connect(h.Context(), &mcp.StreamableClientTransport{
		Endpoint: h.URL + "/mcp", HTTPClient: &http.Client{Transport: withKey(key)}, MaxRetries: -1,
	}, nil)
}

// client connects with a new key.
func client(h *servertest.Server, key accounts.NewKey) *mcp.ClientSession {
	h.Helper()
	_, token, err := h.Accounts.AddKey(h.Context(), key)
	servertest.Must(h.T, err)
	session, err := connect(h, token)
	servertest.Must(h.T, err)
	h.Cleanup(func() { servertest.Must(h.T, session.Close()) })
	return session
}

func toolsOf(h *servertest.Server, s *mcp.ClientSession) string {
	h.Helper()
	list, err := s.ListTools(h.Context(), nil)
	servertest.Must(h.T, err)
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
		if !t.Annotations.ReadOnlyHint || t.Description == "" || t.Title == "" {
			h.Errorf("%s: %+v", t.Name, t)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// call calls a tool, and returns its text.
func call(h *servertest.Server, s *mcp.ClientSession, tool string, arguments any) (text string, failed bool) {
	h.Helper()
	r, err := s.CallTool(h.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	servertest.Must(h.T, err)
	text = r.Content[0].(*mcp.TextContent).Text
	if !r.IsError {
		structured, err := json.Marshal(r.StructuredContent)
		servertest.Must(h.T, err)
		var a, b any
		if json.Unmarshal(structured, &a) != nil || json.Unmarshal([]byte(text), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			h.Errorf("%s: the structured content differs from the text: %s, %s", tool, structured, text)
		}
	}
	if len(text) > 41<<10 {
		h.Errorf("%s: %d bytes", tool, len(text))
	}
	return text, r.IsError
}

const analyticsTools = "attribute_revenue explain_change list_alerts list_reports list_segments list_sites query_web_analytics"

// Callers get the tools that their keys allow.
func TestTools(t *testing.T) {
	h := servertest.New(t, nil)
	_, err := telemetry.CreateFleet(t.Context(), h.Table, telemetry.NewFleet{ID: "plant"})
	servertest.Must(t, err)
	const deviceTools, eventTools = "list_devices list_fleets read_device_metric", "list_aggregate_types list_aggregates read_events"
	for _, c := range []struct {
		key  accounts.NewKey
		want string
	}{
		{accounts.NewKey{Site: "blog", Scope: accounts.Read}, analyticsTools},
		{accounts.NewKey{Site: "blog", Scope: accounts.Write}, analyticsTools},
		{accounts.NewKey{Site: accounts.OfFleet("plant"), Scope: accounts.Read}, deviceTools},
		{accounts.NewKey{Site: accounts.EventStore, Scope: accounts.Read}, eventTools},
		{accounts.NewKey{Site: accounts.AllSites, Scope: accounts.Read}, analyticsTools + " " + deviceTools + " " + eventTools},
	} {
		have := strings.Fields(c.want)
		slices.Sort(have)
		if got := toolsOf(h, client(h, c.key)); got != strings.Join(have, " ") {
			t.Errorf("%+v: %s, want %s", c.key, got, c.want)
		}
	}
}

// Without a key that reads, there is nothing.
func TestKeys(t *testing.T) {
	h := servertest.New(t, nil)
	_, ingest, err := h.Accounts.AddKey(t.Context(), accounts.NewKey{Site: "blog", Scope: accounts.Ingest})
	servertest.Must(t, err)
	for _, key := range []string{"", "wrong", "ofk_aaaaaaaa_bbbbbbbbbbbbbbbb", ingest} {
		if s, err := connect(h, key); err == nil {
			t.Errorf("%q connects: %s", key, toolsOf(h, s))
		}
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	accept := []string{"Accept", "application/json, text/event-stream"}
	for _, c := range []struct {
		status  int
		says    string
		headers []string
	}{
		{http.StatusUnauthorized, "scope read", nil},
		{http.StatusUnauthorized, "scope read", []string{"Authorization", "Basic eDp5"}},
		{http.StatusForbidden, "forbidden", []string{"Authorization", "Bearer " + ingest}},
		{http.StatusForbidden, "cross_origin", []string{"Authorization", "Bearer " + servertest.Token, "Origin", "https://evil.example"}},
		{http.StatusForbidden, "cross_origin", []string{"Authorization", "Bearer " + servertest.Token, "Sec-Fetch-Site", "cross-site"}},
		{http.StatusForbidden, "Host", []string{"Authorization", "Bearer " + servertest.Token, "Host", "rebound.example"}},
		{http.StatusOK, "query_web_analytics", []string{"Authorization", "Bearer " + servertest.Token}},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/mcp", strings.NewReader(hello))
		servertest.Must(t, err)
		r.Header.Set("Content-Type", "application/json")
		if i := slices.Index(c.headers, "Host"); i >= 0 {
			r.Host = c.headers[i+1]
		}
		if status, text := h.Do(r, append(accept, c.headers...)); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%v: %d %s, want %d %s", c.headers, status, text, c.status, c.says)
		}
	}
	ann := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	ann.Want(http.StatusUnauthorized, "scope read", http.MethodPost, "/mcp", hello, accept...) // the session of a browser does not count
	if status, text := h.Post("/mcp", `{"a":"`+strings.Repeat("x", 70<<10)+`"}`, append(accept, "Authorization", "Bearer "+servertest.Token)...); status/100 != 4 {
		t.Errorf("a large request: %d %.200s", status, text)
	}
	if status, text := h.Get("/mcp", "Authorization", "Bearer "+servertest.Token); status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d %s", status, text)
	}
}

// "Which campaign lost last week?" takes one call.
func TestWhichCampaignLost(t *testing.T) {
	h := servertest.New(t, nil)
	servertest.Campaigns(h)
	s := client(h, accounts.NewKey{Site: "blog", Scope: accounts.Read})
	text, failed := call(h, s, "explain_change", map[string]any{"site_id": "blog", "metric": "visits", "date_range": "last_week", "dimensions": []string{"utm_campaign"}})
	var got struct {
		Total      struct{ Before, After, Difference int }
		Dimensions []struct {
			Dimension string
			Parts     []struct {
				Value                     string
				Before, After, Difference int
			}
		}
	}
	servertest.Must(t, json.Unmarshal([]byte(text), &got))
	if said := fmt.Sprint(got); failed || said != "{{54 43 -11} [{utm_campaign [{spring 30 12 -18} {autumn 4 9 5} {(none) 20 22 2}]}]}" {
		t.Errorf("%s: %s", said, text)
	}
	text, failed = call(h, s, "query_web_analytics", map[string]any{
		"site_id": "blog", "metrics": []string{"visits"}, "date_range": "last_week", "dimensions": []string{"utm_campaign"},
		"include": map[string]any{"comparisons": map[string]any{"mode": "previous_period"}},
	})
	if failed || !strings.Contains(text, `{"comparison":{"change":[-0.6],"dimensions":["spring"],"metrics":[30]},"dimensions":["spring"],"metrics":[12]}`) {
		t.Error(text)
	}
	text, failed = call(h, s, "list_sites", nil)
	if failed || !strings.Contains(text, `"site_id":"blog"`) {
		t.Error(text)
	}
	key := accounts.NewKey{Site: "other", Scope: accounts.Read}
	if _, err := analytics.CreateSite(t.Context(), h.Table, analytics.NewSite{ID: "other"}); err != nil {
		t.Fatal(err)
	}
	if text, failed := call(h, client(h, key), "explain_change", map[string]any{"site_id": "blog", "metric": "visits", "date_range": "7d"}); !failed || !strings.Contains(text, "forbidden") {
		t.Errorf("with a key of another site: %s", text)
	}
}

// Segments are listed, and used by name.
func TestSegments(t *testing.T) {
	h := servertest.NewWithVisits(t)
	_, _, err := segments.Create(t.Context(), h.Table, segments.Segment{Key: segments.Key{SiteID: "blog"}, Name: "Saw pricing", Filters: []string{"page:is:/pricing"}})
	servertest.Must(t, err)
	s := client(h, accounts.NewKey{Site: "blog", Scope: accounts.Read})
	text, failed := call(h, s, "list_segments", map[string]any{"site_id": "blog"})
	if failed || !strings.Contains(text, `"id":"saw-pricing","name":"Saw pricing"`) {
		t.Error(text)
	}
	ask := map[string]any{"site_id": "blog", "metrics": []string{"visits"}, "date_range": "7d", "filters": []any{[]any{"is", "segment", []string{"Saw pricing"}}}, "include": map[string]any{"comparisons": map[string]any{"mode": "everything"}}}
	if text, failed = call(h, s, "query_web_analytics", ask); failed || !strings.Contains(text, `"comparison":{"change":[-0.33`) || !strings.Contains(text, `"metrics":[3]},"dimensions":[],"metrics":[2]`) {
		t.Error(text)
	}
	ask["filters"] = []any{[]any{"is", "segment", []string{"nobody"}}}
	if text, failed = call(h, s, "query_web_analytics", ask); !failed || !strings.Contains(text, "unknown_segment") {
		t.Error(text)
	}
}

// Alerts, reports and attribution are those of the API, to keys of the site.
func TestAlertsReportsAndAttribution(t *testing.T) {
	h := servertest.NewWithVisits(t)
	_, err := analytics.CreateSite(t.Context(), h.Table, analytics.NewSite{ID: "shop"})
	servertest.Must(t, err)
	_, err = alerts.Put(t.Context(), h.Table, alerts.Rule{Key: alerts.Key{SiteID: "blog", RuleID: "low"}, Name: "Low", Settings: alerts.Settings{Kind: alerts.Drop}})
	servertest.Must(t, err)
	_, err = digest.Put(t.Context(), h.Table, digest.Report{Key: digest.Key{SiteID: "blog", ReportID: "week"}, Every: digest.Weekly})
	servertest.Must(t, err)
	for i := range 3 {
		servertest.Must(t, alerts.Alerts.Put(t.Context(), h.Table, &alerts.Alert{
			AlertKey: alerts.AlertKey{SiteID: "blog", AlertID: fmt.Sprint("a", i)}, RuleID: "low", Kind: alerts.Drop, Status: alerts.Resolved, Summary: "No visitors.",
		}))
	}
	s, other := client(h, accounts.NewKey{Site: "blog", Scope: accounts.Read}), client(h, accounts.NewKey{Site: "shop", Scope: accounts.Read})
	for tool, want := range map[string]string{"list_alerts": `"summary":"No visitors."`, "list_reports": `"every":"weekly"`, "attribute_revenue": `"by":"source"`} {
		text, failed := call(h, s, tool, map[string]any{"site_id": "blog"})
		if failed || !strings.Contains(text, want) {
			t.Errorf("%s: %s", tool, text)
		}
		if text, failed := call(h, other, tool, map[string]any{"site_id": "blog"}); !failed || !strings.Contains(text, "forbidden") {
			t.Errorf("%s with a key of another site: %s", tool, text)
		}
	}
	var part struct {
		Alerts, Rules []any
		Cursor        string
	}
	text, _ := call(h, s, "list_alerts", map[string]any{"site_id": "blog", "limit": 2})
	if err := json.Unmarshal([]byte(text), &part); err != nil || len(part.Alerts) != 2 || len(part.Rules) != 1 || part.Cursor == "" {
		t.Errorf("%v: %s", err, text)
	}
	if text, failed := call(h, s, "list_alerts", map[string]any{"site_id": "blog", "limit": 2, "cursor": part.Cursor}); failed || strings.Contains(text, `"rules"`) || !strings.Contains(text, `"a0"`) {
		t.Errorf("the second part: %s", text)
	}
	for _, bad := range []map[string]any{{"by": "page"}, {"sort": "best"}, {"from": "yesterday"}} {
		bad["site_id"] = "blog"
		if text, failed := call(h, s, "attribute_revenue", bad); !failed {
			t.Errorf("%v: %s", bad, text)
		}
	}
}

// Bad arguments get an error that says what to do.
func TestHostileArguments(t *testing.T) {
	h := servertest.NewWithVisits(t)
	_, err := telemetry.CreateFleet(t.Context(), h.Table, telemetry.NewFleet{ID: "plant"})
	servertest.Must(t, err)
	s := client(h, accounts.NewKey{Site: accounts.AllSites, Scope: accounts.Read})
	long := strings.Repeat("x", 30_000)
	type object = map[string]any
	for _, c := range []struct {
		tool      string
		arguments any
		want      string
	}{
		{"query_web_analytics", nil, "site_id"},
		{"query_web_analytics", object{"site_id": "blog", "metrics": []string{"visiters"}, "date_range": "7d"}, "unknown_metric: Unknown metric \"visiters\": use visitors"},
		{"query_web_analytics", object{"site_id": "blog", "metrics": []string{"visits"}, "date_range": long}, "date_range"},
		{"query_web_analytics", object{"site_id": "blog", "metrics": []string{"visits"}, "date_range": "7d", "dimensions": []string{long}}, "unknown_dimension"},
		{"query_web_analytics", object{"site_id": "nothing", "metrics": []string{"visits"}, "date_range": "7d"}, "not_found"},
		{"query_web_analytics", object{"site_id": "../sites/blog", "metrics": []string{"visits"}, "date_range": "7d"}, "not_found"},
		{"query_web_analytics", object{"site_id": "..", "metrics": []string{"visits"}, "date_range": "7d"}, "not_found"},
		{"query_web_analytics", object{"site_id": "a#b", "metrics": []string{"visits"}, "date_range": "7d"}, "bad_site"},
		{"query_web_analytics", object{"site_id": 7, "metrics": []string{"visits"}, "date_range": "7d"}, "site_id"},
		{"query_web_analytics", object{"site_id": "blog", "metrics": "visits", "date_range": "7d"}, "metrics"},
		{"query_web_analytics", object{"site_id": "blog", "metrics": []string{"visits"}, "date_range": "7d", "pagination": "all"}, "pagination"},
		{"query_web_analytics", object{"site_id": "blog", "metrics": []string{"visits"}, "date_range": "7d", "surprise": true}, "surprise"},
		{"query_web_analytics", []string{"blog"}, "object"},
		{"explain_change", object{"site_id": "blog", "metric": "happiness", "date_range": "7d"}, "metric"},
		{"explain_change", object{"site_id": "blog", "metric": "visits", "date_range": nil}, "date_range"},
		{"list_sites", object{"surprise": true}, "surprise"},
		{"list_devices", object{"fleet_id": "nothing"}, "not_found"},
		{"read_device_metric", object{"fleet_id": "a", "device_id": "b", "metric": "c", "last": "7w"}, "last"},
		{"read_device_metric", object{"fleet_id": "a", "device_id": "b", "metric": "c", "last": "7d", "from": "2026-05-01T00:00:00Z"}, "either"},
		{"read_device_metric", object{"fleet_id": "a", "device_id": "..", "metric": "c"}, "not_found"},
		{"read_events", object{"type": "order", "id": "nothing"}, "no_such_aggregate"},
		{"read_events", object{"type": "order", "id": "1", "limit": 1e6}, "limit"},
		{"list_aggregates", object{"type": "order", "cursor": "x"}, "bad_cursor"},
	} {
		text, failed := call(h, s, c.tool, c.arguments)
		if !failed || !strings.Contains(text, c.want) || len(text) > 3000 {
			t.Errorf("%s %.100v: %.300s, want %s", c.tool, c.arguments, text, c.want)
		}
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "delete_site"}); err == nil {
		t.Error("there is a tool that does not exist")
	}
}

// Results are bounded. A list that does not fit is cut, and says so.
func TestLargeResults(t *testing.T) {
	h := servertest.New(t, nil)
	var hits []analytics.Hit
	for i := range 400 {
		hits = append(hits, analytics.Hit{Imported: true, Address: "10.0.0.1", UserAgent: "test", At: time.Now().Add(-time.Minute), URL: fmt.Sprintf("https://example.com/%d/%s", i, strings.Repeat("p", 400))})
	}
	_, err := h.Collector.Ingest(t.Context(), "blog", hits)
	servertest.Must(t, err)
	servertest.Must(t, h.Worker.Drain(t.Context()))
	s := client(h, accounts.NewKey{Site: "blog", Scope: accounts.Read})
	text, failed := call(h, s, "query_web_analytics", map[string]any{"site_id": "blog", "metrics": []string{"pageviews"}, "date_range": "yesterday", "dimensions": []string{"page"}})
	if failed || strings.Contains(text, "truncated") {
		t.Errorf("a short list: %.300s", text)
	}
	text, failed = call(h, s, "query_web_analytics", map[string]any{
		"site_id": "blog", "metrics": []string{"pageviews"}, "date_range": "7d", "dimensions": []string{"page"}, "pagination": map[string]any{"limit": 400},
	})
	var got struct {
		Results   []any
		Truncated string
		Meta      struct{ Total_rows int }
	}
	servertest.Must(t, json.Unmarshal([]byte(text), &got))
	if failed || len(got.Results) == 0 || len(got.Results) >= got.Meta.Total_rows || !strings.Contains(got.Truncated, fmt.Sprintf("Only %d of %d", len(got.Results), got.Meta.Total_rows)) {
		t.Errorf("%d results, %q, %d rows", len(got.Results), got.Truncated, got.Meta.Total_rows)
	}
	if text, failed := call(h, s, "explain_change", map[string]any{"site_id": "blog", "metric": "pageviews", "date_range": "7d", "dimensions": []string{"page"}, "limit": 100}); !failed || !strings.Contains(text, "too_large") {
		t.Errorf("a dimension that does not fit: %.300s", text)
	}
}

func TestDevicesAndEvents(t *testing.T) {
	h := servertest.New(t, nil)
	ctx := t.Context()
	_, err := telemetry.CreateFleet(ctx, h.Table, telemetry.NewFleet{ID: "plant", Name: "Plant", TimeZone: "Europe/Berlin"})
	servertest.Must(t, err)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.Want(http.StatusCreated, "", http.MethodPost, "/api/v1/fleets/plant/devices", `{"id":"d1","name":"Boiler","notes":{"wifiPassword":"hidden"}}`)
	var token struct{ Token string }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(http.StatusCreated, "", http.MethodPost, "/api/v1/fleets/plant/devices/d1/tokens", `{}`)), &token))
	status, posted := h.Post("/api/readings", fmt.Sprintf(`{"at":%q,"values":{"temperature":21.5}}`, time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)), "Authorization", "Bearer "+token.Token)
	if status/100 != 2 {
		t.Fatal(status, posted)
	}
	owner.Want(http.StatusCreated, "", http.MethodPost, "/api/v1/events/aggregates/order/1/events", `{"events":[{"type":"Placed","data":{"total":7,"customer":1234567890123456789}},{"type":"Paid","data":{}}]}`)
	servertest.Must(t, h.Worker.Drain(ctx))
	s := client(h, accounts.NewKey{Site: accounts.AllSites, Scope: accounts.Read})
	type object = map[string]any
	for _, c := range []struct {
		tool      string
		arguments any
		want, not string
	}{
		{"list_fleets", nil, `"fleet_id":"plant"`, ""},
		{"list_devices", object{"fleet_id": "plant", "search": "boil"}, `"temperature":{`, "hidden"},
		{"list_devices", object{"fleet_id": "plant", "search": "nothing"}, `"devices":[]`, "d1"},
		{"read_device_metric", object{"fleet_id": "plant", "device_id": "d1", "metric": "temperature", "last": "1h"}, "21.5", ""},
		{"read_device_metric", object{"fleet_id": "plant", "device_id": "d1", "metric": "temperature", "from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z"}, `"points":[]`, "21.5"},
		{"list_aggregate_types", nil, `"order"`, ""},
		{"list_aggregates", object{"type": "order"}, `"version":2`, ""},
		{"read_events", object{"type": "order", "id": "1", "limit": 1}, "Paid", "Placed"},
		{"read_events", object{"type": "order", "id": "1", "oldest_first": true, "limit": 1}, `"customer":1234567890123456789`, "Paid"},
		{"read_events", object{"type": "order", "id": "1", "oldest_first": true, "limit": 1}, `"total":7`, "Paid"},
	} {
		text, failed := call(h, s, c.tool, c.arguments)
		if failed || !strings.Contains(text, c.want) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s %v: %s, want %s", c.tool, c.arguments, text, c.want)
		}
	}
	for i := range 100 {
		owner.Want(http.StatusCreated, "", http.MethodPost, "/api/v1/fleets/plant/devices", fmt.Sprintf(`{"id":"long%d","name":%q,"location":%q}`, i, strings.Repeat("n", 200), strings.Repeat("l", 200)))
	}
	servertest.Must(t, h.Worker.Drain(ctx))
	text, failed := call(h, s, "list_devices", object{"fleet_id": "plant", "limit": 100})
	if failed || !strings.Contains(text, "truncated") || strings.Contains(text, "cursor") {
		t.Errorf("a cut list, whose cursor would skip what was cut: %.300s", text)
	}
	if text, failed := call(h, s, "list_devices", object{"fleet_id": "plant", "limit": 20}); failed || strings.Contains(text, "truncated") || !strings.Contains(text, "cursor") {
		t.Errorf("the first devices: %.300s", text)
	}
	limited := client(h, accounts.NewKey{Site: accounts.EventStore, Scope: accounts.Read, Limits: accounts.Limits{Types: []string{"basket"}}})
	if text, failed := call(h, limited, "read_events", object{"type": "order", "id": "1"}); !failed || !strings.Contains(text, "key_limited") {
		t.Errorf("a limited key: %s", text)
	}
}
