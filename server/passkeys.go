package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/accounts/passkey"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

// passkeyRate and passkeyBurst limit passkey logins per network: per second, and at once. They are
// separate from the limits on passwords, so that guessed passwords do not delay people with
// passkeys.
const passkeyRate, passkeyBurst = 5, 100

type passkeyBody struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Created time.Time  `json:"created"`
	Used    *time.Time `json:"used,omitempty" doc:"When the passkey was last used to log in. Absent if never."`
	Synced  bool       `json:"synced" doc:"The authenticator may copy the passkey to the person's other devices."`
	Refused bool       `json:"refused" doc:"The passkey's counter went back, as that of a copy would. It is no longer accepted."`
}

type passkeyAnswer struct{ Body passkeyBody }

type passkeysAnswer struct {
	Body struct {
		Available bool          `json:"available" doc:"The server knows its public URL, which passkeys require."`
		Passkeys  []passkeyBody `json:"passkeys"`
	}
}

type passkeyOptionsAnswer struct {
	Body struct {
		PublicKey any `json:"publicKey" doc:"For PublicKeyCredential.parseCreationOptionsFromJSON or parseRequestOptionsFromJSON. The challenge is valid for five minutes and can be used once."`
	}
}

type credentialRequest struct {
	Browser string `cookie:"onefold_browser"`
	Body    struct {
		Credential map[string]any `json:"credential" doc:"The PublicKeyCredential, as returned by its toJSON."`
	}
}

type newPasskeyRequest struct {
	Body struct {
		Name       string         `json:"name" maxLength:"100"`
		Credential map[string]any `json:"credential" doc:"The PublicKeyCredential, as returned by its toJSON."`
	}
}

// PasskeyPath names the passkey of an operation.
type PasskeyPath struct {
	ID string `path:"id" maxLength:"32" doc:"ID of the passkey."`
}

type renamePasskeyRequest struct {
	PasskeyPath
	Body struct {
		Name string `json:"name" maxLength:"100"`
	}
}

func (s *Server) passkeyRoutes(api huma.API) {
	const list, in = "/api/v1/me/passkeys", "/api/v1/login/passkey"
	op := func(need middleware.Permission, id, method, path, summary string, status int) huma.Operation {
		return middleware.Guard(need, huma.Operation{
			OperationID: id, Method: method, Path: path, DefaultStatus: status, MaxBodyBytes: middleware.MaxSmallBody, Summary: summary, Tags: []string{"accounts"},
			Errors: []int{http.StatusUnauthorized, http.StatusConflict, http.StatusTooManyRequests},
		})
	}
	huma.Register(api, op(middleware.ForAnyone, "passkey-login-options", http.MethodPost, in+"/options", "Begin to log in with a passkey", 0), s.passkeyLogInOptions)
	huma.Register(api, op(middleware.ForAnyone, "login-passkey", http.MethodPost, in, "Log in with a passkey instead of password and code", 0), s.logInWithPasskey)
	huma.Register(api, op(middleware.ForPerson, "passkeys", http.MethodGet, list, "List the caller's passkeys", 0), s.passkeys)
	huma.Register(api, op(middleware.ForPerson, "passkey-options", http.MethodPost, list+"/options", "Begin to add a passkey", 0), s.passkeyOptions)
	huma.Register(api, op(middleware.ForPerson, "add-passkey", http.MethodPost, list, "Add a passkey that the browser created", http.StatusCreated), s.addPasskey)
	huma.Register(api, op(middleware.ForPerson, "rename-passkey", http.MethodPatch, list+"/{id}", "Rename a passkey", 0), s.renamePasskey)
	huma.Register(api, op(middleware.ForPerson, "remove-passkey", http.MethodDelete, list+"/{id}", "Remove a passkey", http.StatusNoContent), s.removePasskey)
}

// partyOf returns the server's passkey configuration, or a problem that says what is missing.
func (s *Server) partyOf() (*passkey.Party, error) {
	if s.party == nil {
		return nil, middleware.Problem(http.StatusConflict, "no_public_url", "Passkeys need the server's public URL. Start the server with --public-url https://… (ONEFOLD_PUBLIC_URL).")
	}
	return s.party, nil
}

// allowPasskey counts one attempt against the limit of the caller's network.
func (s *Server) allowPasskey(who *middleware.Caller) (*passkey.Party, error) {
	if wait, ok := s.signIns.Allow(who.Network, 1); !ok {
		return nil, middleware.RateLimited("attempts with passkeys from this network", wait)
	}
	return s.partyOf()
}

func (s *Server) passkeyLogInOptions(ctx context.Context, _ *struct{}) (*passkeyOptionsAnswer, error) {
	p, err := s.allowPasskey(middleware.CallerOf(ctx))
	if err != nil {
		return nil, err
	}
	answer := new(passkeyOptionsAnswer)
	if answer.Body.PublicKey, err = s.o.Accounts.BeginPasskeyLogIn(ctx, p); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return answer, nil
}

