package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// open are the operations that need no login, or authenticate senders by tokens of their own.
var open = map[string]bool{
	"ingest-readings": true, "write-lines": true,
	"ingest-event": true, "ingest-events": true, "ingest-pixel": true, "health": true, "live": true, "ready": true, "login": true, "login-code": true, "login-passkey": true, "passkey-login-options": true, "login-openid": true, "login-openid-callback": true, "setup": true, "setup-needed": true, "open-share": true, "open-invitation": true, "join": true, "badge": true, "forgotten-password": true, "open-reset-link": true, "reset-password": true,
}

type operation struct{ id, method, path string }

// operations returns the operations of the OpenAPI document, with paths filled in.
func operations(h *servertest.Server) []operation {
	h.Helper()
	_, text := h.Get("/openapi.json")
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	servertest.Must(h.T, json.Unmarshal([]byte(text), &doc))
	var all []operation
	fill := strings.NewReplacer("{site}", "blog", "{fleet}", "blog", "{device}", "d1", "{profile}", "p", "{retraction}", "r", "{id}", "aaaaaaaaaaaaaaaa", "{token}", "x", "{userId}", "u")
	for path, item := range doc.Paths {
		for method, op := range item {
			all = append(all, operation{op.OperationID, strings.ToUpper(method), fill.Replace(path)})
		}
	}
	if len(all) < 20 {
		h.Fatalf("only %d operations", len(all))
	}
	return all
}

func TestEveryOperationNeedsALogin(t *testing.T) {
	var seconds atomic.Int64
	h := servertest.New(t, func(o *server.Options) { // enough time between the requests of a guest
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(seconds.Add(1)) * time.Second) }
	})
	_, ingest, err := h.Accounts.AddKey(t.Context(), accounts.NewKey{Site: accounts.AllSites, Scope: accounts.Ingest})
	servertest.Must(t, err)
	_, elsewhere, err := h.Accounts.AddKey(t.Context(), accounts.NewKey{Site: "other", Scope: accounts.Write})
	servertest.Must(t, err)
	for _, op := range operations(h) {
		if open[op.id] {
			continue
		}
		for name, header := range map[string]string{"nobody": "", "a wrong key": "Bearer ofk_x_y", "a wrong token": "Bearer wrong", "basic": "Basic eDp5"} {
			if status, body := h.Browser().Do(op.method, op.path, `{}`, "Authorization", header); status != http.StatusUnauthorized || !strings.Contains(body, "urn:onefold:error:unauthorized") {
				t.Errorf("%s (%s %s) as %s: %d %.200s", op.id, op.method, op.path, name, status, body)
			}
		}
		keys := []string{ingest}
		if op.id == "append-events" || op.id == "append-to-several" || op.id == "add-annotation" { // such keys are for this
			keys = nil
		}
		if strings.Contains(op.path, "/blog") {
			keys = append(keys, elsewhere)
		}
		for _, key := range keys {
			if status, body := h.Browser().Do(op.method, op.path, `{}`, "Authorization", "Bearer "+key); status != http.StatusForbidden && !(op.id == "me" && status == http.StatusOK) {
				t.Errorf("%s (%s %s) with a key for something else: %d %.200s", op.id, op.method, op.path, status, body)
			}
		}
	}
}

// TestReadersChangeNothing tries every operation that changes something as callers who may only
// read.
func TestReadersChangeNothing(t *testing.T) {
	h := servertest.New(t, nil)
	viewer := h.NewPerson("viewer@example.com", accounts.Grants{accounts.AllSites: accounts.Viewer})
	_, read, err := h.Accounts.AddKey(t.Context(), accounts.NewKey{Site: accounts.AllSites, Scope: accounts.Read})
	servertest.Must(t, err)
	own := map[string]bool{"passkey-options": true, "add-passkey": true, "rename-passkey": true, "remove-passkey": true, "begin-second-factor": true, "confirm-second-factor": true, "renew-recovery-codes": true, "remove-second-factor": true, "end-session": true, "end-other-sessions": true, "logout": true, "update-me": true, "keys": true, "add-key": true, "rotate-key": true, "revoke-key": true, "preview-funnel": true, "test-rule": true, "preview-site-alert-rule": true, "query-events": true, "owner-of-value": true, "query": true, "explain": true,
		"prometheus-query-form": true, "prometheus-query-range-form": true, "prometheus-series-form": true, "prometheus-labels-form": true, "prometheus-exemplars-form": true}
	for _, op := range operations(h) {
		if open[op.id] || own[op.id] || op.method == http.MethodGet {
			continue
		}
		for _, auth := range [][]string{nil, {"Authorization", "Bearer " + read}, {"Authorization", "Bearer " + servertest.Token}} {
			if status, body := viewer.Do(op.method, op.path, `{}`, auth...); status != http.StatusForbidden {
				t.Errorf("%s (%s %s): %d %.200s", op.id, op.method, op.path, status, body)
			}
		}
	}
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/keys", `{"site":"blog","scope":"read"}`)
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/keys", `{"site":"*","scope":"ingest"}`)
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/audit", "")
	viewer.Want(http.StatusOK, "blog", http.MethodGet, "/api/v1/sites/blog", "")
}

