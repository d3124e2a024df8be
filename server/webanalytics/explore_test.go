package webanalytics_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

func TestFilters(t *testing.T) {
	h := servertest.NewWithVisits(t)
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	for filter, want := range map[string]int64{
		"filter=page:is:/pricing":                                4,
		"filter=" + url.QueryEscape("page:is_not:/pricing"):      4,
		"filter=page:matches:/docs/*|/Docs":                      4,
		"filter=page:is:/pricing&filter=page:is:/":               3, // the whole visit
		"filter=browser:contains:fire&filter=page:is:/pricing,x": 0,
		"filter=" + url.QueryEscape("page:is:"+`/pri\|cing`):     0,
	} {
		text := viewer.Want(http.StatusOK, `"source":"raw"`, http.MethodGet, "/api/v1/sites/blog/stats?compare=previous&"+filter, "")
		var got struct{ Totals figures }
		servertest.Must(t, json.Unmarshal([]byte(text), &got))
		if got.Totals.PageViews != want {
			t.Errorf("%s: %d page views, want %d: %s", filter, got.Totals.PageViews, want, text)
		}
	}
	text := viewer.Want(http.StatusOK, `"source":"raw"`, http.MethodGet, "/api/v1/sites/blog/breakdown?by=page&filter=page:is:/pricing", "")
	if !strings.Contains(text, `"total":2`) || !strings.Contains(text, `"visitors":2`) {
		t.Error(text)
	}
	viewer.Want(http.StatusOK, `"rows":[]`, http.MethodGet, "/api/v1/sites/blog/breakdown?by=prop:plan", "")
	viewer.Want(http.StatusOK, `"done":0,"of":0`, http.MethodGet, "/api/v1/sites/blog/reading", "")
	h.NewPerson("eve@example.com", nil).Want(http.StatusForbidden, "", http.MethodGet, "/api/v1/sites/blog/reading", "")
	for query, code := range map[string]string{
		"stats?filter=page":                                    "bad_question",
		"stats?filter=colour:is:red":                           "bad_question",
		"breakdown?by=colour&filter=page:is:/":                 "bad_question",
		"stats?from=2001-01-01&to=2001-01-02&filter=page:is:/": "raw_events_gone",
		"stats?filters=page:is:/":                              "unknown_parameter",
	} {
		status := http.StatusUnprocessableEntity
		if code == "unknown_parameter" {
			status = http.StatusBadRequest
		}
		viewer.Want(status, code, http.MethodGet, fmt.Sprintf("/api/v1/sites/blog/%s", query), "")
	}
}

