package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

type setupAnswer struct {
	Body struct {
		Needed   bool   `json:"needed" doc:"The installation has no owner yet."`
		Passkeys bool   `json:"passkeys" doc:"People can log in with passkeys, because the server knows its public URL."`
		Mail     bool   `json:"mail" doc:"People who forgot their password can have a link mailed."`
		OpenID   string `json:"openid,omitempty" doc:"Name of the OpenID provider that people can log in with, at /api/v1/login/openid. Absent if there is none."`
	}
}

type setupRequest struct {
	Body struct {
		Token    string `json:"token" maxLength:"128" doc:"From the link that the server printed at startup."`
		Email    string `json:"email" maxLength:"254"`
		Password string `json:"password" maxLength:"256" doc:"At least 10 characters."`
		Name     string `json:"name,omitempty" maxLength:"100"`
	}
}

func (s *Server) setupRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "setup-needed", Method: http.MethodGet, Path: "/api/v1/setup",
		Summary: "Report whether the installation has no owner yet", Tags: []string{"accounts"},
	}), s.setupNeeded)
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "setup", Method: http.MethodPost, Path: "/api/v1/setup", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Create the first owner and log in", Tags: []string{"accounts"}, Errors: []int{http.StatusForbidden},
	}), s.setUp)
}

func (s *Server) setupNeeded(ctx context.Context, _ *struct{}) (*setupAnswer, error) {
	answer := new(setupAnswer)
	answer.Body.Mail = s.mailsLinks()
	if answer.Body.Passkeys = s.party != nil; s.o.OpenID != nil {
		answer.Body.OpenID = s.o.OpenID.Name
	}
	var err error
	if answer.Body.Needed, err = s.o.Accounts.SetupNeeded(ctx); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return answer, nil
}

func (s *Server) setUp(ctx context.Context, in *setupRequest) (*meAnswer, error) {
	who := middleware.CallerOf(ctx)
	if err := s.mw.LimitAttempts(who, "set-up", ""); err != nil {
		return nil, err
	}
	user, err := s.o.Accounts.SetUp(ctx, in.Body.Token, accounts.NewUser{Email: in.Body.Email, Name: in.Body.Name, Password: in.Body.Password})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: "user:" + user.UserID, Action: "setup", Subject: user.UserID}, nil, describeUser(&user))
	user, login, err := s.o.Accounts.LogIn(ctx, in.Body.Email, in.Body.Password, s.deviceOf(middleware.CallerOf(ctx)))
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return s.loggedIn(ctx, who.Secure, user, login)
}