func TestForgedRequests(t *testing.T) {
	h := servertest.New(t, nil)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	const key = `{"site":"blog","scope":"read"}`
	owner.Want(http.StatusCreated, "ofk_", http.MethodPost, "/api/v1/keys", key)
	owner.Want(http.StatusForbidden, "cross_origin", http.MethodPost, "/api/v1/keys", key, "Origin", "https://evil.example")
	owner.Want(http.StatusForbidden, "cross_origin", http.MethodPost, "/api/v1/keys", key, "Sec-Fetch-Site", "cross-site")
	owner.Want(http.StatusForbidden, "csrf", http.MethodPost, "/api/v1/keys", key, "X-CSRF-Token", "")
	owner.Want(http.StatusForbidden, "csrf", http.MethodPost, "/api/v1/keys", key, "X-CSRF-Token", "guessed")
	other := h.NewPerson("other@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.Want(http.StatusForbidden, "csrf", http.MethodPost, "/api/v1/keys", key, "X-CSRF-Token", other.CSRF)
	h.Browser().Want(http.StatusForbidden, "cross_origin", http.MethodPost, "/api/v1/login", `{"email":"owner@example.com","password":"`+servertest.Password+`"}`, "Origin", "https://evil.example")
}

func TestCookies(t *testing.T) {
	for _, tls := range []bool{false, true} {
		h := servertest.New(t, func(o *server.Options) { o.TrustProxy = true })
		_, err := h.Accounts.AddUser(t.Context(), accounts.NewUser{Email: "ann@example.com", Password: servertest.Password})
		servertest.Must(t, err)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/api/v1/login", strings.NewReader(`{"email":"ann@example.com","password":"`+servertest.Password+`"}`))
		servertest.Must(t, err)
		r.Header.Set("Content-Type", "application/json")
		if tls {
			r.Header.Set("X-Forwarded-Proto", "https")
		}
		answer, err := http.DefaultClient.Do(r)
		servertest.Must(t, err)
		answer.Body.Close()
		cookies := answer.Cookies()
		longest := map[string]int{"onefold_session": 30 * 86400, "onefold_browser": 180 * 86400}
		if len(cookies) != len(longest) {
			t.Errorf("TLS %v: %+v", tls, cookies)
		}
		for _, c := range cookies {
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure != tls || c.Path != "/" || c.MaxAge <= 0 || c.MaxAge > longest[c.Name] {
				t.Errorf("TLS %v: %+v", tls, c)
			}
		}
		if hsts := answer.Header.Get("Strict-Transport-Security") != ""; hsts != tls {
			t.Errorf("TLS %v: HSTS %v", tls, hsts)
		}
	}
}

// TestLoginAttemptsAreLimited guesses passwords of an account that exists and of one that does not: the
// responses are alike.
func TestLoginAttemptsAreLimited(t *testing.T) {
	var passed atomic.Int64
	h := servertest.New(t, func(o *server.Options) {
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	})
	ann, err := h.Accounts.AddUser(t.Context(), accounts.NewUser{Email: "ann@example.com", Password: servertest.Password})
	servertest.Must(t, err)
	try := func(want int, email, password string) {
		t.Helper()
		h.Browser().Want(want, "", http.MethodPost, "/api/v1/login", `{"email":"`+email+`","password":"`+password+`"}`)
	}
	for _, email := range []string{"ann@example.com", "nobody@example.com"} {
		for range 5 {
			try(http.StatusUnauthorized, email, "a wrong password")
		}
		try(http.StatusTooManyRequests, email, "a wrong password")
	}
	try(http.StatusTooManyRequests, " ANN@example.com", servertest.Password)
	passed.Add(int64(time.Minute))
	try(http.StatusOK, "ann@example.com", servertest.Password)
	for i := range 8 { // from one network, on many accounts
		try(http.StatusUnauthorized, fmt.Sprintf("p%d@example.com", i), "a wrong password")
	}
	passed.Add(int64(time.Second))
	for i := 8; i < 10; i++ {
		try(http.StatusUnauthorized, fmt.Sprintf("p%d@example.com", i), "a wrong password")
	}
	try(http.StatusTooManyRequests, "fresh@example.com", "a wrong password")
	trail, err := h.Accounts.Audit(t.Context(), "", "", 100)
	servertest.Must(t, err)
	refused := map[string]int{} // refused logins in the audit record, by user ID; "" for unknown addresses
	for _, e := range trail.Items {
		if e.Action == "session.refuse" {
			refused[e.Subject]++
		}
	}
	if want := map[string]int{ann.UserID: 5, "": 15}; !maps.Equal(refused, want) {
		t.Errorf("refused logins in the record: %v, want %v", refused, want)
	}
}

// Somebody who knows an address cannot lock its owner out: the owner's own browser is known, and
// has its own attempts.
func TestGuessingDoesNotLockOutOwner(t *testing.T) {
	h := servertest.New(t, nil)
	login := func(password string) string { return `{"email":"ann@example.com","password":"` + password + `"}` }
	_, err := h.Accounts.AddUser(t.Context(), accounts.NewUser{Email: "ann@example.com", Password: servertest.Password})
	servertest.Must(t, err)
	_, err = h.Accounts.AddUser(t.Context(), accounts.NewUser{Email: "eve@example.com", Password: servertest.Password})
	servertest.Must(t, err)
	ann, eve := h.Browser(), h.Browser()
	ann.Want(http.StatusOK, "", http.MethodPost, "/api/v1/login", login(servertest.Password))
	eve.Want(http.StatusOK, "", http.MethodPost, "/api/v1/login", `{"email":"eve@example.com","password":"`+servertest.Password+`"}`)
	for range 5 {
		eve.Want(http.StatusUnauthorized, "bad_login", http.MethodPost, "/api/v1/login", login("guessed"))
	}
	for range 20 { // the account is locked, and so is the network that everything comes from
		eve.Do(http.MethodPost, "/api/v1/login", login("guessed"))
		eve.Do(http.MethodPost, "/api/v1/login", `{"email":"bob@example.com","password":"guessed"}`)
	}
	eve.Want(http.StatusTooManyRequests, "too_many_attempts", http.MethodPost, "/api/v1/login", login(servertest.Password))
	ann.Want(http.StatusOK, "", http.MethodPost, "/api/v1/login", login(servertest.Password))
	for range 5 { // a known browser may not guess more than others
		ann.Want(http.StatusUnauthorized, "bad_login", http.MethodPost, "/api/v1/login", login("guessed"))
	}
	ann.Want(http.StatusTooManyRequests, "too_many_attempts", http.MethodPost, "/api/v1/login", login(servertest.Password))
}

func TestMalformedRequests(t *testing.T) {
	h := servertest.New(t, nil)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.Want(http.StatusNotFound, "urn:onefold:error:not_found", http.MethodGet, "/api/v1/nothing", "")
	owner.Want(http.StatusNotFound, "urn:onefold:error:not_found", http.MethodGet, "/api/", "")
	owner.Want(http.StatusMethodNotAllowed, "urn:onefold:error:method_not_allowed", http.MethodDelete, "/api/v1/me", "")
	owner.Want(http.StatusBadRequest, "urn:onefold:error:unknown_parameter", http.MethodGet, "/api/v1/audit?mont=2026-05", "")
	owner.Want(http.StatusUnprocessableEntity, "bad_cursor", http.MethodGet, "/api/v1/audit?cursor=x", "")
	answer := owner.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodPost, "/api/v1/login", `{"email":"a@b.de","password":["top secret"],"more":"hidden"}`)
	if strings.Contains(answer, "secret") || strings.Contains(answer, "hidden") {
		t.Errorf("what was sent is repeated: %s", answer)
	}
}

