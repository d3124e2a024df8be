package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/table"
)

// ID returns a name of the session for its user. It is derived from the hash of the token and gives
// no access.
func (s *Session) ID() string { return s.Hash[:min(len(s.Hash), sessionIDLength)] }

const sessionIDLength = 20 // 80 bits in hexadecimal

// HasToken reports whether a session has a token.
func (s *Session) HasToken(token string) bool { return matches(token, s.Hash) }

// UserSessions reads the valid sessions of a user, most recently used first: at most 100, or a few
// more.
func (s *Store) UserSessions(ctx context.Context, userID string) ([]Session, error) {
	u, err := s.User(ctx, userID)
	if err != nil {
		return nil, err
	}
	all, err := s.storedSessions(ctx, &u)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(x Session) bool { return x.Generation != u.Generation })
	slices.SortFunc(all, byUse)
	return all, nil
}

// byUse sorts the most recently used sessions first.
func byUse(a, b Session) int {
	return cmp.Or(b.Used.Compare(a.Used), b.Created.Compare(a.Created), cmp.Compare(a.Hash, b.Hash))
}

// storedSessions reads the sessions of a user, including those of earlier generations.
func (s *Store) storedSessions(ctx context.Context, u *User) ([]Session, error) {
	all, err := SessionsOfUser.Collect(ctx, s.t, OfUserIn{u.UserID})
	if err != nil {
		return nil, fmt.Errorf("accounts: sessions: %w", err)
	}
	return all, nil
}

// makeRoom deletes sessions of a user before the limit is exceeded: the invalid ones, and those
// used least recently.
func (s *Store) makeRoom(ctx context.Context, u *User) error {
	all, err := s.storedSessions(ctx, u)
	if err != nil || len(all) < maxSessions {
		return err
	}
	slices.SortFunc(all, func(a, b Session) int { return cmp.Or(cmp.Compare(b.Generation, a.Generation), byUse(a, b)) })
	for i := range all[maxSessions-1:] {
		if err := s.endSession(ctx, all[maxSessions-1+i].SessionKey); err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
	}
	return nil
}

// EndSession ends a session of a user, by its ID. Errors: table.ErrNotFound.
func (s *Store) EndSession(ctx context.Context, userID, sessionID string) error {
	all, err := s.UserSessions(ctx, userID)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].ID() == sessionID {
			return s.endSession(ctx, all[i].SessionKey)
		}
	}
	return fmt.Errorf("accounts: session: %w", table.ErrNotFound)
}

func (s *Store) endSession(ctx context.Context, k SessionKey) error {
	if err := Sessions.Delete(ctx, s.t, k, table.Present()); err != nil {
		if errors.Is(err, table.ErrCondition) {
			err = table.ErrNotFound
		}
		return fmt.Errorf("accounts: end session: %w", err)
	}
	return nil
}

// EndOtherSessions ends all sessions of a user except that of a token, which continues with a new
// token. Errors: ErrDenied.
func (s *Store) EndOtherSessions(ctx context.Context, token string) (User, Login, error) {
	return s.renew(ctx, token, func(*User) {})
}

// ChangePassword sets the password of a session's user and ends all other sessions of the user.
// This session continues with a new token. Errors: ErrDenied, ErrInvalid.
func (s *Store) ChangePassword(ctx context.Context, token, password string) (User, Login, error) {
	u, _, err := s.Resume(ctx, token)
	if err != nil {
		return User{}, Login{}, err
	}
	hash, err := s.chosenPassword(ctx, &u, password)
	if err != nil {
		return User{}, Login{}, err
	}
	return s.renew(ctx, token, func(u *User) { u.changePassword(hash) })
}

// renew begins a new generation of sessions with the session of a token, under a new token, and
// changes the user in the same write. A session that was ended meanwhile does not come back. The
// session's expiry stays the same.
func (s *Store) renew(ctx context.Context, token string, change func(*User)) (User, Login, error) {
	session, err := s.session(ctx, token)
	if err != nil {
		return User{}, Login{}, err
	}
	if session.UserID == "" {
		return User{}, Login{}, ErrDenied
	}
	u, err := s.write(ctx, session.UserID, func(u *User) error {
		if u.Disabled || u.Generation != session.Generation {
			return ErrDenied
		}
		u.Generation++
		change(u)
		return nil
	})
	if err != nil {
		return User{}, Login{}, denied(err)
	}
	if err := s.endSession(ctx, session.SessionKey); err != nil {
		return User{}, Login{}, denied(err)
	}
	token = newSecret()
	session.Hash, session.Generation, session.Used = hashOf(token), u.Generation, s.now()
	login, err := s.create(ctx, session, token)
	return u, login, err
}
