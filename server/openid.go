package server

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/accounts/openid"
	"github.com/onefold/onefold/server/internal/middleware"
)

// OpenID configures a provider that people log in with.
type OpenID struct {
	Provider *openid.Provider
	Name     string // on the login button, such as Keycloak
	Admit    accounts.Admission
}

// OpenIDCallback is the path, below the public URL, to which the provider redirects browsers.
const OpenIDCallback = openIDPath + "/callback"

const (
	openIDPath   = "/api/v1/login/openid"
	openIDCookie = "onefold_openid"
	openIDWithin = 10 * time.Minute // how long a person may take to log in at the provider
	maxOpenIDTo  = 512              // maximum length in bytes of the path to return to
)

type openIDRequest struct {
	To string `query:"to" maxLength:"512" doc:"Path of the page to go to after the login. Default: /."`
}

type openIDCallback struct {
	Pending string `cookie:"onefold_openid" doc:"Cookie of the browser that began the login."`
	Browser string `cookie:"onefold_browser"`
	State   string `query:"state" maxLength:"128" doc:"State of the login, returned by the provider."`
	Code    string `query:"code" maxLength:"8192" doc:"Authorization code of the provider."`
	Issuer  string `query:"iss" maxLength:"1024" doc:"Issuer, if the provider sends it."`
	Error   string `query:"error" maxLength:"128" doc:"The provider's error code, instead of a code."`
}

type redirectAnswer struct {
	Status       int
	Location     string        `header:"Location"`
	CacheControl string        `header:"Cache-Control"`
	SetCookie    []http.Cookie `header:"Set-Cookie"`
}

func (s *Server) openIDRoutes(api huma.API) {
	op := func(id, path, summary string) huma.Operation {
		return middleware.Guard(middleware.ForAnyone, huma.Operation{
			OperationID: id, Method: http.MethodGet, Path: path, DefaultStatus: http.StatusSeeOther, Summary: summary, Tags: []string{"accounts"},
			Errors: []int{http.StatusNotFound, http.StatusTooManyRequests},
		})
	}
	huma.Register(api, op("login-openid", openIDPath, "Redirect the browser to the OpenID provider"), s.toOpenID)
	huma.Register(api, middleware.AnyQuery(op("login-openid-callback", OpenIDCallback, "Complete a login at the OpenID provider")), s.fromOpenID)
}

// allowOpenID counts one attempt against the limit of the caller's network.
func (s *Server) allowOpenID(who *middleware.Caller) error {
	if s.o.OpenID == nil {
		return middleware.Problem(http.StatusNotFound, "no_openid", "This server has no OpenID provider. Start it with --openid-issuer.")
	}
	if wait, ok := s.signIns.Allow(who.Network, 1); !ok {
		return middleware.RateLimited("logins from this network", wait)
	}
	return nil
}

// toOpenID sets a cookie with a secret, from which all parameters of the request to the provider
// are derived.
func (s *Server) toOpenID(ctx context.Context, in *openIDRequest) (*redirectAnswer, error) {
	who := middleware.CallerOf(ctx)
	if err := s.allowOpenID(who); err != nil {
		return nil, err
	}
	secret := openid.NewSecret()
	there, err := s.o.OpenID.Provider.Begin(ctx, secret)
	if err != nil {
		return s.notByOpenID(ctx, who.Secure, err), nil
	}
	pending := secret + "." + base64.RawURLEncoding.EncodeToString([]byte(localPath(in.To)))
	return redirect(there, s.pendingCookie(pending, who.Secure)), nil
}

