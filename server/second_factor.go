package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/internal/qr"
)

// secondStep is the response to a correct password that needs a code as well: a problem with the
// token of the next step.
type secondStep struct {
	*huma.ErrorModel
	Challenge string    `json:"challenge"`
	Expires   time.Time `json:"expires"`
}

func secondFactorRequired(login accounts.Login) error {
	return &secondStep{
		middleware.Problem(http.StatusUnauthorized, "second_factor_required", "The password is correct. Send the challenge with a code to /api/v1/login/code."),
		login.Token, login.Expires,
	}
}

type codeRequest struct {
	Browser string `cookie:"onefold_browser"`
	Body    struct {
		Challenge string `json:"challenge" maxLength:"128" doc:"From the response of /api/v1/login."`
		Code      string `json:"code" maxLength:"64" doc:"A code from the authenticator app, or a recovery code."`
	}
}

// proofRequest asks for a password or code before the protection of an account is changed, so that
// an unattended page is not enough.
type proofRequest struct {
	Body struct {
		Password string `json:"password,omitempty" maxLength:"1024" doc:"The caller's password. A code is accepted instead."`
		Code     string `json:"code,omitempty" maxLength:"64" doc:"A code from the authenticator app, or a recovery code."`
	}
}

type confirmRequest struct {
	Body struct {
		Code string `json:"code" maxLength:"64" doc:"The code that the app shows."`
	}
}

type factorAnswer struct {
	Body struct {
		Since         *time.Time `json:"since,omitempty" doc:"When the authenticator app was set up. Absent if there is none."`
		RecoveryCodes int        `json:"recoveryCodes" doc:"Number of recovery codes left."`
	}
}

type enrolmentAnswer struct {
	Body struct {
		Secret string `json:"secret" doc:"In base32, for apps without a camera."`
		URI    string `json:"uri" doc:"The same as an otpauth:// URI."`
		QR     string `json:"qr" doc:"The same as a QR code, in a data: URI."`
	}
}

type recoveryAnswer struct {
	Body struct {
		RecoveryCodes []string `json:"recoveryCodes" doc:"Each can be used once instead of a code from the app. They are not shown again."`
	}
}

func (s *Server) secondFactorRoutes(api huma.API) {
	const factor = "/api/v1/me/second-factor"
	post := func(id, path, summary string) huma.Operation {
		return middleware.Guard(middleware.ForPerson, huma.Operation{
			OperationID: id, Method: http.MethodPost, Path: path, MaxBodyBytes: middleware.MaxSmallBody, Summary: summary, Tags: []string{"accounts"},
			Errors: []int{http.StatusConflict, http.StatusTooManyRequests},
		})
	}
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "login-code", Method: http.MethodPost, Path: "/api/v1/login/code", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Complete a login with a code", Description: "The second step of a login. Sets a session cookie. A challenge is valid for five minutes and five codes.",
		Tags: []string{"accounts"}, Errors: []int{http.StatusUnauthorized, http.StatusTooManyRequests},
	}), s.logInWithCode)
	huma.Register(api, middleware.Guard(middleware.ForPerson, huma.Operation{
		OperationID: "second-factor", Method: http.MethodGet, Path: factor, Summary: "Get the caller's second factor", Tags: []string{"accounts"},
	}), s.secondFactor)
	huma.Register(api, post("begin-second-factor", factor, "Begin to set up an authenticator app"), s.beginSecondFactor)
	huma.Register(api, post("confirm-second-factor", factor+"/confirm", "Finish setting up an authenticator app, after which logins need a code"), s.confirmSecondFactor)
	huma.Register(api, post("renew-recovery-codes", factor+"/recovery-codes", "Replace the caller's recovery codes"), s.renewRecoveryCodes)
	remove := post("remove-second-factor", factor+"/remove", "Remove the authenticator app, after which logins need no code")
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(api, remove, s.removeSecondFactor)
}

