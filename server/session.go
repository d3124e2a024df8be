package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/telemetry"
)

// meBody is what a page needs to know about its user.
type meBody struct {
	User *PersonBody `json:"user,omitempty" doc:"Absent for keys and tokens."`
	CSRF string      `json:"csrf,omitempty" doc:"Send it as X-CSRF-Token with requests that change something."`
	// Owner and NewSites save pages from evaluating roles.
	Owner    bool `json:"owner" doc:"May manage accounts, as an owner of all sites."`
	NewSites bool `json:"newSites" doc:"May create sites and fleets."`
	// MustChange is set before anything else is shown.
	MustChange bool `json:"mustChangePassword,omitempty" doc:"Another person chose the password. Other operations respond with 403 password_change_required until PATCH /api/v1/me changes it."`

	Sites  []siteRole `json:"sites"`
	Fleets []siteRole `json:"fleets"`

	EventStore accounts.Role `json:"eventStore,omitempty" enum:"viewer,admin,owner" doc:"The caller's role on the event store. Absent if none."`
}

// PersonBody describes a person. It is exported because the API document omits the fields of
// unexported embedded types.
type PersonBody struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Name  string `json:"name" audit:"hide"`
}

type siteRole struct {
	ID   string        `json:"id"`
	Role accounts.Role `json:"role" enum:"viewer,admin,owner"`
}

type meAnswer struct {
	SetCookie []http.Cookie `header:"Set-Cookie"`
	Body      meBody
}

type loginRequest struct {
	Browser string `cookie:"onefold_browser" doc:"Cookie of a browser that has logged in before. Wrong passwords of others do not delay it."`
	Body    struct {
		Email    string `json:"email" maxLength:"254"`
		Password string `json:"password" maxLength:"1024"`
	}
}

type cookieAnswer struct {
	SetCookie []http.Cookie `header:"Set-Cookie"`
}

// signInRoutes registers the operations that log people in and out.
func (s *Server) signInRoutes(api huma.API) {
	s.sessionRoutes(api)
	s.sessionListRoutes(api)
	s.secondFactorRoutes(api)
	s.passkeyRoutes(api)
	s.openIDRoutes(api)
	s.passwordResetRoutes(api)
}

func (s *Server) sessionRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "login", Method: http.MethodPost, Path: "/api/v1/login", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Log in", Description: "Sets a session cookie. If the account has an authenticator app, the response is 401 `second_factor_required` with a `challenge` for /api/v1/login/code.", Tags: []string{"accounts"},
		Errors: []int{http.StatusUnauthorized, http.StatusTooManyRequests},
	}), s.logIn)
	huma.Register(api, middleware.WithTemporaryPassword(middleware.Guard(middleware.ForPerson, huma.Operation{
		OperationID: "logout", Method: http.MethodPost, Path: "/api/v1/logout", DefaultStatus: http.StatusNoContent,
		Summary: "Log out", Tags: []string{"accounts"},
	})), s.logOut)
	huma.Register(api, middleware.WithTemporaryPassword(middleware.Guard(middleware.ForIdentified, huma.Operation{
		OperationID: "me", Method: http.MethodGet, Path: "/api/v1/me",
		Summary: "Get the caller and its permissions", Tags: []string{"accounts"},
	})), s.me)
	huma.Register(api, middleware.WithTemporaryPassword(middleware.Guard(middleware.ForPerson, huma.Operation{
		OperationID: "update-me", Method: http.MethodPatch, Path: "/api/v1/me", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Change the caller's name or password", Description: "A new password ends all other sessions.", Tags: []string{"accounts"},
	})), s.updateMe)
}

