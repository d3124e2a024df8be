package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server"
)

// visitedHouse is a house whose site has seen three visitors on eight pages today.
func visitedHouse(t *testing.T) *house {
	h := newHouse(t, nil)
	for i, paths := range [][]string{{"/", "/pricing", "/"}, {"/pricing"}, {"/", "/Docs", "/docs/a", "/"}} {
		for _, path := range paths {
			body := fmt.Sprintf(`{"site":"blog","url":"https://example.org%s"}`, path)
			if status, answer := h.post("/api/event", body, "User-Agent", fmt.Sprintf("%s%d", firefox, i)); status != http.StatusAccepted || !strings.Contains(answer, "stored") {
				t.Fatalf("ingest: %d %s", status, answer)
			}
		}
	}
	must(t, h.worker.Drain(t.Context()))
	return h
}

type figures struct {
	Visitors, Visits, PageViews, Bounces int64
	BounceRate, ViewsPerVisit            float64
}

func TestStats(t *testing.T) {
	h := visitedHouse(t)
	viewer := h.newPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	for _, compare := range []string{"none", "previous", "year"} {
		for _, period := range []string{"hour", "day", "month"} {
			text := viewer.want(http.StatusOK, "statistics", http.MethodGet, "/api/v1/sites/blog/stats?compare="+compare+"&period="+period, "")
			var got struct {
				Totals   figures
				Previous *figures
				Buckets  []figures
			}
			must(t, json.Unmarshal([]byte(text), &got))
			want := figures{3, 3, 8, 1, 1. / 3, 8. / 3}
			if got.Totals != want || len(got.Buckets) == 0 || (got.Previous != nil) != (compare != "none") {
				t.Errorf("%s, %s: %s", compare, period, text)
			}
		}
	}
	viewer.want(http.StatusUnprocessableEntity, "bad_range", http.MethodGet, "/api/v1/sites/blog/stats?from=2026-13-01&to=2026-01-01", "")
	viewer.want(http.StatusUnprocessableEntity, "bad_range", http.MethodGet, "/api/v1/sites/blog/stats?from=yesterday&to=today&compare=year", "")
	viewer.want(http.StatusBadRequest, "unknown_parameter", http.MethodGet, "/api/v1/sites/blog/stats?form=2026-01-01", "")
	viewer.want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/sites/other/stats", "")
}

func TestBreakdown(t *testing.T) {
	h := visitedHouse(t)
	viewer := h.newPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	for query, want := range map[string]string{
		"by=page":                  `[/ 4 0.5] [/pricing 2 0.25] [/Docs 1 0.125] [/docs/a 1 0.125] of 4`,
		"by=page&search=DOCS":      `[/Docs 1 0.125] [/docs/a 1 0.125] of 2`,
		"by=page&limit=1&offset=1": `[/pricing 2 0.25] of 4`,
		"by=page&offset=99":        `of 4`,
		"by=browser":               `[Firefox 8 1] of 1`,
		"by=utm_term":              `[(none) 8 1] of 1`,
		"by=os":                    `[Linux 8 1] of 1`,
		"by=event":                 `of 0`,
	} {
		text := viewer.want(http.StatusOK, "statistics", http.MethodGet, "/api/v1/sites/blog/breakdown?"+query, "")
		var got struct {
			Rows []struct {
				Value     string
				PageViews int64
				Share     float64
			}
			Total int
		}
		must(t, json.Unmarshal([]byte(text), &got))
		var rows []string
		for _, r := range got.Rows {
			rows = append(rows, fmt.Sprintf("[%s %d %.3g]", r.Value, r.PageViews, r.Share))
		}
		if said := strings.TrimSpace(fmt.Sprintf("%s of %d", strings.Join(rows, " "), got.Total)); said != want {
			t.Errorf("%s: %s, want %s", query, said, want)
		}
	}
	viewer.want(http.StatusUnprocessableEntity, "bad_range", http.MethodGet, "/api/v1/sites/blog/breakdown?by=colour", "")
	viewer.want(http.StatusUnprocessableEntity, "invalid_request", http.MethodGet, "/api/v1/sites/blog/breakdown", "")
}

