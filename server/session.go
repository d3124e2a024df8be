package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
)

const (
	sessionCookie = "onefold_session"
	shareCookie   = "onefold_share"
)

// meBody is what a page has to know of who uses it.
type meBody struct {
	User *personBody `json:"user,omitempty" doc:"Absent for keys and the token."`
	CSRF string      `json:"csrf,omitempty" doc:"What a page sends as X-CSRF-Token with requests that change something."`
	// Owner and NewSites spare a page the rules of roles.
	Owner    bool       `json:"owner" doc:"Looks after accounts: an owner of all sites."`
	NewSites bool       `json:"newSites" doc:"May make sites."`
	Sites    []siteRole `json:"sites"`
}

type personBody struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Name  string `json:"name"`
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
	Body struct {
		Email    string `json:"email" maxLength:"254"`
		Password string `json:"password" maxLength:"1024"`
	}
}

type cookieAnswer struct {
	SetCookie []http.Cookie `header:"Set-Cookie"`
}

func (s *Server) sessionRoutes(api huma.API) {
	huma.Register(api, guard(forAnyone, huma.Operation{
		OperationID: "login", Method: http.MethodPost, Path: "/api/v1/login", MaxBodyBytes: maxSmallBody,
		Summary: "Log in", Description: "Sets a session cookie.", Tags: []string{"accounts"},
		Errors: []int{http.StatusUnauthorized, http.StatusTooManyRequests},
	}), s.logIn)
	huma.Register(api, guard(forPerson, huma.Operation{
		OperationID: "logout", Method: http.MethodPost, Path: "/api/v1/logout", DefaultStatus: http.StatusNoContent,
		Summary: "End the session", Tags: []string{"accounts"},
	}), s.logOut)
	huma.Register(api, guard(forSomebody, huma.Operation{
		OperationID: "me", Method: http.MethodGet, Path: "/api/v1/me",
		Summary: "Who asks, and what they may do", Tags: []string{"accounts"},
	}), s.me)
	huma.Register(api, guard(forPerson, huma.Operation{
		OperationID: "update-me", Method: http.MethodPatch, Path: "/api/v1/me", MaxBodyBytes: maxSmallBody,
		Summary: "Change one's own name or password", Description: "A new password ends all other sessions.", Tags: []string{"accounts"},
	}), s.updateMe)
}

// maxSmallBody bounds requests that hold a few settings.
const maxSmallBody = 64 << 10

func (s *Server) logIn(ctx context.Context, in *loginRequest) (*meAnswer, error) {
	who := callerOf(ctx)
	if err := s.slowDown(who, in.Body.Email); err != nil {
		return nil, err
	}
	user, login, err := s.o.Accounts.LogIn(ctx, in.Body.Email, in.Body.Password)
	if errors.Is(err, accounts.ErrDenied) {
		return nil, problem(http.StatusUnauthorized, "bad_login", "Address or password is wrong.")
	}
	if err != nil {
		return nil, s.httpError(ctx, err)
	}
	s.logins.forgive(throttleKey(in.Body.Email), who.network)
	s.record(ctx, accounts.Entry{Actor: "user:" + user.UserID, Action: "session.login"})
	return s.loggedIn(ctx, who.secure, user, login)
}

// slowDown refuses an attempt at a password when there were too many of late.
func (s *Server) slowDown(who *caller, account string) error {
	wait := s.logins.try(throttleKey(account), who.network)
	if wait <= 0 {
		return nil
	}
	seconds := strconv.Itoa(int(wait/time.Second) + 1)
	return huma.ErrorWithHeaders(problem(http.StatusTooManyRequests, "too_many_attempts", "Too many attempts. Try again after "+seconds+" s."),
		http.Header{"Retry-After": {seconds}})
}

// loggedIn answers whoever has just logged in, with the cookie.
func (s *Server) loggedIn(ctx context.Context, secure bool, user accounts.User, login accounts.Login) (*meAnswer, error) {
	who := &caller{actor: "user:" + user.UserID, grants: user.Grants, user: &user, login: login, secure: secure}
	body, err := s.describe(ctx, who)
	if err != nil {
		return nil, s.httpError(ctx, err)
	}
	return &meAnswer{SetCookie: []http.Cookie{s.cookie(sessionCookie, login, secure)}, Body: body}, nil
}

