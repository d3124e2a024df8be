package servertest

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"strings"

	"github.com/onefold/onefold/accounts"
)

// Password is that of everybody.
const Password = "correct horse battery"

// Person is somebody with a browser: it keeps cookies, and knows the token against forged requests.
type Person struct {
	*House
	Web  *http.Client
	CSRF string
}

// NewPerson makes an account and logs in.
func (h *House) NewPerson(email string, grants accounts.Grants) *Person {
	h.Helper()
	_, err := h.Accounts.AddUser(h.Context(), accounts.NewUser{Email: email, Password: Password, Grants: grants})
	Must(h.T, err)
	p := h.Browser()
	status, body := p.Do(http.MethodPost, "/api/v1/login", `{"email":"`+email+`","password":"`+Password+`"}`)
	if status != http.StatusOK {
		h.Fatalf("log in: %d %s", status, body)
	}
	p.Learn(body)
	return p
}

// Browser is one that nobody has logged in with.
func (h *House) Browser() *Person {
	jar, err := cookiejar.New(nil)
	Must(h.T, err)
	return &Person{House: h, Web: &http.Client{Jar: jar}}
}

// Learn takes the token against forged requests from an answer.
func (p *Person) Learn(me string) {
	p.Helper()
	var body struct{ CSRF string }
	Must(p.T, json.Unmarshal([]byte(me), &body))
	p.CSRF = body.CSRF
}

// Do sends a request, with further headers, and returns status and answer.
func (p *Person) Do(method, path, body string, headers ...string) (int, string) {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, p.URL+path, strings.NewReader(body))
	Must(p.T, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if p.CSRF != "" {
		r.Header.Set("X-CSRF-Token", p.CSRF)
	}
	return p.Send(p.Web, r, headers)
}

// Want fails unless a request is answered with a status and a text.
func (p *Person) Want(status int, says, method, path, body string, headers ...string) string {
	p.Helper()
	got, answer := p.Do(method, path, body, headers...)
	if got != status || !strings.Contains(answer, says) {
		p.Errorf("%s %s: %d %.300s, want %d and %q", method, path, got, answer, status, says)
	}
	return answer
}