func TestSites(t *testing.T) {
	h := visitedHouse(t)
	owner := h.newPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	answer := owner.want(http.StatusCreated, `"id":"shop.example"`, http.MethodPost, "/api/v1/sites", `{"name":"Our shop","domains":["Shop.example"],"timezone":"Europe/Berlin"}`)
	if !strings.Contains(answer, `"hasEvents":false`) || !strings.Contains(answer, `"name":"Our shop"`) {
		t.Error(answer)
	}
	owner.want(http.StatusConflict, "exists", http.MethodPost, "/api/v1/sites", `{"id":"blog"}`)
	owner.want(http.StatusUnprocessableEntity, "bad_site", http.MethodPost, "/api/v1/sites", `{"id":"a b"}`)
	owner.want(http.StatusUnprocessableEntity, "bad_site", http.MethodPost, "/api/v1/sites", `{}`)
	owner.want(http.StatusUnprocessableEntity, "time zone", http.MethodPatch, "/api/v1/sites/blog", `{"timezone":"Europe/Berlin"}`)
	owner.want(http.StatusUnprocessableEntity, "bad_site", http.MethodPatch, "/api/v1/sites/blog", `{"retention":{"rawDays":400}}`)
	owner.want(http.StatusOK, `"paths":["/admin/**"]`, http.MethodPatch, "/api/v1/sites/blog", `{"exclude":{"paths":["/admin/**"]},"respectDnt":true,"currency":"usd"}`)
	viewer := h.newPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	answer = viewer.want(http.StatusOK, `"hasEvents":true`, http.MethodGet, "/api/v1/sites/blog", "")
	if strings.Contains(strings.ToLower(answer), "importkey") || !strings.Contains(answer, `"currency":"USD"`) || !strings.Contains(answer, `"role":"viewer"`) {
		t.Error(answer)
	}
	viewer.want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/sites", `{"id":"mine"}`)
	answer = viewer.want(http.StatusOK, `"visitors":3`, http.MethodGet, "/api/v1/sites", "")
	if strings.Contains(answer, "shop") || !strings.Contains(answer, `"trend":[0,0,0,0,0,0,3]`) {
		t.Error(answer)
	}
}

func TestDeletedSitesAreGone(t *testing.T) {
	h := visitedHouse(t)
	admin := h.newPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	admin.want(http.StatusForbidden, "forbidden", http.MethodDelete, "/api/v1/sites/blog", "")
	owner := h.newPerson("owner@example.com", accounts.Grants{"blog": accounts.Owner})
	_, key, err := h.accounts.AddKey(t.Context(), accounts.NewKey{Site: "blog", Scope: accounts.Write})
	must(t, err)
	h.browser().want(http.StatusForbidden, "forbidden", http.MethodDelete, "/api/v1/sites/blog", "", "Authorization", "Bearer "+key)
	owner.want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/sites/blog", "")
	owner.want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/sites/blog/stats", "")
	h.browser().want(http.StatusUnauthorized, "unauthorized", http.MethodGet, "/api/v1/sites/blog/stats", "", "Authorization", "Bearer "+key)
	all := h.newPerson("all@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	all.want(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/sites/blog/stats", "")
	all.want(http.StatusNotFound, "not_found", http.MethodDelete, "/api/v1/sites/blog", "")
	all.want(http.StatusOK, `"sites":[]`, http.MethodGet, "/api/v1/sites", "")
	if status, body := h.post("/api/event", `{"site":"blog","url":"/"}`); status != http.StatusNotFound {
		t.Errorf("an event of a deleted site: %d %s", status, body)
	}
}

