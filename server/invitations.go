package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

type openInvitationRequest struct {
	Body struct {
		Token string `json:"token" maxLength:"128" doc:"From the link."`
	}
}

type openInvitationAnswer struct {
	Body struct {
		Email string        `json:"email"`
		Site  string        `json:"site,omitempty" doc:"The site that the invitation is for."`
		Fleet string        `json:"fleet,omitempty" doc:"The fleet that the invitation is for."`
		Store bool          `json:"eventStore,omitempty" doc:"The invitation is for the event store."`
		Role  accounts.Role `json:"role" enum:"viewer,admin,owner"`
	}
}

type joinRequest struct {
	Body struct {
		Token    string `json:"token" maxLength:"128" doc:"From the link."`
		Name     string `json:"name,omitempty" maxLength:"100"`
		Password string `json:"password" maxLength:"256" doc:"At least 10 characters."`
	}
}

// The token is in the request body. In the link it is in the fragment, so it appears in no log.
func (s *Server) invitationRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "open-invitation", Method: http.MethodPost, Path: "/api/v1/invitations/open", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Get the recipient and target of an invitation", Tags: []string{"accounts"}, Errors: []int{http.StatusNotFound},
	}), s.openInvitation)
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "join", Method: http.MethodPost, Path: "/api/v1/invitations/accept", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Accept an invitation: create the account and log in", Tags: []string{"accounts"}, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}), s.join)
}

// findInvitation rejects an invitation to a site or fleet that no longer exists, because its roles
// were removed with it.
func (s *Server) findInvitation(ctx context.Context, token string) (accounts.Invitation, error) {
	i, err := s.o.Accounts.FindInvitation(ctx, token)
	if err == nil {
		err = s.checkExists(ctx, i.Site)
	}
	return i, s.invitationError(ctx, err)
}

func (s *Server) invitationError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, accounts.ErrDenied), errors.Is(err, table.ErrNotFound):
		return middleware.Problem(http.StatusNotFound, "not_found", "This invitation is no longer valid. Ask for a new one.")
	}
	return s.mw.Error(ctx, err)
}

func (s *Server) openInvitation(ctx context.Context, in *openInvitationRequest) (*openInvitationAnswer, error) {
	i, err := s.findInvitation(ctx, in.Body.Token)
	if err != nil {
		return nil, err
	}
	answer := new(openInvitationAnswer)
	answer.Body.Email, answer.Body.Role = i.Email, i.Role
	if fleet, ok := accounts.FleetOf(i.Site); ok {
		answer.Body.Fleet = fleet
	} else if answer.Body.Store = i.Site == accounts.EventStore; !answer.Body.Store {
		answer.Body.Site = i.Site
	}
	return answer, nil
}

func (s *Server) join(ctx context.Context, in *joinRequest) (*meAnswer, error) {
	i, err := s.findInvitation(ctx, in.Body.Token)
	if err != nil {
		return nil, err
	}
	user, err := s.o.Accounts.Join(ctx, in.Body.Token, in.Body.Name, in.Body.Password)
	if err != nil {
		return nil, s.invitationError(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: "user:" + user.UserID, Action: "invitation.accept", Site: i.Site, Subject: i.InvitationID}, nil, describeUser(&user))
	user, login, err := s.o.Accounts.LogIn(ctx, user.Email, in.Body.Password, s.deviceOf(middleware.CallerOf(ctx)))
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return s.loggedIn(ctx, middleware.CallerOf(ctx).Secure, user, login)
}
