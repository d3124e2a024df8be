package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
)

const resetPrefix = "ofr_"

// Lifetimes of links that set a new password.
const (
	ResetByMail = time.Hour      // sent to the user's address
	ResetByHand = 24 * time.Hour // handed over by an owner or operator
)

// Reset lets the holder of its link set a user's password once.
type Reset struct {
	Hash    string    `dynamodbav:"hash"` // of its secret
	Expires time.Time `dynamodbav:"expires"`
}

// NewReset creates the token of a link that sets a user's password once. It replaces an earlier link
// of the user, and ends when it expires or the password is changed. The token is not stored and
// cannot be shown again. Errors: table.ErrNotFound; ErrInvalid if the user is disabled.
func (s *Store) NewReset(ctx context.Context, userID string, valid time.Duration) (User, string, error) {
	secret := newSecret()
	u, err := s.write(ctx, userID, func(u *User) error {
		if u.Disabled {
			return fmt.Errorf("%w: the user is disabled: enable the user first", ErrInvalid)
		}
		u.Reset = &Reset{hashOf(secret), s.now().Add(valid).Truncate(time.Second)}
		return nil
	})
	if err != nil {
		return User{}, "", err
	}
	return u, resetPrefix + u.UserID + "_" + secret, nil
}

// FindReset returns the user of a link's token. Errors: ErrDenied, also if the link was used,
// replaced or has expired.
func (s *Store) FindReset(ctx context.Context, token string) (User, error) {
	id, secret, ok := splitToken(resetPrefix, token)
	if !ok {
		return User{}, ErrDenied
	}
	u, err := s.User(ctx, id)
	if err == nil && !s.resets(&u, secret) {
		err = ErrDenied
	}
	return u, denied(err)
}

// resets reports whether a secret may set the password of a user.
func (s *Store) resets(u *User, secret string) bool {
	return !u.Disabled && u.Reset != nil && matches(secret, u.Reset.Hash) && s.now().Before(u.Reset.Expires)
}

// ResetPassword sets the password of the user of a link's token, and ends all sessions of the user.
// A link can be used once. Errors: ErrDenied, ErrInvalid.
func (s *Store) ResetPassword(ctx context.Context, token, password string) (User, error) {
	u, err := s.FindReset(ctx, token)
	if err != nil {
		return User{}, err
	}
	hash, err := s.chosenPassword(ctx, &u, password)
	if err != nil {
		return User{}, err
	}
	_, secret, _ := splitToken(resetPrefix, token)
	u, err = s.write(ctx, u.UserID, func(u *User) error {
		if !s.resets(u, secret) {
			return ErrDenied
		}
		u.setPassword(hash)
		return nil
	})
	if errors.Is(err, table.ErrNotFound) {
		err = ErrDenied
	}
	return u, err
}