// fromOpenID logs in the person whom the provider names. Whatever the outcome, the browser is
// redirected to one of our pages, so that the code does not stay in the address bar.
func (s *Server) fromOpenID(ctx context.Context, in *openIDCallback) (*redirectAnswer, error) {
	who := middleware.CallerOf(ctx)
	if err := s.allowOpenID(who); err != nil {
		return nil, err
	}
	secret, to, _ := strings.Cut(in.Pending, ".")
	if in.Error != "" {
		return s.notByOpenID(ctx, who.Secure, &providerError{in.Error}), nil
	}
	person, err := s.o.OpenID.Provider.Finish(ctx, secret, in.State, in.Issuer, in.Code)
	if err != nil {
		return s.notByOpenID(ctx, who.Secure, err), nil
	}
	user, login, how, err := s.o.Accounts.LogInWithIdentity(ctx, person, s.o.OpenID.Admit, s.deviceOf(who))
	if err != nil {
		if user.UserID != "" {
			s.mw.Record(ctx, accounts.Entry{Actor: "nobody", Action: "session.refuse", Subject: user.UserID})
		}
		return s.notByOpenID(ctx, who.Secure, err), nil
	}
	if err := s.notifyOpenID(ctx, &user, how, in.Browser); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	entered, err := s.loggedIn(ctx, who.Secure, user, login)
	if err != nil {
		return nil, err
	}
	page, err := base64.RawURLEncoding.DecodeString(to)
	if err != nil {
		page = nil
	}
	return redirect(localPath(string(page)), append(entered.SetCookie, s.pendingCookie("", who.Secure))...), nil
}

// notifyOpenID records a login, and notifies the person of a new browser or a new link with the
// provider.
func (s *Server) notifyOpenID(ctx context.Context, user *accounts.User, how accounts.Admitted, browser string) error {
	actor := "user:" + user.UserID
	switch {
	case how.Made:
		s.mw.RecordChange(ctx, accounts.Entry{Actor: actor, Action: "user.create", Subject: user.UserID}, nil, describeUser(user))
	case how.Linked:
		s.mw.Record(ctx, accounts.Entry{Actor: actor, Action: "user.identity", Subject: user.UserID})
		s.notices.notify(user, "Your onefold account is linked with "+s.o.OpenID.Name, "Your onefold account "+user.Email+" is linked with "+s.o.OpenID.Name+". Anyone who logs in there as you can log in here.")
	}
	s.mw.Record(ctx, accounts.Entry{Actor: actor, Action: "session.login"})
	known, _, err := s.o.Accounts.KnownBrowser(ctx, user.Email, browser)
	if err == nil && known == "" {
		s.notices.loggedIn(user, s.deviceOf(middleware.CallerOf(ctx)))
	}
	return err
}

// providerError is an error code that a provider returned, such as access_denied.
type providerError struct{ code string }

func (e *providerError) Error() string { return "the OpenID provider returned " + e.code }

// notByOpenID redirects the browser to the login page with a code that says what is wrong. The log
// has the reason.
func (s *Server) notByOpenID(ctx context.Context, secure bool, err error) *redirectAnswer {
	code := "failed"
	var said *providerError
	switch {
	case errors.As(err, &said) && said.code == "access_denied":
		code = "cancelled"
	case errors.As(err, &said), errors.Is(err, openid.ErrRefused):
		code = "refused"
	case errors.Is(err, openid.ErrUnavailable):
		code = "unavailable"
	case errors.Is(err, accounts.ErrNoAccount), errors.Is(err, accounts.ErrDenied):
		code = "no_account"
	case errors.Is(err, accounts.ErrUnverified):
		code = "unverified"
	case errors.Is(err, accounts.ErrOtherIdentity):
		code = "other_identity"
	}
	s.o.Logger.WarnContext(ctx, "OpenID login failed", "code", code, "error", err)
	return redirect("/login?"+url.Values{"openid": {code}}.Encode(), s.pendingCookie("", secure))
}

func redirect(to string, cookies ...http.Cookie) *redirectAnswer {
	return &redirectAnswer{Status: http.StatusSeeOther, Location: to, CacheControl: "no-store", SetCookie: cookies}
}

// pendingCookie returns the cookie of a login in progress; "" deletes it. SameSite is Lax, because
// the browser returns from another site.
func (s *Server) pendingCookie(value string, secure bool) http.Cookie {
	c := http.Cookie{Name: openIDCookie, Value: value, Path: openIDPath, HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode, MaxAge: int(openIDWithin.Seconds())}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// localPath returns a path on this server, or "/" for anything that a browser could resolve to
// another host.
func localPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || len(to) > maxOpenIDTo || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return to
}