// logInWithCode rate-limits wrong codes like wrong passwords, with counters of their own. It
// requires the correct password first, so strangers cannot use up the attempts.
func (s *Server) logInWithCode(ctx context.Context, in *codeRequest) (*meAnswer, error) {
	who := middleware.CallerOf(ctx)
	user, err := s.o.Accounts.Challenged(ctx, in.Body.Challenge)
	if err != nil {
		return nil, s.challengeError(ctx, err)
	}
	browser, _, err := s.o.Accounts.KnownBrowser(ctx, user.Email, in.Browser)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	account := codesOf(user.UserID)
	if browser != "" {
		browser = account + " " + browser
	}
	if err := s.mw.LimitAttempts(who, account, browser); err != nil {
		return nil, err
	}
	user, login, by, err := s.o.Accounts.FinishLogIn(ctx, in.Body.Challenge, in.Body.Code, s.deviceOf(who))
	if err != nil {
		if errors.Is(err, accounts.ErrCode) {
			s.mw.Record(ctx, accounts.Entry{Actor: "nobody", Action: "session.refuse", Subject: user.UserID})
			if s.mw.AttemptsLimited(account) {
				s.notices.codesSlowed(user)
			}
		}
		return nil, s.challengeError(ctx, err)
	}
	s.mw.ResetAttempts(who, account, browser)
	s.usedCode(ctx, &user, by)
	s.mw.Record(ctx, accounts.Entry{Actor: "user:" + user.UserID, Action: "session.login"})
	if browser == "" {
		s.notices.loggedIn(&user, s.deviceOf(who))
	}
	return s.loggedIn(ctx, who.Secure, user, login)
}

// usedCode records the use of a recovery code and notifies its owner.
func (s *Server) usedCode(ctx context.Context, user *accounts.User, by accounts.Method) {
	if by != accounts.ByRecoveryCode {
		return
	}
	s.mw.Record(ctx, accounts.Entry{Actor: "user:" + user.UserID, Action: "user.recovery_code", Subject: user.UserID})
	s.notices.notify(user, "Recovery code used for your onefold account", "A recovery code of your onefold account "+user.Email+" was used.")
}

// codesOf returns the key under which attempts at a user's codes are counted, separate from those
// at the password.
func codesOf(userID string) string { return "codes of " + userID }

func (s *Server) challengeError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, accounts.ErrCode):
		return badCode(http.StatusUnauthorized)
	case errors.Is(err, accounts.ErrDenied):
		return middleware.Problem(http.StatusUnauthorized, "challenge_expired", "This login took too long or had too many wrong codes. Log in with the password again.")
	}
	return s.mw.Error(ctx, err)
}

func badCode(status int) error {
	return middleware.Problem(status, "bad_code", "The code is wrong or was already used. Wait for the next code of the app.")
}

func (s *Server) secondFactor(ctx context.Context, _ *struct{}) (*factorAnswer, error) {
	f, err := s.o.Accounts.SecondFactor(ctx, middleware.CallerOf(ctx).User.UserID)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(factorAnswer)
	if answer.Body.RecoveryCodes = len(f.Recovery); !f.Confirmed.IsZero() {
		answer.Body.Since = &f.Confirmed
	}
	return answer, nil
}

// prove rejects a caller who has a person's session but neither the password nor a code, such as
// somebody at an unlocked screen.
func (s *Server) prove(ctx context.Context, in *proofRequest) error {
	who := middleware.CallerOf(ctx)
	if err := s.mw.LimitAttempts(who, who.User.Email, who.Login.Token); err != nil {
		return err
	}
	var err error
	var by accounts.Method
	if in.Body.Code != "" {
		by, err = s.o.Accounts.UseCode(ctx, who.User.UserID, in.Body.Code)
	} else {
		err = s.o.Accounts.CheckPassword(ctx, who.User.UserID, in.Body.Password)
	}
	switch {
	case errors.Is(err, accounts.ErrCode):
		return badCode(http.StatusForbidden)
	case errors.Is(err, accounts.ErrDenied):
		return middleware.Problem(http.StatusForbidden, "bad_password", "The password is wrong.")
	case err != nil:
		return s.mw.Error(ctx, err)
	}
	s.mw.ResetAttempts(who, who.User.Email, who.Login.Token)
	s.usedCode(ctx, who.User, by)
	return nil
}

