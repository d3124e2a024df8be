// Package usercli implements the commands for user logins: sessions, authenticator apps and
// passkeys.
package usercli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

// byCommand is the actor in audit entries of commands.
const byCommand = "command"

// Sessions lists or ends a user's sessions.
type Sessions struct {
	Email  string `arg:"" help:"Email address of the user."`
	End    string `help:"ID of the session to end." placeholder:"ID" xor:"end"`
	EndAll bool   `help:"End all sessions of the user." xor:"end"`
}

// sessionOutput is the JSON form of a session.
type sessionOutput struct {
	ID      string          `json:"id"`
	Browser string          `json:"browser"`
	System  string          `json:"system"`
	Method  accounts.Method `json:"method"`
	Created time.Time       `json:"created"`
	Used    time.Time       `json:"used"`
	Expires time.Time       `json:"expires"`
}

// Run lists the sessions, or ends the selected ones.
func (c *Sessions) Run(ctx context.Context, env *cmdenv.Env) error {
	return withUser(ctx, env, c.Email, func(a *accounts.Store, u *accounts.User) error {
		switch {
		case c.EndAll:
			if err := a.LogOutEverywhere(ctx, u.UserID); err != nil {
				return err
			}
			return done(ctx, env, a, accounts.Entry{Action: "session.end_all", Subject: u.UserID}, "Ended all sessions of %s.\n", u.Email)
		case c.End != "":
			err := a.EndSession(ctx, u.UserID, c.End)
			if errors.Is(err, table.ErrNotFound) {
				return fmt.Errorf("no_such_session: %s has no session %s; `onefold user sessions %s` lists all sessions", u.Email, c.End, u.Email)
			}
			if err != nil {
				return err
			}
			return done(ctx, env, a, accounts.Entry{Action: "session.end", Subject: c.End}, "Ended session %s of %s.\n", c.End, u.Email)
		}
		sessions, err := a.UserSessions(ctx, u.UserID)
		if err != nil {
			return err
		}
		return list(env, sessions)
	})
}

func list(env *cmdenv.Env, sessions []accounts.Session) error {
	out := make([]sessionOutput, len(sessions))
	for i := range sessions {
		s := &sessions[i]
		out[i] = sessionOutput{s.ID(), s.Browser, s.System, s.Method, s.Created, s.Used, s.Expires}
	}
	return terminal.List[sessionOutput]{JSON: env.JSON, Columns: "SESSION\tBROWSER\tSYSTEM\tBY\tSINCE\tLAST USED", Row: func(s *sessionOutput) []any {
		return []any{s.ID, terminal.Printable(s.Browser), terminal.Printable(s.System), s.Method, s.Created.Format(time.DateTime), s.Used.Format(time.DateTime)}
	}}.Print(env.Out, out)
}

// ResetFactors removes a user's authenticator app, passkeys and OpenID identity.
type ResetFactors struct {
	Email string `arg:"" help:"Email address of the user."`
}

// Run removes them. It also ends the user's sessions, because a lost phone may have one.
func (c *ResetFactors) Run(ctx context.Context, env *cmdenv.Env) error {
	return withUser(ctx, env, c.Email, func(a *accounts.Store, u *accounts.User) error {
		factors, err := a.ResetFactors(ctx, u.UserID)
		if err == nil {
			err = a.LogOutEverywhere(ctx, u.UserID)
		}
		if err != nil {
			return err
		}
		had := "no authenticator app"
		if factors.App {
			had = "the authenticator app"
		}
		identity := ""
		if factors.Identity {
			identity = ", and the link to an OpenID identity,"
		}
		return done(ctx, env, a, accounts.Entry{Action: "user.reset_factors", Subject: u.UserID},
			"Removed %s and %s%s of %s, and ended all sessions. Logging in now needs only the password.\n", had, terminal.Count(factors.Passkeys, "passkey"), identity, u.Email)
	})
}

func withUser(ctx context.Context, env *cmdenv.Env, email string, work func(*accounts.Store, *accounts.User) error) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		a := accounts.New(s.Table, accounts.Options{})
		u, err := a.UserByEmail(ctx, email)
		if errors.Is(err, table.ErrNotFound) {
			return fmt.Errorf("no_such_user: there is no user with the address %s; `onefold user list` lists all users", email)
		}
		if err != nil {
			return err
		}
		return work(a, &u)
	})
}

// done records a change in the audit log, and prints it.
func done(ctx context.Context, env *cmdenv.Env, a *accounts.Store, e accounts.Entry, format string, args ...any) error {
	e.Actor = byCommand
	if err := a.Record(ctx, e); err != nil {
		return err
	}
	_, err := fmt.Fprintf(env.Out, format, args...)
	return err
}