func (s *Server) logInWithPasskey(ctx context.Context, in *credentialRequest) (*meAnswer, error) {
	who := middleware.CallerOf(ctx)
	p, err := s.allowPasskey(who)
	if err != nil {
		return nil, err
	}
	credential, err := json.Marshal(in.Body.Credential)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	user, login, err := s.o.Accounts.LogInWithPasskey(ctx, p, credential, s.deviceOf(who))
	if err != nil {
		s.refusedPasskey(ctx, &user, err)
		return nil, s.passkeyError(ctx, http.StatusUnauthorized, err)
	}
	s.mw.Record(ctx, accounts.Entry{Actor: "user:" + user.UserID, Action: "session.login"})
	browser, _, err := s.o.Accounts.KnownBrowser(ctx, user.Email, in.Browser)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if browser == "" {
		s.notices.loggedIn(&user, s.deviceOf(who))
	}
	return s.loggedIn(ctx, who.Secure, user, login)
}

// refusedPasskey records a rejected passkey if it belongs to a user.
func (s *Server) refusedPasskey(ctx context.Context, user *accounts.User, err error) {
	if user.UserID == "" {
		return
	}
	action := "session.refuse"
	if errors.Is(err, accounts.ErrCopied) {
		action = "user.passkey_copied"
	}
	s.mw.Record(ctx, accounts.Entry{Actor: "nobody", Action: action, Subject: user.UserID})
}

// passkeyError maps passkey errors to problems. The log has the reason why a passkey was rejected.
func (s *Server) passkeyError(ctx context.Context, status int, err error) error {
	switch {
	case errors.Is(err, accounts.ErrCopied):
		return middleware.Problem(status, "passkey_copied", "This passkey's counter went back, as that of a copy would. Log in with your password and remove the passkey.")
	case errors.Is(err, passkey.ErrRefused):
		s.o.Logger.InfoContext(ctx, "passkey rejected", "error", err)
		return middleware.Problem(status, "bad_passkey", "The passkey was not accepted. It may belong to another address, or have been removed.")
	case errors.Is(err, accounts.ErrDenied):
		return middleware.Problem(status, "bad_passkey", "The passkey was not accepted, or the login took too long. Try again, or log in with your password.")
	case errors.Is(err, table.ErrExists):
		return middleware.Problem(http.StatusConflict, "passkey_exists", "This passkey already exists.")
	}
	return s.mw.Error(ctx, err)
}

func describePasskey(k *accounts.Passkey) passkeyBody {
	body := passkeyBody{ID: k.PasskeyID, Name: k.Name, Created: k.Created, Synced: k.Synced, Refused: !k.Copied.IsZero()}
	if !k.Used.IsZero() {
		body.Used = &k.Used
	}
	return body
}

func (s *Server) passkeys(ctx context.Context, _ *struct{}) (*passkeysAnswer, error) {
	all, err := s.o.Accounts.UserPasskeys(ctx, middleware.CallerOf(ctx).User.UserID)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(passkeysAnswer)
	answer.Body.Available, answer.Body.Passkeys = s.party != nil, described(all, describePasskey)
	return answer, nil
}

func (s *Server) passkeyOptions(ctx context.Context, in *proofRequest) (*passkeyOptionsAnswer, error) {
	p, err := s.partyOf()
	if err != nil {
		return nil, err
	}
	if err := s.prove(ctx, in); err != nil {
		return nil, err
	}
	answer := new(passkeyOptionsAnswer)
	if answer.Body.PublicKey, err = s.o.Accounts.BeginPasskey(ctx, p, middleware.CallerOf(ctx).User.UserID); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return answer, nil
}

func (s *Server) addPasskey(ctx context.Context, in *newPasskeyRequest) (*passkeyAnswer, error) {
	p, err := s.partyOf()
	if err != nil {
		return nil, err
	}
	who := middleware.CallerOf(ctx)
	credential, err := json.Marshal(in.Body.Credential)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	k, err := s.o.Accounts.AddPasskey(ctx, p, who.User.UserID, in.Body.Name, credential)
	if err != nil {
		return nil, s.passkeyError(ctx, http.StatusForbidden, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: who.Actor, Action: "user.passkey", Subject: who.User.UserID}, nil, describePasskey(&k))
	s.notices.notify(who.User, "Passkey added to your onefold account", "The passkey "+strconv.Quote(k.Name)+" was added to your onefold account "+who.User.Email+".")
	return &passkeyAnswer{describePasskey(&k)}, nil
}

func (s *Server) renamePasskey(ctx context.Context, in *renamePasskeyRequest) (*passkeyAnswer, error) {
	who := middleware.CallerOf(ctx)
	k, err := s.o.Accounts.RenamePasskey(ctx, who.User.UserID, in.ID, in.Body.Name)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.Record(ctx, accounts.Entry{Actor: who.Actor, Action: "user.passkey_rename", Subject: who.User.UserID, Changes: []accounts.Change{{Field: "name", After: k.Name}}})
	return &passkeyAnswer{describePasskey(&k)}, nil
}

func (s *Server) removePasskey(ctx context.Context, in *PasskeyPath) (*struct{}, error) {
	who := middleware.CallerOf(ctx)
	if err := s.o.Accounts.RemovePasskey(ctx, who.User.UserID, in.ID); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.Record(ctx, accounts.Entry{Actor: who.Actor, Action: "user.passkey_remove", Subject: who.User.UserID})
	s.notices.notify(who.User, "Passkey removed from your onefold account", "A passkey was removed from your onefold account "+who.User.Email+".")
	return nil, nil
}
