package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

type sessionBody struct {
	ID      string          `json:"id"`
	Current bool            `json:"current" doc:"The session of this request."`
	Browser string          `json:"browser,omitempty" example:"Firefox 138"`
	System  string          `json:"system,omitempty" example:"Linux"`
	Method  accounts.Method `json:"method,omitempty" enum:"password,code,recovery_code,passkey" doc:"How the person logged in. Absent in sessions created by earlier versions."`
	Created time.Time       `json:"created"`
	Used    time.Time       `json:"used" doc:"When the session was last used, to the hour."`
	Expires time.Time       `json:"expires" doc:"When the session expires if it is not used again."`
}

type sessionsAnswer struct {
	Body struct {
		Sessions []sessionBody `json:"sessions"`
	}
}

type sessionPath struct {
	ID string `path:"id" maxLength:"32" doc:"ID of the session."`
}

func (s *Server) sessionListRoutes(api huma.API) {
	const list = "/api/v1/me/sessions"
	huma.Register(api, middleware.Guard(middleware.ForPerson, huma.Operation{
		OperationID: "my-sessions", Method: http.MethodGet, Path: list,
		Summary: "List the caller's sessions, most recently used first", Tags: []string{"accounts"},
	}), s.sessions)
	huma.Register(api, middleware.Guard(middleware.ForPerson, huma.Operation{
		OperationID: "end-other-sessions", Method: http.MethodDelete, Path: list,
		Summary: "End the caller's other sessions", Description: "The session of this request gets a new cookie.", Tags: []string{"accounts"},
	}), s.endOtherSessions)
	huma.Register(api, middleware.Guard(middleware.ForPerson, huma.Operation{
		OperationID: "end-session", Method: http.MethodDelete, Path: list + "/{id}", DefaultStatus: http.StatusNoContent,
		Summary: "End one of the caller's sessions", Description: "Its live streams end within 15 seconds.", Tags: []string{"accounts"},
		Errors: []int{http.StatusNotFound},
	}), s.endSession)
}

// deviceOf describes the caller's browser with its version, and operating system.
func (s *Server) deviceOf(who *middleware.Caller) accounts.Device {
	a := s.agents.Parse(who.Agent)
	return accounts.Device{Browser: strings.TrimSpace(a.Browser + " " + a.BrowserVersion), System: a.OS}
}

func (s *Server) sessions(ctx context.Context, _ *struct{}) (*sessionsAnswer, error) {
	who := middleware.CallerOf(ctx)
	all, err := s.o.Accounts.UserSessions(ctx, who.User.UserID)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(sessionsAnswer)
	answer.Body.Sessions = described(all, func(x *accounts.Session) sessionBody {
		return sessionBody{x.ID(), x.HasToken(who.Login.Token), x.Browser, x.System, x.Method, x.Created, x.Used, x.Expires}
	})
	return answer, nil
}

func (s *Server) endSession(ctx context.Context, in *sessionPath) (*struct{}, error) {
	who := middleware.CallerOf(ctx)
	if err := s.o.Accounts.EndSession(ctx, who.User.UserID, in.ID); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.Record(ctx, accounts.Entry{Actor: who.Actor, Action: "session.end", Subject: in.ID})
	return nil, nil
}

func (s *Server) endOtherSessions(ctx context.Context, _ *struct{}) (*meAnswer, error) {
	who := middleware.CallerOf(ctx)
	user, login, err := s.o.Accounts.EndOtherSessions(ctx, who.Login.Token)
	if err != nil {
		return nil, s.sessionError(ctx, err)
	}
	s.mw.Record(ctx, accounts.Entry{Actor: who.Actor, Action: "session.end_others"})
	return s.loggedIn(ctx, who.Secure, user, login)
}

// sessionError maps the error of a session that was ended during the request.
func (s *Server) sessionError(ctx context.Context, err error) error {
	if errors.Is(err, accounts.ErrDenied) {
		return middleware.Problem(http.StatusUnauthorized, "unauthorized", "This session has ended. Log in again.")
	}
	return s.mw.Error(ctx, err)
}
