package webanalytics_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/server/webanalytics"
)

type figures struct {
	Visitors, Visits, PageViews, Bounces int64
	BounceRate, ViewsPerVisit            float64
}

func TestStats(t *testing.T) {
	h := servertest.NewWithVisits(t)
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	for _, compare := range []string{"none", "previous", "year"} {
		for _, period := range []string{"hour", "day", "month"} {
			text := viewer.Want(http.StatusOK, "statistics", http.MethodGet, "/api/v1/sites/blog/stats?compare="+compare+"&period="+period, "")
			var got struct {
				Totals   figures
				Previous *figures
				Buckets  []figures
			}
			servertest.Must(t, json.Unmarshal([]byte(text), &got))
			want := figures{3, 3, 8, 1, 1. / 3, 8. / 3}
			if got.Totals != want || len(got.Buckets) == 0 || (got.Previous != nil) != (compare != "none") {
				t.Errorf("%s, %s: %s", compare, period, text)
			}
		}
	}
	viewer.Want(http.StatusUnprocessableEntity, "bad_range", http.MethodGet, "/api/v1/sites/blog/stats?from=2026-13-01&to=2026-01-01", "")
	viewer.Want(http.StatusUnprocessableEntity, "bad_range", http.MethodGet, "/api/v1/sites/blog/stats?from=yesterday&to=today&compare=year", "")
	viewer.Want(http.StatusBadRequest, "unknown_parameter", http.MethodGet, "/api/v1/sites/blog/stats?form=2026-01-01", "")
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/sites/other/stats", "")
}

func TestBreakdown(t *testing.T) {
	h := servertest.NewWithVisits(t)
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	for query, want := range map[string]string{
		"by=page":                  `[/ 4 0.5] [/pricing 2 0.25] [/Docs 1 0.125] [/docs/a 1 0.125] of 4`,
		"by=page&search=DOCS":      `[/Docs 1 0.125] [/docs/a 1 0.125] of 2`,
		"by=page&limit=1&offset=1": `[/pricing 2 0.25] of 4`,
		"by=page&offset=99":        `of 4`,
		"by=browser":               `[Firefox 8 1] of 1`,
		"by=utm_term":              `of 0, none 8 1`,
		"by=page&sort=value":       `[/pricing 2 0.25] [/docs/a 1 0.125] [/Docs 1 0.125] [/ 4 0.5] of 4`,
		"by=page&sort=pageViews&order=asc&limit=2&offset=2": `[/pricing 2 0.25] [/ 4 0.5] of 4`,
		"by=page&sort=engagedPerVisit&limit=1":              `[/ 4 0.5] of 4`,
		"by=os":                                             `[Linux 8 1] of 1`,
		"by=event":                                          `of 0`,
	} {
		text := viewer.Want(http.StatusOK, "statistics", http.MethodGet, "/api/v1/sites/blog/breakdown?"+query, "")
		var got struct {
			Rows []struct {
				Value     string
				PageViews int64
				Share     float64
			}
			None *struct {
				PageViews int64
				Share     float64
			}
			Total int
		}
		servertest.Must(t, json.Unmarshal([]byte(text), &got))
		var rows []string
		for _, r := range got.Rows {
			rows = append(rows, fmt.Sprintf("[%s %d %.3g]", r.Value, r.PageViews, r.Share))
		}
		said := strings.TrimSpace(fmt.Sprintf("%s of %d", strings.Join(rows, " "), got.Total))
		if got.None != nil {
			said += fmt.Sprintf(", none %d %.3g", got.None.PageViews, got.None.Share)
		}
		if said != want {
			t.Errorf("%s: %s, want %s", query, said, want)
		}
	}
	viewer.Want(http.StatusUnprocessableEntity, "bad_range", http.MethodGet, "/api/v1/sites/blog/breakdown?by=colour", "")
	viewer.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodGet, "/api/v1/sites/blog/breakdown", "")
	viewer.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodGet, "/api/v1/sites/blog/breakdown?by=page&sort=colour", "")
}

