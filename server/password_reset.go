package server

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

// resetMailed is how often a user is mailed a link that sets a new password, at most.
const resetMailed = 10 * time.Minute

type resetLinkAnswer struct {
	Body struct {
		Token   string    `json:"token" doc:"Returned once. The link is /reset#TOKEN."`
		Expires time.Time `json:"expires"`
	}
}

type forgottenRequest struct {
	Body struct {
		Email string `json:"email" maxLength:"254"`
	}
}

type openResetRequest struct {
	Body struct {
		Token string `json:"token" maxLength:"128" doc:"From the link."`
	}
}

type openResetAnswer struct {
	Body struct {
		Email string `json:"email"`
	}
}

type newPasswordRequest struct {
	Body struct {
		Token    string `json:"token" maxLength:"128" doc:"From the link."`
		Password string `json:"password" maxLength:"256" doc:"At least 10 characters."`
	}
}

// The token is in the request body. In the link it is in the fragment, so it appears in no log.
func (s *Server) passwordResetRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForAccounts, huma.Operation{
		OperationID: "add-reset-link", Method: http.MethodPost, Path: "/api/v1/users/{id}/reset-link", DefaultStatus: http.StatusCreated, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Create a link with which a user sets a new password", Description: "It can be used once, within 24 hours, and replaces an earlier link. Logging in still requires the user's second factor.",
		Tags: []string{"accounts"}, Errors: []int{http.StatusNotFound},
	}), s.addResetLink)
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "forgotten-password", Method: http.MethodPost, Path: "/api/v1/password/forgotten", DefaultStatus: http.StatusAccepted, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Mail a link to set a new password", Description: "The response does not reveal whether the address has an account. The link can be used once, within an hour.",
		Tags: []string{"accounts"}, Errors: []int{http.StatusConflict, http.StatusTooManyRequests},
	}), s.forgotten)
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "open-reset-link", Method: http.MethodPost, Path: "/api/v1/password/open", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Get the user of a link that sets a password", Tags: []string{"accounts"}, Errors: []int{http.StatusNotFound, http.StatusTooManyRequests},
	}), s.openReset)
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "reset-password", Method: http.MethodPost, Path: "/api/v1/password/reset", DefaultStatus: http.StatusNoContent, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Set a new password with a link", Description: "It ends all sessions of the user, who then logs in.", Tags: []string{"accounts"}, Errors: []int{http.StatusNotFound, http.StatusTooManyRequests},
	}), s.resetPassword)
}

// mailsLinks reports whether the server can mail links: it needs a mail server and its own URL.
func (s *Server) mailsLinks() bool { return s.o.Mail != nil && s.o.PublicURL != "" }

func (s *Server) addResetLink(ctx context.Context, in *UserPath) (*resetLinkAnswer, error) {
	user, token, err := s.o.Accounts.NewReset(ctx, in.ID, accounts.ResetByHand)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.Record(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "user.reset_link", Subject: user.UserID})
	s.notices.notify(&user, "Link to set your onefold password", "An owner of this onefold installation created a link that sets a new password for your\naccount "+user.Email+".")
	answer := new(resetLinkAnswer)
	answer.Body.Token, answer.Body.Expires = token, user.Reset.Expires
	return answer, nil
}

func (s *Server) forgotten(ctx context.Context, in *forgottenRequest) (*struct{}, error) {
	if !s.mailsLinks() {
		return nil, middleware.Problem(http.StatusConflict, "no_mail", "This installation sends no mail. Ask an owner for a link to set a new password, or run onefold user reset-link on the server.")
	}
	who := middleware.CallerOf(ctx)
	if err := s.mw.LimitAttempts(who, "forgotten "+in.Body.Email, ""); err != nil {
		return nil, err
	}
	s.notices.forgotten(in.Body.Email)
	return nil, nil
}

// limitResets limits attempts at links by network. The links themselves cannot be guessed.
func (s *Server) limitResets(who *middleware.Caller) error {
	return s.mw.LimitAttempts(who, "reset link "+who.Network, "")
}

func (s *Server) openReset(ctx context.Context, in *openResetRequest) (*openResetAnswer, error) {
	who := middleware.CallerOf(ctx)
	if err := s.limitResets(who); err != nil {
		return nil, err
	}
	user, err := s.o.Accounts.FindReset(ctx, in.Body.Token)
	if err != nil {
		return nil, s.resetError(ctx, err)
	}
	s.mw.ResetAttempts(who, "reset link "+who.Network, "")
	answer := new(openResetAnswer)
	answer.Body.Email = user.Email
	return answer, nil
}

func (s *Server) resetPassword(ctx context.Context, in *newPasswordRequest) (*struct{}, error) {
	who := middleware.CallerOf(ctx)
	if err := s.limitResets(who); err != nil {
		return nil, err
	}
	user, err := s.o.Accounts.ResetPassword(ctx, in.Body.Token, in.Body.Password)
	if err != nil {
		return nil, s.resetError(ctx, err)
	}
	s.mw.ResetAttempts(who, "reset link "+who.Network, "")
	e := accounts.Entry{Actor: "user:" + user.UserID, Action: "user.reset_password", Subject: user.UserID}
	e.Hide("password")
	s.mw.Record(ctx, e)
	s.notices.notify(&user, "New password of your onefold account", "The password of your onefold account "+user.Email+" was set with a link.")
	return nil, nil
}

func (s *Server) resetError(ctx context.Context, err error) error {
	if errors.Is(err, accounts.ErrDenied) {
		return middleware.Problem(http.StatusNotFound, "not_found", "This link is no longer valid. Ask for a new one.")
	}
	return s.mw.Error(ctx, err)
}

// forgotten mails the user with an address, if there is one, a link that sets a new password.
func (n *notices) forgotten(email string) {
	n.enqueue(func(ctx context.Context) (*Letter, error) {
		u, err := n.accounts.UserByEmail(ctx, email)
		if errors.Is(err, table.ErrNotFound) || err == nil && u.Disabled {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if first, err := n.accounts.FirstNotice(ctx, u.UserID, "reset", resetMailed); err != nil || !first {
			return nil, err
		}
		u, token, err := n.accounts.NewReset(ctx, u.UserID, accounts.ResetByMail)
		if err != nil {
			return nil, err
		}
		err = n.accounts.Record(ctx, accounts.Entry{Actor: "nobody", Action: "user.reset_link", Subject: u.UserID})
		text := "Someone asked to set a new password for your onefold account " + u.Email + ".\nTo do so, open this link within an hour:\n\n" +
			strings.TrimSuffix(n.url, "/") + "/reset#" + token + "\n\nIf it was not you, ignore this message. Your password has not changed.\n"
		return &Letter{ID: rand.Text(), To: u.Email, Subject: "Set a new onefold password", Text: text, Date: n.clock().UTC()}, err
	})
}
