package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/onefold/onefold/accounts"
)

func TestFilters(t *testing.T) {
	h := visitedHouse(t)
	viewer := h.newPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	for filter, want := range map[string]int64{
		"filter=page:is:/pricing":                                4,
		"filter=" + url.QueryEscape("page:is_not:/pricing"):      4,
		"filter=page:matches:/docs/*|/Docs":                      4,
		"filter=page:is:/pricing&filter=page:is:/":               3, // the whole visit
		"filter=browser:contains:fire&filter=page:is:/pricing,x": 0,
		"filter=" + url.QueryEscape("page:is:"+`/pri\|cing`):     0,
	} {
		text := viewer.want(http.StatusOK, `"source":"raw"`, http.MethodGet, "/api/v1/sites/blog/stats?compare=previous&"+filter, "")
		var got struct{ Totals figures }
		must(t, json.Unmarshal([]byte(text), &got))
		if got.Totals.PageViews != want {
			t.Errorf("%s: %d page views, want %d: %s", filter, got.Totals.PageViews, want, text)
		}
	}
	text := viewer.want(http.StatusOK, `"source":"raw"`, http.MethodGet, "/api/v1/sites/blog/breakdown?by=page&filter=page:is:/pricing", "")
	if !strings.Contains(text, `"total":2`) || !strings.Contains(text, `"visitors":2`) {
		t.Error(text)
	}
	viewer.want(http.StatusOK, `"rows":[]`, http.MethodGet, "/api/v1/sites/blog/breakdown?by=prop:plan", "")
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
		viewer.want(status, code, http.MethodGet, fmt.Sprintf("/api/v1/sites/blog/%s", query), "")
	}
}
