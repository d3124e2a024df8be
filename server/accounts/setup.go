package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// maxSetupLinks is how many set-up links are valid at a time: each server of an installation prints
// one at startup.
const maxSetupLinks = 16

// errDone ends a change of the set-up if there is an owner.
var errDone = errors.New("accounts: set-up is done")

// SetupToken creates the token of a set-up link. Earlier links stay valid; if there are more than
// 16, the oldest are dropped. It returns "" if set-up is done. Errors: table.ErrConflict if there
// are too many concurrent calls.
func (s *Store) SetupToken(ctx context.Context) (string, error) {
	token := newSecret()
	err := Setups.Create(ctx, s.t, &Setup{Hashes: []string{hashOf(token)}})
	if errors.Is(err, table.ErrExists) {
		_, err = Setups.Modify(ctx, s.t, SetupKey{}, func(state *Setup) error {
			if !state.Done.IsZero() {
				return errDone
			}
			state.Hashes = append(state.Hashes, hashOf(token))
			state.Hashes = state.Hashes[max(0, len(state.Hashes)-maxSetupLinks):]
			return nil
		})
	}
	if errors.Is(err, errDone) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("accounts: set-up: %w", err)
	}
	return token, nil
}

// SetUp creates the first owner of all sites. A token can be used once. Errors: ErrSetUp,
// ErrInvalid, ErrEmailTaken.
func (s *Store) SetUp(ctx context.Context, token string, n NewUser) (User, error) {
	state, err := SetupState.Get(ctx, s.t, SetupKey{})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return User{}, fmt.Errorf("accounts: set-up: %w", err)
	}
	holds := slices.ContainsFunc(state.Hashes, func(hash string) bool { return matches(token, hash) })
	if !holds || !state.Done.IsZero() {
		return User{}, ErrSetUp
	}
	n.Grants = Grants{AllSites: Owner}
	u, err := s.newUser(ctx, n)
	if err != nil {
		return User{}, err
	}
	tx := table.NewTx(s.t, "")
	Setups.TxPut(tx, &Setup{Done: u.Created}, setupDone.Missing())
	addUser(tx, &u)
	if err = tx.Commit(ctx); errors.Is(err, table.ErrCondition) {
		return User{}, ErrSetUp
	}
	return u, added(err)
}