// cookie holds a session's token, out of the reach of scripts and of other sites' forms.
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
	who := callerOf(ctx)
	err := s.o.Accounts.LogOut(ctx, who.login.Token)
	if err == nil && in.Everywhere {
		err = s.o.Accounts.LogOutEverywhere(ctx, who.user.UserID)
	}
	if err != nil {
		return nil, s.httpError(ctx, err)
	}
	gone := s.cookie(sessionCookie, accounts.Login{}, who.secure)
	gone.MaxAge = -1
	return &cookieAnswer{[]http.Cookie{gone}}, nil
}

// me also moves the cookie's end, which slides with use.
func (s *Server) me(ctx context.Context, _ *struct{}) (*meAnswer, error) {
	who := callerOf(ctx)
	body, err := s.describe(ctx, who)
	if err != nil {
		return nil, s.httpError(ctx, err)
	}
	answer := &meAnswer{Body: body}
	if who.user != nil {
		answer.SetCookie = []http.Cookie{s.cookie(sessionCookie, who.login, who.secure)}
	}
	return answer, nil
}

func (s *Server) describe(ctx context.Context, who *caller) (meBody, error) {
	body := meBody{Owner: who.may(forAccounts, ""), NewSites: who.may(forNewSites, ""), Sites: []siteRole{}}
	if who.user != nil {
		body.User = &personBody{who.user.UserID, who.user.Email, who.user.Name}
		body.CSRF = accounts.CSRF(who.login.Token)
	}
	for site, err := range analytics.ListSites(ctx, s.o.Table, "") {
		if err != nil {
			return body, err
		}
		if role := who.grants.On(site.SiteID); role != "" {
			body.Sites = append(body.Sites, siteRole{site.SiteID, role})
		}
	}
	return body, nil
}

type updateMeRequest struct {
	Body struct {
		Name            *string `json:"name,omitempty" maxLength:"100"`
		Password        string  `json:"password,omitempty" maxLength:"256" doc:"The new one."`
		CurrentPassword string  `json:"currentPassword,omitempty" maxLength:"1024" doc:"Needed to change the password."`
	}
}

func (s *Server) updateMe(ctx context.Context, in *updateMeRequest) (*meAnswer, error) {
	who := callerOf(ctx)
	user := *who.user
	var err error
	if in.Body.Name != nil {
		if user, err = s.o.Accounts.UpdateUser(ctx, user.UserID, func(u *accounts.User) { u.Name = *in.Body.Name }); err != nil {
			return nil, s.httpError(ctx, err)
		}
	}
	login := who.login
	if in.Body.Password != "" {
		if user, login, err = s.changePassword(ctx, who, in.Body.CurrentPassword, in.Body.Password); err != nil {
			return nil, err
		}
	}
	return s.loggedIn(ctx, who.secure, user, login)
}

// changePassword ends all sessions of a person who knows the old password, and begins a new one.
func (s *Server) changePassword(ctx context.Context, who *caller, old, password string) (accounts.User, accounts.Login, error) {
	if err := s.slowDown(who, who.user.Email); err != nil {
		return accounts.User{}, accounts.Login{}, err
	}
	err := s.o.Accounts.CheckPassword(ctx, who.user.UserID, old)
	if errors.Is(err, accounts.ErrDenied) {
		return accounts.User{}, accounts.Login{}, problem(http.StatusForbidden, "bad_password", "The current password is wrong.")
	}
	if err == nil {
		err = s.o.Accounts.SetPassword(ctx, who.user.UserID, password)
	}
	if err != nil {
		return accounts.User{}, accounts.Login{}, s.httpError(ctx, err)
	}
	s.logins.forgive(throttleKey(who.user.Email), who.network)
	s.record(ctx, accounts.Entry{Actor: who.actor, Action: "user.password", Subject: who.user.UserID})
	user, login, err := s.o.Accounts.LogIn(ctx, who.user.Email, password)
	if err != nil {
		return user, login, s.httpError(ctx, err)
	}
	return user, login, nil
}

// record writes a change down. What was done stays done when that fails; the log has it then.
func (s *Server) record(ctx context.Context, e accounts.Entry) {
	if err := s.o.Accounts.Record(context.WithoutCancel(ctx), e); err != nil {
		s.o.Logger.ErrorContext(ctx, "a change was not recorded", "action", e.Action, "actor", e.Actor, "subject", e.Subject, "error", err)
	}
}
