package servertest

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"strings"

	"github.com/onefold/onefold/server/accounts"
)

// Password is the password of every person.
const Password = "correct horse battery"

// Person is a person with a browser, which keeps cookies and the CSRF token.
type Person struct {
	*Server
	Web  *http.Client
	CSRF string
}

// NewPerson creates an account and logs in.
func (h *Server) NewPerson(email string, grants accounts.Grants) *Person {
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

// Browser returns a browser without a login.
func (h *Server) Browser() *Person {
	jar, err := cookiejar.New(nil)
	Must(h.T, err)
	return &Person{Server: h, Web: &http.Client{Jar: jar}}
}

// Learn reads the CSRF token from a response.
func (p *Person) Learn(me string) {
	p.Helper()
	var body struct{ CSRF string }
	Must(p.T, json.Unmarshal([]byte(me), &body))
	p.CSRF = body.CSRF
}

// Do sends a request with additional headers, and returns the status and body of the response.
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

// Want fails the test unless the response has the status and contains a text.
func (p *Person) Want(status int, says, method, path, body string, headers ...string) string {
	p.Helper()
	got, answer := p.Do(method, path, body, headers...)
	if got != status || !strings.Contains(answer, says) {
		p.Errorf("%s %s: %d %.300s, want %d and %q", method, path, got, answer, status, says)
	}
	return answer
}
