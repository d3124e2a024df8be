package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/server"
)

const password = "correct horse battery"

// person is somebody with a browser: it keeps cookies, and knows the token against forged requests.
type person struct {
	*house
	web  *http.Client
	csrf string
}

// newPerson makes an account and logs in.
func (h *house) newPerson(email string, grants accounts.Grants) *person {
	h.Helper()
	_, err := h.accounts.AddUser(h.Context(), accounts.NewUser{Email: email, Password: password, Grants: grants})
	must(h.T, err)
	p := h.browser()
	status, body := p.do(http.MethodPost, "/api/v1/login", `{"email":"`+email+`","password":"`+password+`"}`)
	if status != http.StatusOK {
		h.Fatalf("log in: %d %s", status, body)
	}
	p.learn(body)
	return p
}

func (h *house) browser() *person {
	jar, err := cookiejar.New(nil)
	must(h.T, err)
	return &person{house: h, web: &http.Client{Jar: jar}}
}

func (p *person) learn(me string) {
	p.Helper()
	var body struct{ CSRF string }
	must(p.T, json.Unmarshal([]byte(me), &body))
	p.csrf = body.CSRF
}

func (p *person) do(method, path, body string, headers ...string) (int, string) {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, p.url+path, strings.NewReader(body))
	must(p.T, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if p.csrf != "" {
		r.Header.Set("X-CSRF-Token", p.csrf)
	}
	return p.send(p.web, r, headers)
}

// want fails unless a request is answered with a status and a text.
func (p *person) want(status int, says, method, path, body string, headers ...string) string {
	p.Helper()
	got, answer := p.do(method, path, body, headers...)
	if got != status || !strings.Contains(answer, says) {
		p.Errorf("%s %s: %d %.300s, want %d and %q", method, path, got, answer, status, says)
	}
	return answer
}

// open are the operations that need no login.
var open = map[string]bool{
	"ingest-event": true, "ingest-events": true, "ingest-pixel": true, "health": true, "login": true, "setup": true, "setup-needed": true, "open-share": true, "badge": true,
}

type operation struct{ id, method, path string }

// operations are those of the OpenAPI document, with paths filled in.
func (h *house) operations() []operation {
	h.Helper()
	_, text := h.get("/openapi.json")
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	must(h.T, json.Unmarshal([]byte(text), &doc))
	var all []operation
	fill := strings.NewReplacer("{site}", "blog", "{id}", "aaaaaaaaaaaaaaaa", "{token}", "x", "{userId}", "u")
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
	h := newHouse(t, func(o *server.Options) { // time enough between the questions of a guest
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(seconds.Add(1)) * time.Second) }
	})
	_, ingest, err := h.accounts.AddKey(t.Context(), accounts.NewKey{Site: accounts.AllSites, Scope: accounts.Ingest})
	must(t, err)
	_, elsewhere, err := h.accounts.AddKey(t.Context(), accounts.NewKey{Site: "other", Scope: accounts.Write})
	must(t, err)
	for _, op := range h.operations() {
		if open[op.id] {
			continue
		}
		for name, header := range map[string]string{"nobody": "", "a wrong key": "Bearer ofk_x_y", "a wrong token": "Bearer wrong", "basic": "Basic eDp5"} {
			if status, body := h.browser().do(op.method, op.path, `{}`, "Authorization", header); status != http.StatusUnauthorized || !strings.Contains(body, "urn:onefold:error:unauthorized") {
				t.Errorf("%s (%s %s) as %s: %d %.200s", op.id, op.method, op.path, name, status, body)
			}
		}
		keys := []string{ingest}
		if strings.Contains(op.path, "/blog") {
			keys = append(keys, elsewhere)
		}
		for _, key := range keys {
			if status, body := h.browser().do(op.method, op.path, `{}`, "Authorization", "Bearer "+key); status != http.StatusForbidden && !(op.id == "me" && status == http.StatusOK) {
				t.Errorf("%s (%s %s) with a key for something else: %d %.200s", op.id, op.method, op.path, status, body)
			}
		}
	}
}

// TestReadersChangeNothing tries every operation that changes something as those who may only look.
func TestReadersChangeNothing(t *testing.T) {
	h := newHouse(t, nil)
	viewer := h.newPerson("viewer@example.com", accounts.Grants{accounts.AllSites: accounts.Viewer})
	_, read, err := h.accounts.AddKey(t.Context(), accounts.NewKey{Site: accounts.AllSites, Scope: accounts.Read})
	must(t, err)
	own := map[string]bool{"logout": true, "update-me": true, "keys": true, "add-key": true, "revoke-key": true, "preview-funnel": true}
	for _, op := range h.operations() {
		if open[op.id] || own[op.id] || op.method == http.MethodGet {
			continue
		}
		for _, auth := range [][]string{nil, {"Authorization", "Bearer " + read}, {"Authorization", "Bearer " + token}} {
			if status, body := viewer.do(op.method, op.path, `{}`, auth...); status != http.StatusForbidden {
				t.Errorf("%s (%s %s): %d %.200s", op.id, op.method, op.path, status, body)
			}
		}
	}
	viewer.want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/keys", `{"site":"blog","scope":"read"}`)
	viewer.want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/keys", `{"site":"*","scope":"ingest"}`)
	viewer.want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/audit", "")
	viewer.want(http.StatusOK, "blog", http.MethodGet, "/api/v1/sites/blog", "")
}