func (s *Server) beginSecondFactor(ctx context.Context, in *proofRequest) (*enrolmentAnswer, error) {
	if err := s.prove(ctx, in); err != nil {
		return nil, err
	}
	e, err := s.o.Accounts.BeginSecondFactor(ctx, middleware.CallerOf(ctx).User.UserID)
	if err != nil {
		return nil, s.factorError(ctx, err)
	}
	answer := new(enrolmentAnswer)
	answer.Body.Secret, answer.Body.URI = e.Secret, e.URI
	if answer.Body.QR, err = qr.DataURI(e.URI); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return answer, nil
}

func (s *Server) confirmSecondFactor(ctx context.Context, in *confirmRequest) (*recoveryAnswer, error) {
	who := middleware.CallerOf(ctx)
	if err := s.mw.LimitAttempts(who, codesOf(who.User.UserID), who.Login.Token); err != nil {
		return nil, err
	}
	codes, err := s.o.Accounts.ConfirmSecondFactor(ctx, who.User.UserID, in.Body.Code)
	if err != nil {
		return nil, s.factorError(ctx, err)
	}
	s.mw.ResetAttempts(who, codesOf(who.User.UserID), who.Login.Token)
	s.mw.Record(ctx, accounts.Entry{Actor: who.Actor, Action: "user.second_factor", Subject: who.User.UserID})
	s.notices.notify(who.User, "Authenticator app added to your onefold account", "An authenticator app was set up for your onefold account "+who.User.Email+".")
	answer := new(recoveryAnswer)
	answer.Body.RecoveryCodes = codes
	return answer, nil
}

func (s *Server) renewRecoveryCodes(ctx context.Context, in *proofRequest) (*recoveryAnswer, error) {
	if err := s.prove(ctx, in); err != nil {
		return nil, err
	}
	who := middleware.CallerOf(ctx)
	codes, err := s.o.Accounts.RenewRecoveryCodes(ctx, who.User.UserID)
	if err != nil {
		return nil, s.factorError(ctx, err)
	}
	s.mw.Record(ctx, accounts.Entry{Actor: who.Actor, Action: "user.recovery_codes", Subject: who.User.UserID})
	s.notices.notify(who.User, "New recovery codes for your onefold account", "New recovery codes replaced the old ones of your onefold account "+who.User.Email+".")
	answer := new(recoveryAnswer)
	answer.Body.RecoveryCodes = codes
	return answer, nil
}

func (s *Server) removeSecondFactor(ctx context.Context, in *proofRequest) (*struct{}, error) {
	if err := s.prove(ctx, in); err != nil {
		return nil, err
	}
	who := middleware.CallerOf(ctx)
	if err := s.o.Accounts.RemoveSecondFactor(ctx, who.User.UserID); err != nil {
		return nil, s.factorError(ctx, err)
	}
	s.mw.Record(ctx, accounts.Entry{Actor: who.Actor, Action: "user.second_factor_remove", Subject: who.User.UserID})
	s.notices.notify(who.User, "Authenticator app removed from your onefold account", "The authenticator app was removed from your onefold account "+who.User.Email+".")
	return nil, nil
}

func (s *Server) factorError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, accounts.ErrCode):
		return badCode(http.StatusForbidden)
	case errors.Is(err, accounts.ErrFactorSet):
		return middleware.Problem(http.StatusConflict, "second_factor_exists", "An authenticator app is already set up. Remove it first.")
	}
	return s.mw.Error(ctx, err)
}
