package webanalytics_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// Segments are created once, listed, changed and used by name wherever visits are filtered.
func TestSegments(t *testing.T) {
	h := servertest.NewWithVisits(t)
	admin := h.NewPerson("admin@example.com", accounts.Grants{"blog": accounts.Admin})
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	const list, pricing = "/api/v1/sites/blog/segments", `{"name":"Saw pricing","description":"For sales","filters":["page:is:/pricing"]}`
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodPost, list, pricing)
	first := admin.Want(http.StatusCreated, `"id":"saw-pricing"`, http.MethodPost, list, pricing)
	if again := admin.Want(http.StatusCreated, "", http.MethodPost, list, pricing); again != first {
		t.Errorf("repeated: %s, first %s", again, first)
	}
	created := 0
	for e, err := range h.Accounts.EntriesBetween(t.Context(), time.Now().AddDate(0, 0, -1), time.Now().AddDate(0, 0, 1)) {
		servertest.Must(t, err)
		if e.Action == "segment.create" {
			created++
		}
	}
	if created != 1 {
		t.Errorf("%d entries for one segment", created)
	}
	admin.Want(http.StatusConflict, "segment_exists", http.MethodPost, list, `{"name":"saw PRICING","filters":["page:is:/"]}`)
	admin.Want(http.StatusUnprocessableEntity, "bad_segment", http.MethodPost, list, `{"name":"x","filters":["colour:is:red"]}`)
	admin.Want(http.StatusUnprocessableEntity, "bad_segment", http.MethodPost, list, `{"name":"x","filters":["segment:is:saw-pricing"]}`)
	viewer.Want(http.StatusOK, `"owner":"user:`, http.MethodGet, list, "")

	for _, path := range []string{
		"stats?filter=segment:is:saw-pricing", "stats?filter=segment:is:Saw%20pricing", "stats?filter=segment:is_not:saw-pricing&compare=everything",
		"breakdown?by=page&filter=segment:is:saw-pricing", "sessions?filter=segment:is:saw-pricing", "journeys?page=/&filter=segment:is:saw-pricing",
		"retention?filter=segment:is:saw-pricing", "export?kind=sessions&format=jsonl&filter=segment:is:saw-pricing",
	} {
		viewer.Want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/"+path, "")
	}
	for filter, visits := range map[string]string{"segment:is:saw-pricing": `"visits":2`, "segment:is_not:saw-pricing": `"visits":1`, "segment:is:saw-pricing&filter=page:is:/": `"visits":1`} {
		text := viewer.Want(http.StatusOK, visits, http.MethodGet, "/api/v1/sites/blog/stats?compare=everything&filter="+filter, "")
		var got struct{ Previous struct{ Visits int } }
		servertest.Must(t, json.Unmarshal([]byte(text), &got))
		if got.Previous.Visits != 3 || strings.Contains(text, `"align"`) {
			t.Errorf("%s compared with %+v", filter, got.Previous)
		}
	}
	text := viewer.Want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/export?kind=events&format=jsonl&filter=segment:is:saw-pricing", "")
	if n := strings.Count(text, "\n"); n != 4 {
		t.Errorf("%d events: %s", n, text)
	}
	viewer.Want(http.StatusNotFound, "unknown_segment", http.MethodGet, "/api/v1/sites/blog/stats?filter=segment:is:nobody", "")
	viewer.Want(http.StatusUnprocessableEntity, "bad_question", http.MethodGet, "/api/v1/sites/blog/stats?filter=segment:contains:saw", "")
	h.Settings(func(s *analytics.Site) { s.Public = true })
	h.Browser().Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/sites/blog/stats?filter=segment:is:saw-pricing", "")

	ask := `{"metrics":["visits","visitors"],"date_range":"7d","filters":[["is","segment",["Saw pricing"]]],"dimensions":["page"],"include":{"comparisons":{"mode":"everything"}}}`
	viewer.Want(http.StatusOK, `{"dimensions":["/pricing"],"metrics":[2,2],"comparison":{"dimensions":["/pricing"],"metrics":[2,2],"change":[0,0]}}`, http.MethodPost, "/api/v1/sites/blog/query", ask)
	viewer.Want(http.StatusUnprocessableEntity, "bad_comparison", http.MethodPost, "/api/v1/sites/blog/explain", `{"metric":"visits","date_range":"7d","comparisons":{"mode":"everything"}}`)

	admin.Want(http.StatusOK, `"name":"Pricing"`, http.MethodPut, list+"/saw-pricing", `{"name":"Pricing","filters":["page:is:/pricing"]}`)
	viewer.Want(http.StatusOK, `"visits":2`, http.MethodGet, "/api/v1/sites/blog/stats?filter=segment:is:pricing", "")
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodDelete, list+"/saw-pricing", "")
	admin.Want(http.StatusNoContent, "", http.MethodDelete, list+"/saw-pricing", "")
	admin.Want(http.StatusNotFound, "unknown_segment", http.MethodPut, list+"/saw-pricing", pricing)
}
