package accounts

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/table"
)

// Factors lists the login methods that ResetFactors removed.
type Factors struct {
	App      bool // a confirmed authenticator app
	Passkeys int
	Identity bool // of an OpenID provider
}

// ResetFactors removes the authenticator app, all passkeys and the OpenID identity of a user, who
// then logs in with the password alone. It is for people who have lost them. It returns what there
// was. Errors: table.ErrNotFound.
func (s *Store) ResetFactors(ctx context.Context, userID string) (Factors, error) {
	var had Factors
	err := retried(ctx, func() error {
		u, err := s.User(ctx, userID)
		if err != nil {
			return err
		}
		keys, err := s.UserPasskeys(ctx, userID)
		if err != nil {
			return err
		}
		f, err := s.SecondFactor(ctx, userID)
		if err != nil {
			return err
		}
		had = Factors{App: !f.Confirmed.IsZero(), Passkeys: len(keys), Identity: u.Identity != ""}
		tx := table.NewTx(s.t, "")
		for i := range keys {
			Passkeys.TxDelete(tx, keys[i].PasskeyKey)
		}
		SecondFactors.TxDelete(tx, UserKey{userID})
		deleteIdentity(tx, &u)
		was := u.Version
		u.Identity, u.Version = "", was+1
		Users.TxPut(tx, &u, userVersion.Eq(was))
		return tx.Commit(ctx)
	})
	if err != nil {
		return Factors{}, fmt.Errorf("accounts: reset factors: %w", err)
	}
	return had, nil
}