func TestSessionsAndTimelines(t *testing.T) {
	h := servertest.NewWithVisits(t)
	h.Post("/api/event", `{"site":"blog","url":"https://example.org/buy","name":"order","userId":"ann/1","revenue":"12.50","props":{"plan":"pro"}}`)
	servertest.Must(t, h.Worker.Drain(t.Context()))
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	type session struct {
		ID, Entry, Exit, Browser, UserID, Revenue string
		PageViews, Events                         int64
		Timeline                                  []struct{ Kind, Name, Path string }
	}
	var list struct {
		Sessions []session
		Cursor   string
	}
	found, cursor := 0, ""
	for {
		text := viewer.Want(http.StatusOK, `"source":"statistics"`, http.MethodGet, "/api/v1/sites/blog/sessions?limit=3&cursor="+cursor, "")
		list.Cursor = ""
		servertest.Must(t, json.Unmarshal([]byte(text), &list))
		found += len(list.Sessions)
		if cursor = list.Cursor; cursor == "" {
			break
		}
	}
	if found != 4 {
		t.Errorf("%d sessions", found)
	}
	text := viewer.Want(http.StatusOK, `"source":"raw"`, http.MethodGet, "/api/v1/sites/blog/sessions?filter=event:is:order", "")
	servertest.Must(t, json.Unmarshal([]byte(text), &list))
	if len(list.Sessions) != 1 || list.Sessions[0].Revenue != "12.5" || list.Sessions[0].UserID != "ann/1" || list.Sessions[0].Browser != "Firefox" {
		t.Fatal(text)
	}
	viewer.Want(http.StatusOK, list.Sessions[0].ID, http.MethodGet, "/api/v1/sites/blog/users/ann%2F1/sessions", "")
	text = viewer.Want(http.StatusOK, `"props":{"plan":"pro"}`, http.MethodGet, "/api/v1/sites/blog/sessions/"+list.Sessions[0].ID, "")
	var one session
	servertest.Must(t, json.Unmarshal([]byte(text), &one))
	if len(one.Timeline) != 1 || one.Timeline[0].Kind != "event" || one.Timeline[0].Path != "/buy" {
		t.Error(text)
	}
	viewer.Want(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/sites/blog/sessions/nobody", "")
	viewer.Want(http.StatusUnprocessableEntity, "bad_cursor", http.MethodGet, "/api/v1/sites/blog/sessions?cursor=x", "")
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/sites/other/sessions", "")
}

func TestFunnelsJourneysAndRetention(t *testing.T) {
	h := servertest.New(t, nil)
	for i, paths := range [][]string{{"/", "/pricing", "/"}, {"/pricing"}, {"/", "/Docs", "/docs/a", "/"}} {
		for n, path := range paths {
			at := time.Now().Add(time.Duration(n-5) * time.Second).UTC().Format(time.RFC3339Nano)
			h.Post("/api/event", fmt.Sprintf(`{"site":"blog","url":"https://example.org%s","at":%q}`, path, at), "User-Agent", fmt.Sprintf("%s%d", servertest.Firefox, i))
		}
	}
	servertest.Must(t, h.Worker.Drain(t.Context()))
	admin := h.NewPerson("admin@example.com", accounts.Grants{"blog": accounts.Admin})
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	const body = `{"name":"Buying","steps":[{"path":"/"},{"path":"/docs/*"}],"windowMinutes":30}`
	const says = `"steps":[{"name":"/","visits":2,"dropOff":0,"rate":1},{"name":"/docs/*","visits":1,"dropOff":1,"rate":0.5}]`
	text := admin.Want(http.StatusCreated, `"windowMinutes":30`, http.MethodPost, "/api/v1/sites/blog/funnels", body)
	var funnel struct{ ID string }
	servertest.Must(t, json.Unmarshal([]byte(text), &funnel))
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/sites/blog/funnels", body)
	viewer.Want(http.StatusOK, funnel.ID, http.MethodGet, "/api/v1/sites/blog/funnels", "")
	viewer.Want(http.StatusOK, says, http.MethodGet, "/api/v1/sites/blog/funnels/"+funnel.ID+"/report?by=browser", "")
	viewer.Want(http.StatusOK, says, http.MethodPost, "/api/v1/sites/blog/funnels/preview", `{"steps":[{"path":"/"},{"path":"/docs/*"}]}`)
	viewer.Want(http.StatusUnprocessableEntity, "bad_question", http.MethodPost, "/api/v1/sites/blog/funnels/preview", `{"steps":[{"path":"/"},{}]}`)
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodDelete, "/api/v1/sites/blog/funnels/"+funnel.ID, "")
	admin.Want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/sites/blog/funnels/"+funnel.ID, "")
	admin.Want(http.StatusNotFound, "not_found", http.MethodDelete, "/api/v1/sites/blog/funnels/"+funnel.ID, "")

	const ways = `"levels":[[{"page":"/","visits":2}],[{"page":"/Docs","visits":1},{"page":"/pricing","visits":1}]],"links":[{"from":[0,0],"to":[1,0],"visits":1},{"from":[0,0],"to":[1,1],"visits":1}]`
	viewer.Want(http.StatusOK, ways, http.MethodGet, "/api/v1/sites/blog/journeys?page=/&steps=1", "")
	viewer.Want(http.StatusOK, `"levels":[],"links":[]`, http.MethodGet, "/api/v1/sites/blog/journeys?page=/nowhere", "")
	viewer.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodGet, "/api/v1/sites/blog/journeys", "")

	viewer.Want(http.StatusOK, `"cohorts":[]`, http.MethodGet, "/api/v1/sites/blog/retention", "")
	h.Post("/api/event", `{"site":"blog","url":"https://example.org/","userId":"ann"}`)
	servertest.Must(t, h.Worker.Drain(t.Context()))
	viewer.Want(http.StatusOK, `"users":1,"returned":[1`, http.MethodGet, "/api/v1/sites/blog/retention?by=day&filter=page:is:/", "")
	viewer.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodGet, "/api/v1/sites/blog/retention?by=year", "")
	viewer.Want(http.StatusOK, `"users":1,"returned":[1`, http.MethodGet, "/api/v1/sites/blog/retention?by=day&began=page:is:/", "")
	viewer.Want(http.StatusOK, `"users":1,"returned":[0`, http.MethodGet, "/api/v1/sites/blog/retention?by=day&began=page:is:/&again=event:is:order", "")
	viewer.Want(http.StatusOK, `"cohorts":[]`, http.MethodGet, "/api/v1/sites/blog/retention?by=day&began=event:is:order", "")
	viewer.Want(http.StatusUnprocessableEntity, "bad_question", http.MethodGet, "/api/v1/sites/blog/retention?began=user.did:page:is:/", "")
	viewer.Want(http.StatusOK, `identified users`, http.MethodGet, "/api/v1/sites/blog/stats?filter=user.did:page:is:/", "")
	viewer.Want(http.StatusOK, `"visits":2`, http.MethodGet, "/api/v1/sites/blog/stats?filter=visitor.did.2-:page:is:/", "")
}