func TestLogOut(t *testing.T) {
	h := servertest.New(t, nil)
	here := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	browser := func() *servertest.Person {
		there := h.Browser()
		there.Learn(there.Want(http.StatusOK, "csrf", http.MethodPost, "/api/v1/login", `{"email":"ann@example.com","password":"`+servertest.Password+`"}`))
		return there
	}
	there, elsewhere := browser(), browser()
	there.Want(http.StatusNoContent, "", http.MethodPost, "/api/v1/logout", `{}`)
	there.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/me", "")
	here.Want(http.StatusOK, "ann@example.com", http.MethodGet, "/api/v1/me", "")
	here.Want(http.StatusForbidden, "bad_password", http.MethodPatch, "/api/v1/me", `{"password":"another good one","currentPassword":"wrong"}`)
	here.Learn(here.Want(http.StatusOK, `"name":"Ann"`, http.MethodPatch, "/api/v1/me", `{"name":"Ann","password":"another good one","currentPassword":"`+servertest.Password+`"}`))
	here.Want(http.StatusOK, "Ann", http.MethodGet, "/api/v1/me", "")
	elsewhere.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/me", "")
	here.Want(http.StatusNoContent, "", http.MethodPost, "/api/v1/logout?everywhere=true", "")
	here.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/me", "")
}

