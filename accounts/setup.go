package accounts

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

// SetupNeeded reports whether the installation has never had an owner.
func (s *Store) SetupNeeded(ctx context.Context) (bool, error) {
	state, err := SetupState.Get(ctx, s.t, SetupKey{})
	if errors.Is(err, table.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("accounts: set-up: %w", err)
	}
	return state.Done.IsZero(), nil
}

// SetupToken makes the token of a set-up link, which replaces any before it; "" when set-up is done.
func (s *Store) SetupToken(ctx context.Context) (string, error) {
	token := newSecret()
	err := Setups.Put(ctx, s.t, &Setup{Hash: hashOf(token)}, setupDone.Missing())
	if errors.Is(err, table.ErrCondition) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("accounts: set-up: %w", err)
	}
	return token, nil
}

// SetUp makes the first owner of all sites. The token holds once. Errors: ErrSetUp, ErrInvalid, ErrEmailTaken.
func (s *Store) SetUp(ctx context.Context, token string, n NewUser) (User, error) {
	state, err := SetupState.Get(ctx, s.t, SetupKey{})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return User{}, fmt.Errorf("accounts: set-up: %w", err)
	}
	if !matches(token, state.Hash) || !state.Done.IsZero() {
		return User{}, ErrSetUp
	}
	n.Grants = Grants{AllSites: Owner}
	u, err := s.newUser(ctx, n)
	if err != nil {
		return User{}, err
	}
	tx := table.NewTx(s.t, "")
	Setups.TxPut(tx, &Setup{Done: u.Created}, setupHash.Eq(state.Hash), setupDone.Missing())
	addUser(tx, &u)
	if err = tx.Commit(ctx); errors.Is(err, table.ErrCondition) {
		return User{}, ErrSetUp
	}
	return u, added(err)
}
