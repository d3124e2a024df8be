package accounts

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
)

// Lifetimes of sessions. Each use extends a session to sessionIdle from then, but never beyond
// sessionMost.
const (
	sessionIdle  = 14 * 24 * time.Hour
	sessionMost  = 30 * 24 * time.Hour
	sessionSlide = 24 * time.Hour // sessions are extended at least this much at a time, so that few requests write
	shareSession = 24 * time.Hour
	sessionHour  = time.Hour // the last use is stored with this precision, so that few requests write
	maxSessions  = 100       // per user; a new session replaces the least recently used one
)

// usesPassword reports whether the user enters a password to log in by this method.
func (m Method) usesPassword() bool { return m != ByPasskey && m != ByOpenID }

// Login is what a browser gets: the token of its session, and when it expires.
type Login struct {
	Token   string
	Expires time.Time
}

// LogIn begins a session of the user with an address and a password. It takes the same time whether
// the address is known or not. Errors: ErrDenied, with only the ID of the user if the address is
// known; ErrSecondFactor, with a login whose token is only valid for FinishLogIn.
func (s *Store) LogIn(ctx context.Context, email, password string, on Device) (User, Login, error) {
	u, err := s.UserByEmail(ctx, email)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return User{}, Login{}, err
	}
	right, err := s.hashes.check(ctx, password, u.Password)
	if err != nil {
		return User{}, Login{}, fmt.Errorf("accounts: log in: %w", err)
	}
	if !right || u.Disabled {
		return User{UserKey: u.UserKey}, Login{}, ErrDenied
	}
	needed, err := s.HasSecondFactor(ctx, u.UserID)
	if err != nil {
		return User{}, Login{}, err
	}
	if needed {
		login, err := s.challenge(ctx, &u)
		return u, login, cmp.Or(err, ErrSecondFactor)
	}
	login, err := s.beginFor(ctx, &u, ByPassword, on)
	return u, login, err
}

// beginFor begins a session of an authenticated user.
func (s *Store) beginFor(ctx context.Context, u *User, by Method, on Device) (Login, error) {
	if err := s.makeRoom(ctx, u); err != nil {
		return Login{}, err
	}
	return s.begin(ctx, Session{UserID: u.UserID, Generation: u.Generation, Method: by, Browser: on.Browser, System: on.System, Used: s.now()}, sessionIdle)
}

// CheckPassword reports whether a password is a user's. Errors: ErrDenied.
func (s *Store) CheckPassword(ctx context.Context, userID, password string) error {
	u, err := s.User(ctx, userID)
	if err != nil {
		return denied(err)
	}
	right, err := s.hashes.check(ctx, password, u.Password)
	if err == nil && !right {
		err = ErrDenied
	}
	return err
}

func (s *Store) begin(ctx context.Context, session Session, lasts time.Duration) (Login, error) {
	token := newSecret()
	session.Hash, session.Created = hashOf(token), s.now()
	session.Expires = session.Created.Add(lasts).Truncate(time.Second)
	return s.create(ctx, session, token)
}

func (s *Store) create(ctx context.Context, session Session, token string) (Login, error) {
	if err := Sessions.Create(ctx, s.t, &session); err != nil {
		return Login{}, fmt.Errorf("accounts: begin a session: %w", err)
	}
	return Login{token, session.Expires}, nil
}

// Resume returns the user of a session. If the session was extended, the login has its new expiry.
// Errors: ErrDenied.
func (s *Store) Resume(ctx context.Context, token string) (User, Login, error) {
	session, err := s.session(ctx, token)
	if err != nil {
		return User{}, Login{}, err
	}
	u, err := s.User(ctx, session.UserID)
	if err != nil {
		return User{}, Login{}, denied(err)
	}
	if u.Disabled || u.Generation != session.Generation {
		return User{}, Login{}, ErrDenied
	}
	u.MustChange = u.MustChange && session.Method.usesPassword()
	login := Login{token, session.Expires}
	var changes []table.Change[Session]
	if end := s.slid(&session); end.Sub(session.Expires) >= sessionSlide {
		changes, login.Expires = append(changes, sessionTTL.Set(end)), end
	}
	if now := s.now(); now.Sub(session.Used) >= sessionHour {
		changes = append(changes, sessionUsed.Set(now))
	}
	if len(changes) > 0 {
		_, err = Sessions.Patch(ctx, s.t, session.SessionKey, changes...)
	}
	return u, login, denied(err)
}

// slid returns the expiry of a session that is used now.
func (s *Store) slid(session *Session) time.Time {
	end, most := s.now().Add(sessionIdle), session.Created.Add(sessionMost)
	if end.After(most) {
		end = most
	}
	return end.Truncate(time.Second)
}

func (s *Store) session(ctx context.Context, token string) (Session, error) {
	session, err := SessionByToken.Get(ctx, s.t, SessionKey{hashOf(token)})
	if err != nil {
		return Session{}, denied(err)
	}
	return session, nil
}

// LogOut ends a session. Unknown sessions are ignored.
func (s *Store) LogOut(ctx context.Context, token string) error {
	if err := Sessions.Delete(ctx, s.t, SessionKey{hashOf(token)}); err != nil && !errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("accounts: log out: %w", err)
	}
	return nil
}

// LogOutEverywhere ends all sessions of a user.
func (s *Store) LogOutEverywhere(ctx context.Context, userID string) error {
	_, err := s.write(ctx, userID, func(u *User) error { u.Generation++; return nil })
	return err
}

// CSRF returns the token that a page must send with a session's unsafe requests. It is derived from
// the session's token, which scripts cannot read.
func CSRF(token string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("onefold csrf"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
