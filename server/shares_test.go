package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// TestSharedAndPublicViews shows statistics to those with a link, or to everyone, and nothing else.
func TestSharedAndPublicViews(t *testing.T) {
	h := servertest.NewWithVisits(t)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.Want(http.StatusCreated, "other", http.MethodPost, "/api/v1/sites", `{"id":"other"}`)
	var share struct{ ID, Token string }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(http.StatusCreated, "ofs_", http.MethodPost, "/api/v1/sites/blog/shares", `{"password":"`+servertest.Password+`"}`)), &share))
	guest := h.Browser()
	guest.Want(http.StatusUnauthorized, "password_required", http.MethodPost, "/api/v1/shared/"+share.Token, `{}`)
	guest.Want(http.StatusUnauthorized, "bad_password", http.MethodPost, "/api/v1/shared/"+share.Token, `{"password":"something else"}`)
	guest.Want(http.StatusNotFound, "not_found", http.MethodPost, "/api/v1/shared/ofs_x_y", `{}`)
	var opened struct{ Access string }
	servertest.Must(t, json.Unmarshal([]byte(guest.Want(http.StatusOK, `"id":"blog"`, http.MethodPost, "/api/v1/shared/"+share.Token, `{"password":"`+servertest.Password+`"}`)), &opened))
	sees := func(who *servertest.Person, want bool, headers ...string) {
		t.Helper()
		allowed, refused := http.StatusOK, http.StatusForbidden
		if !want {
			allowed = refused
		}
		who.Want(allowed, "", http.MethodGet, "/api/v1/sites/blog/stats", "", headers...)
		who.Want(allowed, "", http.MethodGet, "/api/v1/sites/blog/breakdown?by=page", "", headers...)
		who.Want(refused, "", http.MethodGet, "/api/v1/sites/other/stats", "", headers...)
		who.Want(refused, "", http.MethodGet, "/api/v1/sites/blog/verify", "", headers...)
		who.Want(refused, "", http.MethodGet, "/api/v1/sites/blog/shares", "", headers...)
		who.Want(refused, "", http.MethodGet, "/api/v1/sites", "", headers...)
	}
	sees(guest, true)
	sees(h.Browser(), true, "Authorization", "Bearer "+opened.Access)
	if _, body := guest.Do(http.MethodGet, "/api/v1/sites/blog", ""); strings.Contains(body, "exclude") || strings.Contains(body, "role") {
		t.Errorf("a guest sees settings: %s", body)
	}
	elsewhere := h.NewPerson("ann@example.com", accounts.Grants{"nothing": accounts.Owner})
	elsewhere.Want(http.StatusForbidden, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
	elsewhere.Want(http.StatusOK, "", http.MethodPost, "/api/v1/shared/"+share.Token, `{"password":"`+servertest.Password+`"}`)
	elsewhere.Want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
	elsewhere.Want(http.StatusForbidden, "", http.MethodGet, "/api/v1/sites/blog/verify", "")
	owner.Want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/sites/blog/shares/"+share.ID, "")
	guest.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/sites/blog/stats", "")

	stranger := h.Browser()
	stranger.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
	_, err := analytics.UpdateSite(t.Context(), h.Table, "blog", func(s *analytics.Site) error { s.Public = true; return nil })
	servertest.Must(t, err)
	stranger.Want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
	stranger.Want(http.StatusForbidden, "", http.MethodGet, "/api/v1/sites/blog/breakdown?by=prop:email", "")
	stranger.Want(http.StatusForbidden, "", http.MethodGet, "/api/v1/sites/blog/stats?filter=prop:email:contains:a", "")
	stranger.Want(http.StatusForbidden, "", http.MethodGet, "/api/v1/sites/blog/stats?filter=user.did:prop:email:contains:a", "")
	stranger.Want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/breakdown?by=page&filter=browser:is:Firefox", "")
	stranger.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/sites/blog/verify", "")
	stranger.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/sites/other/stats", "")
}

func TestFrames(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) { o.TrustProxy = true })
	_, token, err := h.Accounts.AddShare(t.Context(), accounts.NewShare{Site: "blog", Embed: []string{"https://example.com", "https://example.net:8443"}})
	servertest.Must(t, err)
	_, plain, err := h.Accounts.AddShare(t.Context(), accounts.NewShare{Site: "blog"})
	servertest.Must(t, err)
	for path, want := range map[string]string{
		"/": "'none'", "/share/nothing": "'none'", "/share/" + plain: "'none'", "/share/" + token: "https://example.com https://example.net:8443",
	} {
		answer, err := http.Get(h.URL + path)
		servertest.Must(t, err)
		answer.Body.Close()
		policy := answer.Header.Get("Content-Security-Policy")
		if !strings.HasSuffix(policy, "frame-ancestors "+want) || strings.Contains(policy, "unsafe-inline'; script") || (answer.Header.Get("X-Frame-Options") == "DENY") != (want == "'none'") {
			t.Errorf("%s: %s", path, policy)
		}
	}
	for share, want := range map[string]http.SameSite{token: http.SameSiteNoneMode, plain: http.SameSiteLaxMode} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/api/v1/shared/"+share, strings.NewReader(`{}`))
		servertest.Must(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Forwarded-Proto", "https")
		answer, err := http.DefaultClient.Do(r)
		servertest.Must(t, err)
		answer.Body.Close()
		if cookies := answer.Cookies(); len(cookies) != 1 || cookies[0].SameSite != want || !cookies[0].Secure || !cookies[0].HttpOnly {
			t.Errorf("%+v", cookies)
		}
	}
}