func TestForgedRequests(t *testing.T) {
	h := newHouse(t, nil)
	owner := h.newPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	const key = `{"site":"blog","scope":"read"}`
	owner.want(http.StatusCreated, "ofk_", http.MethodPost, "/api/v1/keys", key)
	owner.want(http.StatusForbidden, "cross_origin", http.MethodPost, "/api/v1/keys", key, "Origin", "https://evil.example")
	owner.want(http.StatusForbidden, "cross_origin", http.MethodPost, "/api/v1/keys", key, "Sec-Fetch-Site", "cross-site")
	owner.want(http.StatusForbidden, "csrf", http.MethodPost, "/api/v1/keys", key, "X-CSRF-Token", "")
	owner.want(http.StatusForbidden, "csrf", http.MethodPost, "/api/v1/keys", key, "X-CSRF-Token", "guessed")
	other := h.newPerson("other@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.want(http.StatusForbidden, "csrf", http.MethodPost, "/api/v1/keys", key, "X-CSRF-Token", other.csrf)
	h.browser().want(http.StatusForbidden, "cross_origin", http.MethodPost, "/api/v1/login", `{"email":"owner@example.com","password":"`+password+`"}`, "Origin", "https://evil.example")
}

func TestCookies(t *testing.T) {
	for _, tls := range []bool{false, true} {
		h := newHouse(t, func(o *server.Options) { o.TrustProxy = true })
		_, err := h.accounts.AddUser(t.Context(), accounts.NewUser{Email: "ann@example.com", Password: password})
		must(t, err)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/api/v1/login", strings.NewReader(`{"email":"ann@example.com","password":"`+password+`"}`))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		if tls {
			r.Header.Set("X-Forwarded-Proto", "https")
		}
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		answer.Body.Close()
		cookies := answer.Cookies()
		if len(cookies) != 1 || cookies[0].Name != "onefold_session" || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode ||
			cookies[0].Secure != tls || cookies[0].Path != "/" || cookies[0].MaxAge <= 0 || cookies[0].MaxAge > 30*86400 {
			t.Errorf("TLS %v: %+v", tls, cookies)
		}
		if hsts := answer.Header.Get("Strict-Transport-Security") != ""; hsts != tls {
			t.Errorf("TLS %v: HSTS %v", tls, hsts)
		}
	}
}

// TestLoginsAreSlowedDown guesses passwords of an account that is there and of one that is not: both answer alike.
func TestLoginsAreSlowedDown(t *testing.T) {
	var passed atomic.Int64
	h := newHouse(t, func(o *server.Options) {
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	})
	_, err := h.accounts.AddUser(t.Context(), accounts.NewUser{Email: "ann@example.com", Password: password})
	must(t, err)
	try := func(want int, email, password string) {
		t.Helper()
		h.browser().want(want, "", http.MethodPost, "/api/v1/login", `{"email":"`+email+`","password":"`+password+`"}`)
	}
	for _, email := range []string{"ann@example.com", "nobody@example.com"} {
		for range 5 {
			try(http.StatusUnauthorized, email, "a wrong password")
		}
		try(http.StatusTooManyRequests, email, "a wrong password")
	}
	try(http.StatusTooManyRequests, " ANN@example.com", password)
	passed.Add(int64(time.Minute))
	try(http.StatusOK, "ann@example.com", password)
	for i := range 8 { // of one network, on many accounts
		try(http.StatusUnauthorized, fmt.Sprintf("p%d@example.com", i), "a wrong password")
	}
	passed.Add(int64(time.Second))
	for i := 8; i < 10; i++ {
		try(http.StatusUnauthorized, fmt.Sprintf("p%d@example.com", i), "a wrong password")
	}
	try(http.StatusTooManyRequests, "fresh@example.com", "a wrong password")
}