func (s *Server) logIn(ctx context.Context, in *loginRequest) (*meAnswer, error) {
	who := middleware.CallerOf(ctx)
	browser, _, err := s.o.Accounts.KnownBrowser(ctx, in.Body.Email, in.Browser)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if err := s.mw.LimitAttempts(who, in.Body.Email, browser); err != nil {
		return nil, err
	}
	user, login, err := s.o.Accounts.LogIn(ctx, in.Body.Email, in.Body.Password, s.deviceOf(who))
	if errors.Is(err, accounts.ErrSecondFactor) {
		s.mw.ResetAttempts(who, in.Body.Email, browser)
		return nil, secondFactorRequired(login)
	}
	if errors.Is(err, accounts.ErrDenied) {
		// Unknown addresses are recorded too, so that the response takes as long and does not
		// reveal which addresses have accounts.
		s.mw.Record(ctx, accounts.Entry{Actor: "nobody", Action: "session.refuse", Subject: user.UserID})
		if s.mw.AttemptsLimited(in.Body.Email) {
			s.notices.passwordsSlowed(in.Body.Email)
		}
		return nil, middleware.Problem(http.StatusUnauthorized, "bad_login", "Wrong email address or password.")
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.ResetAttempts(who, in.Body.Email, browser)
	s.mw.Record(ctx, accounts.Entry{Actor: "user:" + user.UserID, Action: "session.login"})
	if browser == "" {
		s.notices.loggedIn(&user, s.deviceOf(who))
	}
	return s.loggedIn(ctx, who.Secure, user, login)
}

// loggedIn returns the response, with the session cookie, to a caller who has just logged in.
func (s *Server) loggedIn(ctx context.Context, secure bool, user accounts.User, login accounts.Login) (*meAnswer, error) {
	who := &middleware.Caller{Actor: "user:" + user.UserID, Grants: user.Grants, User: &user, Login: login, Secure: secure}
	body, err := s.describe(ctx, who)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	browser, err := s.o.Accounts.BrowserToken(ctx, user.Email)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	known := s.cookie(middleware.BrowserCookie, accounts.Login{Token: browser, Expires: s.o.Clock().Add(browserKnown)}, secure)
	return &meAnswer{SetCookie: []http.Cookie{s.cookie(middleware.SessionCookie, login, secure), known}, Body: body}, nil
}

// browserKnown is how long a browser stays known after a login.
const browserKnown = 180 * 24 * time.Hour

// cookie returns the cookie with a session's token. Scripts cannot read it, and forms of other
// sites do not send it.
func (s *Server) cookie(name string, login accounts.Login, secure bool) http.Cookie {
	return http.Cookie{
		Name: name, Value: login.Token, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
		MaxAge: max(1, int(login.Expires.Sub(s.o.Clock()).Seconds())),
	}
}

type logoutRequest struct {
	Everywhere bool `query:"everywhere" doc:"End all sessions of the user."`
}

func (s *Server) logOut(ctx context.Context, in *logoutRequest) (*cookieAnswer, error) {
	who := middleware.CallerOf(ctx)
	err := s.o.Accounts.LogOut(ctx, who.Login.Token)
	if err == nil && in.Everywhere {
		err = s.o.Accounts.LogOutEverywhere(ctx, who.User.UserID)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	action := "session.logout"
	if in.Everywhere {
		action = "session.logout_everywhere"
	}
	s.mw.Record(ctx, accounts.Entry{Actor: who.Actor, Action: action})
	gone := s.cookie(middleware.SessionCookie, accounts.Login{}, who.Secure)
	gone.MaxAge = -1
	return &cookieAnswer{[]http.Cookie{gone}}, nil
}

// me also renews the cookie's expiry, which moves with use.
func (s *Server) me(ctx context.Context, _ *struct{}) (*meAnswer, error) {
	who := middleware.CallerOf(ctx)
	body, err := s.describe(ctx, who)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := &meAnswer{Body: body}
	if who.User != nil {
		answer.SetCookie = []http.Cookie{s.cookie(middleware.SessionCookie, who.Login, who.Secure)}
	}
	return answer, nil
}

// describe describes a caller, with the role on each existing site and fleet, so that a role on all
// sites is listed for each of them.
func (s *Server) describe(ctx context.Context, who *middleware.Caller) (meBody, error) {
	body := meBody{Owner: who.May(middleware.ForAccounts, ""), NewSites: who.May(middleware.ForAllSites, ""), Sites: []siteRole{}, Fleets: []siteRole{}, EventStore: who.Grants.On(accounts.EventStore)}
	if who.User != nil {
		body.User = &PersonBody{who.User.UserID, who.User.Email, who.User.Name}
		body.CSRF, body.MustChange = accounts.CSRF(who.Login.Token), who.User.MustChange
	}
	for site, err := range analytics.ListSites(ctx, s.o.Table, "") {
		if err != nil {
			return body, err
		}
		if role := who.Grants.On(site.SiteID); role != "" {
			body.Sites = append(body.Sites, siteRole{site.SiteID, role})
		}
	}
	for fleet, err := range telemetry.ListFleets(ctx, s.o.Table, "") {
		if err != nil {
			return body, err
		}
		if role := who.Grants.On(accounts.OfFleet(fleet.FleetID)); role != "" {
			body.Fleets = append(body.Fleets, siteRole{fleet.FleetID, role})
		}
	}
	return body, nil
}

type updateMeRequest struct {
	Body struct {
		Name            *string `json:"name,omitempty" maxLength:"100"`
		Password        string  `json:"password,omitempty" maxLength:"256" doc:"The new password."`
		CurrentPassword string  `json:"currentPassword,omitempty" maxLength:"1024" doc:"Required to change the password."`
	}
}

func (s *Server) updateMe(ctx context.Context, in *updateMeRequest) (*meAnswer, error) {
	who := middleware.CallerOf(ctx)
	user := *who.User
	var err error
	if in.Body.Name != nil {
		if user, err = s.o.Accounts.UpdateUser(ctx, user.UserID, func(u *accounts.User) { u.Name = *in.Body.Name }); err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		s.mw.RecordChange(ctx, accounts.Entry{Actor: who.Actor, Action: "user.update", Subject: user.UserID}, describeUser(who.User), describeUser(&user))
	}
	login := who.Login
	if in.Body.Password != "" {
		if user, login, err = s.changePassword(ctx, who, in.Body.CurrentPassword, in.Body.Password); err != nil {
			return nil, err
		}
	}
	return s.loggedIn(ctx, who.Secure, user, login)
}

// changePassword ends all sessions of the person except the one of the request. It requires the old
// password.
func (s *Server) changePassword(ctx context.Context, who *middleware.Caller, old, password string) (accounts.User, accounts.Login, error) {
	if err := s.mw.LimitAttempts(who, who.User.Email, who.Login.Token); err != nil {
		return accounts.User{}, accounts.Login{}, err
	}
	err := s.o.Accounts.CheckPassword(ctx, who.User.UserID, old)
	if errors.Is(err, accounts.ErrDenied) {
		return accounts.User{}, accounts.Login{}, middleware.Problem(http.StatusForbidden, "bad_password", "The current password is wrong.")
	}
	if err != nil {
		return accounts.User{}, accounts.Login{}, s.mw.Error(ctx, err)
	}
	s.mw.ResetAttempts(who, who.User.Email, who.Login.Token)
	user, login, err := s.o.Accounts.ChangePassword(ctx, who.Login.Token, password)
	if err != nil {
		return user, login, s.sessionError(ctx, err)
	}
	s.mw.Record(ctx, accounts.Entry{Actor: who.Actor, Action: "user.password", Subject: who.User.UserID, Changes: []accounts.Change{{Field: "password", Hidden: true}}})
	s.notices.notify(&user, "New password of your onefold account", "The password of your onefold account "+user.Email+" was changed.")
	return user, login, nil
}