func TestSites(t *testing.T) {
	h := servertest.NewWithVisits(t)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	answer := owner.Want(http.StatusCreated, `"id":"shop.example"`, http.MethodPost, "/api/v1/sites", `{"name":"Our shop","domains":["Shop.example"],"timezone":"Europe/Berlin"}`)
	if !strings.Contains(answer, `"hasEvents":false`) || !strings.Contains(answer, `"name":"Our shop"`) {
		t.Error(answer)
	}
	shop := `{"name":"Our shop","domains":["shop.example"],"timezone":"Europe/Berlin"}`
	owner.Want(http.StatusCreated, `"id":"shop.example"`, http.MethodPost, "/api/v1/sites", shop) // the first response was lost
	for _, other := range []string{`{"id":"blog","timezone":"Europe/Berlin"}`, `{"id":"blog","name":"My blog"}`, `{"id":"blog","domains":["example.com"]}`} {
		owner.Want(http.StatusConflict, "exists", http.MethodPost, "/api/v1/sites", other)
	}
	if trail := owner.Want(http.StatusOK, "site.create", http.MethodGet, "/api/v1/audit", ""); strings.Count(trail, "site.create") != 1 {
		t.Error(trail)
	}
	owner.Want(http.StatusUnprocessableEntity, "bad_site", http.MethodPost, "/api/v1/sites", `{"id":"a b"}`)
	for _, id := range []string{".", "..", "Blog"} { // paths cannot contain the first two, and people confuse the last with another
		owner.Want(http.StatusUnprocessableEntity, "bad_site", http.MethodPost, "/api/v1/sites", `{"id":"`+id+`"}`)
	}
	owner.Want(http.StatusUnprocessableEntity, "bad_site", http.MethodPost, "/api/v1/sites", `{}`)
	owner.Want(http.StatusUnprocessableEntity, "time zone", http.MethodPatch, "/api/v1/sites/blog", `{"timezone":"Europe/Berlin"}`)
	owner.Want(http.StatusUnprocessableEntity, "bad_site", http.MethodPatch, "/api/v1/sites/blog", `{"retention":{"rawDays":800}}`)
	owner.Want(http.StatusOK, `"paths":["/admin/**"]`, http.MethodPatch, "/api/v1/sites/blog", `{"exclude":{"paths":["/admin/**"]},"respectDnt":true,"currency":"usd"}`)
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	answer = viewer.Want(http.StatusOK, `"hasEvents":true`, http.MethodGet, "/api/v1/sites/blog", "")
	if strings.Contains(strings.ToLower(answer), "importkey") || !strings.Contains(answer, `"currency":"USD"`) || !strings.Contains(answer, `"role":"viewer"`) {
		t.Error(answer)
	}
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/sites", `{"id":"mine"}`)
	answer = viewer.Want(http.StatusOK, `"visitors":3`, http.MethodGet, "/api/v1/sites", "")
	if strings.Contains(answer, "shop") || !strings.Contains(answer, `"trend":[0,0,0,0,0,0,3]`) {
		t.Error(answer)
	}
}

func TestDeletedSitesAreGone(t *testing.T) {
	h := servertest.NewWithVisits(t)
	admin := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	admin.Want(http.StatusForbidden, "forbidden", http.MethodDelete, "/api/v1/sites/blog", "")
	owner := h.NewPerson("owner@example.com", accounts.Grants{"blog": accounts.Owner})
	_, key, err := h.Accounts.AddKey(t.Context(), accounts.NewKey{Site: "blog", Scope: accounts.Write})
	servertest.Must(t, err)
	h.Browser().Want(http.StatusForbidden, "forbidden", http.MethodDelete, "/api/v1/sites/blog", "", "Authorization", "Bearer "+key)
	owner.Want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/sites/blog", "")
	owner.Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/sites/blog/stats", "")
	h.Browser().Want(http.StatusUnauthorized, "unauthorized", http.MethodGet, "/api/v1/sites/blog/stats", "", "Authorization", "Bearer "+key)
	all := h.NewPerson("all@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	all.Want(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/sites/blog/stats", "")
	all.Want(http.StatusNotFound, "not_found", http.MethodDelete, "/api/v1/sites/blog", "")
	all.Want(http.StatusOK, `"sites":[]`, http.MethodGet, "/api/v1/sites", "")
	if status, body := h.Post("/api/event", `{"site":"blog","url":"/"}`); status != http.StatusNotFound {
		t.Errorf("an event of a deleted site: %d %s", status, body)
	}
}

func TestVerifyRunsInTheBackground(t *testing.T) {
	h := servertest.NewWithVisits(t)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.Want(http.StatusOK, `"never"`, http.MethodGet, "/api/v1/sites/blog/verify", "")
	owner.Want(http.StatusNotFound, "", http.MethodPost, "/api/v1/sites/nothing/verify", `{"from":"2026-01-01","to":"2026-01-02"}`)
	owner.Want(http.StatusAccepted, `"id"`, http.MethodPost, "/api/v1/sites/blog/verify", `{}`)
	for {
		_, answer := owner.Do(http.MethodGet, "/api/v1/sites/blog/verify", "")
		if strings.Contains(answer, `"running"`) {
			continue
		}
		if !strings.Contains(answer, `"clean"`) || !strings.Contains(answer, `"differences":[]`) {
			t.Error(answer)
		}
		break
	}
	left := reconcile.Differences{Days: 1, SealedDays: 120, Sealed: []string{"2025-01-01", "2025-01-02"}, Busy: []string{"one"}}
	last, err := reconcile.LastVerification.Get(t.Context(), h.Table, analytics.SiteKey{SiteID: "blog"})
	servertest.Must(t, err)
	servertest.Must(t, reconcile.Keep(t.Context(), h.Table, &reconcile.Verification{SiteKey: last.SiteKey, At: last.At, Found: left}))
	owner.Want(http.StatusOK, `"sealed":120,"firstSealed":"2025-01-01","busy":1`, http.MethodGet, "/api/v1/sites/blog/verify", "")
	servertest.Must(t, reconcile.Keep(t.Context(), h.Table, &last))
	again, err := server.New(server.Options{Table: h.Table, Worker: h.Worker, Accounts: h.Accounts, Analytics: webanalytics.Options{Collector: h.Collector}})
	servertest.Must(t, err)
	defer again.Close()
	_, key, err := h.Accounts.AddKey(t.Context(), accounts.NewKey{Site: "blog", Scope: accounts.Read})
	servertest.Must(t, err)
	r, w := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/sites/blog/verify", nil), httptest.NewRecorder()
	r.Header.Set("Authorization", "Bearer "+key)
	again.Handler().ServeHTTP(w, r)
	before := owner.Want(http.StatusOK, `"clean"`, http.MethodGet, "/api/v1/sites/blog/verify", "")
	if w.Body.String() != before || !strings.Contains(before, `"done":7,"of":7`) {
		t.Errorf("after a restart: %s, was %s", w.Body, before)
	}
}