func TestOddRequests(t *testing.T) {
	h := newHouse(t, nil)
	owner := h.newPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.want(http.StatusNotFound, "urn:onefold:error:not_found", http.MethodGet, "/api/v1/nothing", "")
	owner.want(http.StatusNotFound, "urn:onefold:error:not_found", http.MethodGet, "/api/", "")
	owner.want(http.StatusMethodNotAllowed, "urn:onefold:error:method_not_allowed", http.MethodDelete, "/api/v1/me", "")
	owner.want(http.StatusBadRequest, "urn:onefold:error:unknown_parameter", http.MethodGet, "/api/v1/audit?mont=2026-05", "")
	owner.want(http.StatusUnprocessableEntity, "bad_cursor", http.MethodGet, "/api/v1/audit?cursor=x", "")
	answer := owner.want(http.StatusUnprocessableEntity, "invalid_request", http.MethodPost, "/api/v1/login", `{"email":"a@b.de","password":["top secret"],"more":"hidden"}`)
	if strings.Contains(answer, "secret") || strings.Contains(answer, "hidden") {
		t.Errorf("what was sent is repeated: %s", answer)
	}
}

func TestLogOut(t *testing.T) {
	h := newHouse(t, nil)
	here := h.newPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	browser := func() *person {
		there := h.browser()
		there.learn(there.want(http.StatusOK, "csrf", http.MethodPost, "/api/v1/login", `{"email":"ann@example.com","password":"`+password+`"}`))
		return there
	}
	there, elsewhere := browser(), browser()
	there.want(http.StatusNoContent, "", http.MethodPost, "/api/v1/logout", `{}`)
	there.want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/me", "")
	here.want(http.StatusOK, "ann@example.com", http.MethodGet, "/api/v1/me", "")
	here.want(http.StatusForbidden, "bad_password", http.MethodPatch, "/api/v1/me", `{"password":"another good one","currentPassword":"wrong"}`)
	here.learn(here.want(http.StatusOK, `"name":"Ann"`, http.MethodPatch, "/api/v1/me", `{"name":"Ann","password":"another good one","currentPassword":"`+password+`"}`))
	here.want(http.StatusOK, "Ann", http.MethodGet, "/api/v1/me", "")
	elsewhere.want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/me", "")
	here.want(http.StatusNoContent, "", http.MethodPost, "/api/v1/logout?everywhere=true", "")
	here.want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/me", "")
}

func TestSetUp(t *testing.T) {
	h := newHouse(t, nil)
	setup, err := h.accounts.SetupToken(t.Context())
	must(t, err)
	first := h.browser()
	owner := func(token string) string {
		return `{"token":"` + token + `","email":"ann@example.com","name":"Ann","password":"` + password + `"}`
	}
	first.want(http.StatusOK, `"needed":true`, http.MethodGet, "/api/v1/setup", "")
	first.want(http.StatusForbidden, "bad_setup_token", http.MethodPost, "/api/v1/setup", owner("guessed"))
	first.learn(first.want(http.StatusOK, `"owner":true`, http.MethodPost, "/api/v1/setup", owner(setup)))
	first.want(http.StatusOK, `"needed":false`, http.MethodGet, "/api/v1/setup", "")
	h.browser().want(http.StatusForbidden, "bad_setup_token", http.MethodPost, "/api/v1/setup", owner(setup))
	var made struct{ ID string }
	must(t, json.Unmarshal([]byte(first.want(http.StatusCreated, `"roles":{"blog":"viewer"}`, http.MethodPost, "/api/v1/users", `{"email":"bob@example.com","password":"`+password+`","roles":{"blog":"viewer"}}`)), &made))
	first.want(http.StatusConflict, "email_taken", http.MethodPost, "/api/v1/users", `{"email":"BOB@example.com","password":"`+password+`"}`)
	first.want(http.StatusUnprocessableEntity, "viewer, admin or owner", http.MethodPatch, "/api/v1/users/"+made.ID, `{"roles":{"blog":"king"}}`)
	first.want(http.StatusOK, `"disabled":true`, http.MethodPatch, "/api/v1/users/"+made.ID, `{"disabled":true}`)
	first.want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/users/"+made.ID, "")
	first.want(http.StatusNotFound, "not_found", http.MethodDelete, "/api/v1/users/"+made.ID, "")
	first.want(http.StatusOK, "user.delete", http.MethodGet, "/api/v1/audit", "")
	if users := first.want(http.StatusOK, "ann@example.com", http.MethodGet, "/api/v1/users", ""); strings.Contains(users, "argon2") {
		t.Error("hashes are shown")
	}
}

// TestGuestsAskWithinBounds asks as nobody until that is enough; somebody with an account goes on.
func TestGuestsAskWithinBounds(t *testing.T) {
	now := time.Now()
	h := newHouse(t, func(o *server.Options) { o.Clock = func() time.Time { return now } })
	viewer := h.newPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	nobody := h.browser()
	for range 200 {
		if status, _ := nobody.do(http.MethodGet, "/api/v1/sites/blog/stats", ""); status != http.StatusUnauthorized {
			t.Fatal(status)
		}
	}
	nobody.want(http.StatusTooManyRequests, "rate_limited", http.MethodGet, "/api/v1/sites/blog/stats", "")
	viewer.want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
}