func TestSetUp(t *testing.T) {
	h := servertest.New(t, nil)
	setup, err := h.Accounts.SetupToken(t.Context())
	servertest.Must(t, err)
	first := h.Browser()
	owner := func(token string) string {
		return `{"token":"` + token + `","email":"ann@example.com","name":"Ann","password":"` + servertest.Password + `"}`
	}
	first.Want(http.StatusOK, `"needed":true`, http.MethodGet, "/api/v1/setup", "")
	first.Want(http.StatusForbidden, "bad_setup_token", http.MethodPost, "/api/v1/setup", owner("guessed"))
	first.Learn(first.Want(http.StatusOK, `"owner":true`, http.MethodPost, "/api/v1/setup", owner(setup)))
	first.Want(http.StatusOK, `"needed":false`, http.MethodGet, "/api/v1/setup", "")
	h.Browser().Want(http.StatusForbidden, "bad_setup_token", http.MethodPost, "/api/v1/setup", owner(setup))
	var made struct{ ID string }
	servertest.Must(t, json.Unmarshal([]byte(first.Want(http.StatusCreated, `"roles":{"blog":"viewer"}`, http.MethodPost, "/api/v1/users", `{"email":"bob@example.com","password":"`+servertest.Password+`","roles":{"blog":"viewer"}}`)), &made))
	first.Want(http.StatusCreated, made.ID, http.MethodPost, "/api/v1/users", `{"email":"bob@example.com","password":"`+servertest.Password+`","roles":{"blog":"viewer"}}`) // the first response was lost
	first.Want(http.StatusUnprocessableEntity, "unknown_site", http.MethodPost, "/api/v1/users", `{"email":"eve@example.com","password":"`+servertest.Password+`","roles":{"blgo":"viewer"}}`)
	first.Want(http.StatusUnprocessableEntity, "unknown_site", http.MethodPatch, "/api/v1/users/"+made.ID, `{"roles":{"a#b":"viewer"}}`)
	first.Want(http.StatusUnprocessableEntity, "unknown_site", http.MethodPost, "/api/v1/keys", `{"site":"blgo","scope":"ingest"}`)
	first.Want(http.StatusConflict, "email_taken", http.MethodPost, "/api/v1/users", `{"email":"BOB@example.com","password":"`+servertest.Password+`"}`)
	first.Want(http.StatusUnprocessableEntity, "viewer, admin or owner", http.MethodPatch, "/api/v1/users/"+made.ID, `{"roles":{"blog":"king"}}`)
	first.Want(http.StatusOK, `"disabled":true`, http.MethodPatch, "/api/v1/users/"+made.ID, `{"disabled":true}`)
	first.Want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/users/"+made.ID, "")
	first.Want(http.StatusNotFound, "not_found", http.MethodDelete, "/api/v1/users/"+made.ID, "")
	first.Want(http.StatusOK, "user.delete", http.MethodGet, "/api/v1/audit", "")
	if users := first.Want(http.StatusOK, "ann@example.com", http.MethodGet, "/api/v1/users", ""); strings.Contains(users, "argon2") {
		t.Error("hashes are shown")
	}
}

// TestAnonymousRequestsAreLimited sends requests without an account until they are limited; a person with
// an account is not.
func TestAnonymousRequestsAreLimited(t *testing.T) {
	now := time.Now()
	h := servertest.New(t, func(o *server.Options) { o.Clock = func() time.Time { return now } })
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	nobody := h.Browser()
	for range 200 {
		if status, _ := nobody.Do(http.MethodGet, "/api/v1/sites/blog/stats", ""); status != http.StatusUnauthorized {
			t.Fatal(status)
		}
	}
	nobody.Want(http.StatusTooManyRequests, "rate_limited", http.MethodGet, "/api/v1/sites/blog/stats", "")
	viewer.Want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
}
