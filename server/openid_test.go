package server_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/accounts/openid"
	"github.com/onefold/onefold/server/accounts/openid/openidtest"
	"github.com/onefold/onefold/server/servertest"
)

// withProvider lets people log in with an independent provider.
func withProvider(t *testing.T, publicURL string, admit accounts.Admission) func(*server.Options) {
	t.Helper()
	back := publicURL + server.OpenIDCallback
	issuer := openidtest.Start(t, back, map[string]openidtest.Person{
		"ada": {Email: "ada@example.com", EmailVerified: true, Name: "Ada"},
		"ann": {Email: "ann@example.com", EmailVerified: true, Name: "Ann"},
		"bob": {Email: "bob@example.com", EmailVerified: true, Name: "Bob"},
		"cid": {Email: "ann@example.com", Name: "Cid"},
	})
	p, err := openid.New(openid.Options{Issuer: issuer, ClientID: openidtest.ClientID, ClientSecret: openidtest.ClientSecret, RedirectURL: back})
	servertest.Must(t, err)
	return func(o *server.Options) {
		o.PublicURL, o.OpenID = publicURL, &server.OpenID{Provider: p, Name: "Example", Admit: admit}
	}
}

// staying is a browser that reports redirects instead of following them.
func staying(h *servertest.Server) *servertest.Person {
	h.Helper()
	p := h.Browser()
	p.Web.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return p
}

// sent returns where a browser is redirected.
func sent(p *servertest.Person, path string) string {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), http.MethodGet, p.URL+path, nil)
	servertest.Must(p.T, err)
	answer, err := p.Web.Do(r)
	servertest.Must(p.T, err)
	servertest.Must(p.T, answer.Body.Close())
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Cache-Control") != "no-store" {
		p.Errorf("GET %s: %s, %s", path, answer.Status, answer.Header.Get("Cache-Control"))
	}
	return answer.Header.Get("Location")
}

const openIDPath = "/api/v1/login/openid"

func TestOpenID(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, withProvider(t, home, accounts.Admission{}))
	ann := h.NewPerson("ann@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	p := staying(h)
	p.Want(http.StatusOK, `"openid":"Example"`, http.MethodGet, "/api/v1/setup", "")
	back := openidtest.LogIn(t, sent(p, openIDPath+"?to=/blog%3Fperiod=7d"), "ann")
	if !strings.HasPrefix(back.String(), home+openIDPath+"/callback?") {
		t.Fatalf("back to %s", back)
	}
	stranger := staying(h)
	if to := sent(stranger, back.RequestURI()); to != "/login?openid=refused" {
		t.Errorf("another browser with the same address is sent to %s", to)
	}
	if to := sent(p, back.RequestURI()); to != "/blog?period=7d" {
		t.Errorf("sent to %s", to)
	}
	p.Want(http.StatusOK, `"email":"ann@example.com"`, http.MethodGet, "/api/v1/me", "")
	p.Want(http.StatusOK, `"method":"openid"`, http.MethodGet, "/api/v1/me/sessions", "")
	if to := sent(p, back.RequestURI()); to != "/login?openid=refused" {
		t.Errorf("a code was good twice: sent to %s", to)
	}
	record := ann.Want(http.StatusOK, "user.identity", http.MethodGet, "/api/v1/audit", "")
	if strings.Count(record, `"session.login"`) != 2 {
		t.Errorf("the record: %s", record)
	}

	for subject, want := range map[string]string{"bob": "no_account", "cid": "unverified"} {
		p := staying(h)
		back := openidtest.LogIn(t, sent(p, openIDPath), subject)
		if to := sent(p, back.RequestURI()); to != "/login?openid="+want {
			t.Errorf("%s is sent to %s", subject, to)
		}
		p.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/me", "")
	}
	for query, want := range map[string]string{"?error=access_denied": "cancelled", "?error=server_error&error_description=x": "refused", "": "refused", "?code=x&state=y": "refused"} {
		if to := sent(staying(h), openIDPath+"/callback"+query); to != "/login?openid="+want {
			t.Errorf("%q: sent to %s", query, to)
		}
	}
}

// TestOpenIDRedirectsStayOnServer checks that redirects after the login stay on this server.
func TestOpenIDRedirectsStayOnServer(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, withProvider(t, home, accounts.Admission{Role: accounts.Viewer, Domains: []string{"example.com"}}))
	for to, want := range map[string]string{
		"https://evil.example/": "/", "//evil.example": "/", `/\evil.example`: "/", "evil": "/", "javascript:alert(1)": "/", "": "/",
		"/\tevil": "/", "/a//b": "/a//b", "/blog#part": "/blog#part", "/" + strings.Repeat("x", 511): "/" + strings.Repeat("x", 511),
	} {
		p := staying(h)
		back := openidtest.LogIn(t, sent(p, openIDPath+"?"+url.Values{"to": {to}}.Encode()), "bob")
		if got := sent(p, back.RequestURI()); got != want {
			t.Errorf("%q: sent to %q", to, got)
		}
		p.Want(http.StatusOK, `"name":"Bob"`, http.MethodGet, "/api/v1/me", "")
	}
}

func TestUnreachableOpenIDProvider(t *testing.T) {
	t.Parallel()
	servertest.New(t, nil).Browser().Want(http.StatusNotFound, "no_openid", http.MethodGet, openIDPath, "")
	p, err := openid.New(openid.Options{Issuer: "http://127.0.0.1:1", ClientID: "x", RedirectURL: home + server.OpenIDCallback})
	servertest.Must(t, err)
	h := servertest.New(t, func(o *server.Options) { o.PublicURL, o.OpenID = home, &server.OpenID{Provider: p, Name: "Example"} })
	if to := sent(staying(h), openIDPath); to != "/login?openid=unavailable" {
		t.Errorf("sent to %s", to)
	}
	h.NewPerson("ann@example.com", nil) // passwords do not need it
}

// TestTheCookieOfALogin checks that the cookie is not sent where it is not needed.
func TestTheCookieOfALogin(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, withProvider(t, home, accounts.Admission{}))
	p := staying(h)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+openIDPath, nil)
	servertest.Must(t, err)
	answer, err := p.Web.Do(r)
	servertest.Must(t, err)
	servertest.Must(t, answer.Body.Close())
	set := answer.Cookies()
	if len(set) != 1 || !set[0].HttpOnly || set[0].Path != openIDPath || set[0].SameSite != http.SameSiteLaxMode || set[0].MaxAge != 600 || strings.Contains(answer.Header.Get("Location"), strings.Split(set[0].Value, ".")[0]) {
		t.Errorf("%+v", set)
	}
	if jar, ok := p.Web.Jar.(*cookiejar.Jar); !ok || len(jar.Cookies(answer.Request.URL)) != 1 {
		t.Error("the browser did not keep it")
	}
}