func TestAttribution(t *testing.T) {
	h := servertest.New(t, nil)
	now := time.Now()
	for i, url := range []string{"/?utm_campaign=spring", "/?utm_campaign=mail", "/"} {
		at := now.Add(time.Duration(i-3) * 25 * time.Hour).UTC().Format(time.RFC3339Nano)
		h.Post("/api/event", fmt.Sprintf(`{"site":"blog","url":"https://example.org%s","userId":"ann","at":%q}`, url, at), "Authorization", "Bearer "+ingestKey(h))
	}
	h.Post("/api/event", `{"site":"blog","url":"https://example.org/buy","name":"order","userId":"ann","revenue":"10"}`)
	servertest.Must(t, h.Worker.Drain(t.Context()))
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	const path = "/api/v1/sites/blog/attribution"
	text := viewer.Want(http.StatusOK, `"revenue":"10","events":1,"known":1`, http.MethodGet, path+"?by=utm_campaign&sort=first", "")
	if !strings.Contains(text, `"rows":[{"value":"spring","events":1,"first":"10","last":"0","linear":"2.5",`) || !strings.Contains(text, `"currency":"EUR"`) {
		t.Error(text)
	}
	viewer.Want(http.StatusOK, `"total":3`, http.MethodGet, path+"?by=utm_campaign&limit=1", "")
	viewer.Want(http.StatusOK, `"rows":[]`, http.MethodGet, path+"?filter=page:is:/nowhere", "")
	viewer.Want(http.StatusUnprocessableEntity, "bad_question", http.MethodGet, path+"?by=page", "")
	viewer.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodGet, path+"?lookback=91", "")
	viewer.Want(http.StatusUnprocessableEntity, "raw_events_gone", http.MethodGet, path+"?from=2001-01-01&to=2001-01-02", "")
}

// ingestKey returns a key that may send events of the past.
func ingestKey(h *servertest.Server) string {
	_, token, err := h.Accounts.AddKey(h.Context(), accounts.NewKey{Site: "blog", Scope: accounts.Ingest})
	servertest.Must(h.T, err)
	return token
}

func TestExport(t *testing.T) {
	h := servertest.NewWithVisits(t)
	hits := make([]analytics.Hit, 1000)
	for i := range hits {
		hits[i] = analytics.Hit{
			URL: fmt.Sprintf("/p%d?utm_campaign=%%3Dcmd", i), Address: "192.0.2.1",
			Properties: map[string]string{"a": strings.Repeat("long ", 100), "b": strings.Repeat("long ", 100)},
		}
	}
	if _, err := h.Collector.Ingest(t.Context(), "blog", hits); err != nil {
		t.Fatal(err)
	}
	servertest.Must(t, h.Worker.Drain(t.Context()))
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	text := viewer.Want(http.StatusOK, "'=cmd", http.MethodGet, "/api/v1/sites/blog/export?kind=events&format=csv", "")
	if lines := strings.Count(text, "\n"); lines != 1+8+1000 || len(text) < 1<<20 {
		t.Errorf("%d lines, %d bytes", lines, len(text))
	}
	text = viewer.Want(http.StatusOK, `"path":"/pricing"`, http.MethodGet, "/api/v1/sites/blog/export?format=jsonl&filter=page:is:/pricing", "")
	if lines := strings.Count(text, "\n"); lines != 4 {
		t.Errorf("%d lines: %s", lines, text)
	}
	viewer.Want(http.StatusOK, "page_views", http.MethodGet, "/api/v1/sites/blog/export?kind=sessions", "")
	viewer.Want(http.StatusOK, "engaged_seconds", http.MethodGet, "/api/v1/sites/blog/export?kind=stats&period=hour", "")
	viewer.Want(http.StatusUnprocessableEntity, "raw_events_gone", http.MethodGet, "/api/v1/sites/blog/export?from=2001-01-01&to=2001-01-02&filter=page:is:/", "")
	viewer.Want(http.StatusUnprocessableEntity, "bad_question", http.MethodGet, "/api/v1/sites/blog/export?from=2001-01-03&to=2001-01-02", "")
	viewer.Want(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/sites/blog/export/x", "")
}
