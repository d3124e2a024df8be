package webanalytics_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

const installationPath = "/api/v1/sites/blog/installation"

// startCheck starts a check and returns its token.
func startCheck(admin *servertest.Person) string {
	admin.Helper()
	var c struct{ Parameter string }
	servertest.Must(admin.T, json.Unmarshal([]byte(admin.Want(http.StatusCreated, `"expires":`, http.MethodPost, installationPath, "")), &c))
	token, ok := strings.CutPrefix(c.Parameter, "check_")
	if !ok || strings.Trim(token, "0123456789abcdef_") != "" {
		admin.Fatalf("the parameter is %q", c.Parameter)
	}
	return token
}

// A page reports what would become of its events, once, and nothing is stored.
func TestInstallation(t *testing.T) {
	h := servertest.New(t, nil)
	h.Settings(func(s *analytics.Site) {
		s.Domains, s.RespectDNT, s.Exclude.Paths = []string{"example.com"}, true, []string{"/admin/**"}
	})
	admin := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	admin.Want(http.StatusNotFound, "not_found", http.MethodGet, installationPath, "")
	for _, c := range []struct {
		body, want string
		headers    []string
	}{
		{`"site":"blog","url":"https://example.com/a"`, `"site":"blog","host":"example.com","ignored":false,"refused":false,"package":false,"status":"stored"}`, nil},
		{`"site":"blog","url":"https://www.example.com/a","props":{"ignored":"yes","package":"yes"}`, `"host":"example.com","ignored":true,"refused":false,"package":true,"status":"stored"`, nil},
		{`"site":"blog","url":"https://example.com/a","props":{"refused":"yes"}`, `"refused":true`, nil},
		{`"site":"blog","url":"https://other.example/a"`, `"host":"other.example","ignored":false,"refused":false,"package":false,"status":"rejected","reason":"wrong_domain","detail":`, nil},
		{`"site":"blog","url":"https://example.com/admin/a"`, `"reason":"excluded"`, nil},
		{`"site":"blog","url":"https://example.com/"`, `"reason":"opted_out"`, []string{"DNT", "1"}},
		{`"site":"blog","url":"https://example.com/"`, `"reason":"bot"`, []string{"User-Agent", "GPTBot/1.0"}},
		{`"site":"blog","url":"javascript:alert(1)"`, `"reason":"bad_url"`, nil},
		{`"site":"shop","url":"https://example.com/"`, `"site":"shop","host":"example.com","ignored":false,"refused":false,"package":false,"status":"rejected","reason":"unknown_site"`, nil},
		{`"site":"` + strings.Repeat("ä", 127) + `","url":"https://example.com/"`, `"reason":"unknown_site"`, nil},
	} {
		token := startCheck(admin)
		if body := admin.Want(http.StatusOK, `"parameter":"check_`+token, http.MethodGet, installationPath, ""); strings.Contains(body, "report") {
			t.Errorf("a report before the page has reported: %s", body)
		}
		event := fmt.Sprintf(`{"check":%q,%s}`, token, c.body)
		if status, body := h.Post("/api/event", event, c.headers...); status != http.StatusAccepted || !strings.Contains(body, `"outcomes":[{`) {
			t.Errorf("%s: %d %s", c.body, status, body)
		}
		admin.Want(http.StatusOK, c.want, http.MethodGet, installationPath, "")
		if status, body := h.Post("/api/event", event); status != http.StatusNotFound || !strings.Contains(body, "Start another") {
			t.Errorf("again: %d %s", status, body)
		}
	}
	if stored := h.Stored(); len(stored) > 0 {
		t.Errorf("stored: %+v", stored)
	}
}

// Tokens that are not those of a check change nothing.
func TestTokensOfInstallations(t *testing.T) {
	h := servertest.New(t, nil)
	admin := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	old := startCheck(admin)
	token := startCheck(admin)
	site, secret, _ := strings.Cut(token, "_")
	for _, bad := range []string{
		old, site, site + "_", "_" + secret, secret, "-", "x", "zz_" + secret, "23_" + secret, "62 6c_" + secret, strings.ToUpper(token), token + "0", strings.Repeat("61", 100) + "_" + secret, strings.Repeat("6", 299),
	} {
		if status, body := h.Post("/api/event", fmt.Sprintf(`{"site":"blog","url":"/","check":%q}`, bad)); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
	if status, body := h.Post("/api/event", fmt.Sprintf(`{"site":"blog","url":"/","check":%q}`, strings.Repeat("6", 301))); status != http.StatusUnprocessableEntity {
		t.Errorf("a long token: %d %s", status, body)
	}
	if body := admin.Want(http.StatusOK, token, http.MethodGet, installationPath, ""); strings.Contains(body, "report") || len(h.Stored()) > 0 {
		t.Errorf("something was reported or stored: %s", body)
	}
	viewer := h.NewPerson("viewer@example.com", accounts.Grants{"blog": accounts.Viewer})
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodGet, installationPath, "")
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodPost, installationPath, "")
	stranger := h.NewPerson("eve@example.com", accounts.Grants{"shop": accounts.Owner})
	stranger.Want(http.StatusForbidden, "forbidden", http.MethodGet, installationPath, "")
}

// An event of a check is never stored, also in a batch: a check takes one report, so a batch may have no
// other events.
func TestChecksAreAlone(t *testing.T) {
	h := servertest.New(t, nil)
	admin := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	token := startCheck(admin)
	check := fmt.Sprintf(`{"url":"https://example.com/","check":%q}`, token)
	for body, kind := range map[string]string{
		`{"site":"blog","events":[` + check + `,` + check + `]}`:                  "application/json",
		`{"site":"blog","events":[{"url":"https://example.com/"},` + check + `]}`: "application/json",
		check + "\n" + `{"url":"https://example.com/"}`:                           "application/x-ndjson",
	} {
		if status, answer := h.Post("/api/events?site=blog", body, "Content-Type", kind); status != http.StatusUnprocessableEntity || !strings.Contains(answer, `error:check_alone"`) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	if stored := h.Stored(); len(stored) > 0 {
		t.Errorf("stored: %+v", stored)
	}
	if status, answer := h.Post("/api/events", `{"site":"blog","events":[`+check+`]}`); status != http.StatusAccepted {
		t.Errorf("%d %s", status, answer)
	}
	admin.Want(http.StatusOK, `"status":"stored"`, http.MethodGet, installationPath, "")
}

// A check ends after ten minutes.
func TestInstallationsEnd(t *testing.T) {
	db := enginetest.New(t)
	h := servertest.On(t, db, func(o *server.Options) {})
	admin := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	token := startCheck(admin)
	db.Advance(11 * time.Minute)
	if status, body := h.Post("/api/event", fmt.Sprintf(`{"site":"blog","url":"/","check":%q}`, token)); status != http.StatusNotFound {
		t.Errorf("%d %s", status, body)
	}
	admin.Want(http.StatusNotFound, "not_found", http.MethodGet, installationPath, "")
}