// TestSharedAndPublicViews shows statistics to those who have a link, or to everyone, and nothing else.
func TestSharedAndPublicViews(t *testing.T) {
	h := visitedHouse(t)
	owner := h.newPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.want(http.StatusCreated, "other", http.MethodPost, "/api/v1/sites", `{"id":"other"}`)
	var share struct{ ID, Token string }
	must(t, json.Unmarshal([]byte(owner.want(http.StatusCreated, "ofs_", http.MethodPost, "/api/v1/sites/blog/shares", `{"password":"`+password+`"}`)), &share))
	guest := h.browser()
	guest.want(http.StatusUnauthorized, "password_required", http.MethodPost, "/api/v1/shared/"+share.Token, `{}`)
	guest.want(http.StatusUnauthorized, "bad_password", http.MethodPost, "/api/v1/shared/"+share.Token, `{"password":"something else"}`)
	guest.want(http.StatusNotFound, "not_found", http.MethodPost, "/api/v1/shared/ofs_x_y", `{}`)
	var opened struct{ Access string }
	must(t, json.Unmarshal([]byte(guest.want(http.StatusOK, `"id":"blog"`, http.MethodPost, "/api/v1/shared/"+share.Token, `{"password":"`+password+`"}`)), &opened))
	sees := func(who *person, want bool, headers ...string) {
		t.Helper()
		allowed, refused := http.StatusOK, http.StatusForbidden
		if !want {
			allowed = refused
		}
		who.want(allowed, "", http.MethodGet, "/api/v1/sites/blog/stats", "", headers...)
		who.want(allowed, "", http.MethodGet, "/api/v1/sites/blog/breakdown?by=page", "", headers...)
		who.want(refused, "", http.MethodGet, "/api/v1/sites/other/stats", "", headers...)
		who.want(refused, "", http.MethodGet, "/api/v1/sites/blog/verify", "", headers...)
		who.want(refused, "", http.MethodGet, "/api/v1/sites/blog/shares", "", headers...)
		who.want(refused, "", http.MethodGet, "/api/v1/sites", "", headers...)
	}
	sees(guest, true)
	sees(h.browser(), true, "Authorization", "Bearer "+opened.Access)
	if _, body := guest.do(http.MethodGet, "/api/v1/sites/blog", ""); strings.Contains(body, "exclude") || strings.Contains(body, "role") {
		t.Errorf("a guest sees settings: %s", body)
	}
	elsewhere := h.newPerson("ann@example.com", accounts.Grants{"nothing": accounts.Owner})
	elsewhere.want(http.StatusForbidden, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
	elsewhere.want(http.StatusOK, "", http.MethodPost, "/api/v1/shared/"+share.Token, `{"password":"`+password+`"}`)
	elsewhere.want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
	elsewhere.want(http.StatusForbidden, "", http.MethodGet, "/api/v1/sites/blog/verify", "")
	owner.want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/sites/blog/shares/"+share.ID, "")
	guest.want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/sites/blog/stats", "")

	stranger := h.browser()
	stranger.want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
	_, err := analytics.UpdateSite(t.Context(), h.table, "blog", func(s *analytics.Site) error { s.Public = true; return nil })
	must(t, err)
	stranger.want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
	stranger.want(http.StatusForbidden, "", http.MethodGet, "/api/v1/sites/blog/breakdown?by=prop:email", "")
	stranger.want(http.StatusForbidden, "", http.MethodGet, "/api/v1/sites/blog/stats?filter=prop:email:contains:a", "")
	stranger.want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/breakdown?by=page&filter=browser:is:Firefox", "")
	stranger.want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/sites/blog/verify", "")
	stranger.want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/sites/other/stats", "")
}

func TestVerifyRunsInTheBackground(t *testing.T) {
	h := visitedHouse(t)
	owner := h.newPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.want(http.StatusOK, `"never"`, http.MethodGet, "/api/v1/sites/blog/verify", "")
	owner.want(http.StatusNotFound, "", http.MethodPost, "/api/v1/sites/nothing/verify", `{"from":"2026-01-01","to":"2026-01-02"}`)
	owner.want(http.StatusAccepted, `"id"`, http.MethodPost, "/api/v1/sites/blog/verify", `{}`)
	for {
		_, answer := owner.do(http.MethodGet, "/api/v1/sites/blog/verify", "")
		if strings.Contains(answer, `"running"`) {
			continue
		}
		if !strings.Contains(answer, `"clean"`) || !strings.Contains(answer, `"differences":[]`) {
			t.Error(answer)
		}
		break
	}
}

func TestFrames(t *testing.T) {
	h := newHouse(t, func(o *server.Options) { o.TrustProxy = true })
	_, token, err := h.accounts.AddShare(t.Context(), accounts.NewShare{Site: "blog", Embed: []string{"https://example.com", "https://example.net:8443"}})
	must(t, err)
	_, plain, err := h.accounts.AddShare(t.Context(), accounts.NewShare{Site: "blog"})
	must(t, err)
	for path, want := range map[string]string{
		"/": "'none'", "/share/nothing": "'none'", "/share/" + plain: "'none'", "/share/" + token: "https://example.com https://example.net:8443",
	} {
		answer, err := http.Get(h.url + path)
		must(t, err)
		answer.Body.Close()
		policy := answer.Header.Get("Content-Security-Policy")
		if !strings.HasSuffix(policy, "frame-ancestors "+want) || strings.Contains(policy, "unsafe-inline'; script") || (answer.Header.Get("X-Frame-Options") == "DENY") != (want == "'none'") {
			t.Errorf("%s: %s", path, policy)
		}
	}
	for share, want := range map[string]http.SameSite{token: http.SameSiteNoneMode, plain: http.SameSiteLaxMode} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/api/v1/shared/"+share, strings.NewReader(`{}`))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Forwarded-Proto", "https")
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		answer.Body.Close()
		if cookies := answer.Cookies(); len(cookies) != 1 || cookies[0].SameSite != want || !cookies[0].Secure || !cookies[0].HttpOnly {
			t.Errorf("%+v", cookies)
		}
	}
}
