package eventstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

// tableSecret returns the key for hashes of reserved values. It is created on first use and
// permanent. A store with Options.Secrets stores it encrypted, so that the table alone does not
// reveal whether a value is reserved. Errors: ErrUnsealed.
func (s *Store) tableSecret(ctx context.Context) ([]byte, error) {
	if secret := s.secret.Load(); secret != nil {
		return *secret, nil
	}
	r, err := RulesNow.Get(ctx, s.t, RulesKey{})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return nil, fmt.Errorf("read the secret of the table: %w", err)
	}
	return s.secretIn(ctx, r)
}

// secretIn returns the secret in the given rules, and caches it.
func (s *Store) secretIn(ctx context.Context, r Rules) (secret []byte, err error) {
	if !s.secretIsKept(&r) {
		r, err = s.keepSecret(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("store the secret of the table: %w", err)
	}
	if secret, err = s.openSecret(ctx, &r); err != nil {
		return nil, err
	}
	s.secret.Store(&secret)
	return secret, nil
}

// secretIsKept reports whether the secret exists in the form that the store would write.
func (s *Store) secretIsKept(r *Rules) bool {
	return len(r.Wrapped) > 0 || len(r.Secret) > 0 && s.o.Secrets == nil
}

// openSecret returns the secret in rules. Errors: ErrUnsealed.
func (s *Store) openSecret(ctx context.Context, r *Rules) ([]byte, error) {
	switch {
	case len(r.Wrapped) == 0:
		return r.Secret, nil
	case s.o.Secrets == nil:
		return nil, ErrUnsealed
	}
	return s.o.Secrets.OpenSecret(ctx, r.Wrapped, r.Master)
}

// keepSecret creates the secret unless it exists, and encrypts it if the store can.
func (s *Store) keepSecret(ctx context.Context) (Rules, error) {
	if s.o.Secrets == nil { // in one request: if the secret was encrypted in the meantime, that one counts
		secret, err := newSecret()
		if err != nil {
			return Rules{}, err
		}
		return updateRules(ctx, s.t, "SET #et = :et, #name = if_not_exists(#name, :value)", "secret", &types.AttributeValueMemberB{Value: secret})
	}
	for range maxTries {
		r, err := TableRules.Modify(ctx, s.t, RulesKey{}, func(r *Rules) error { return s.setSecret(ctx, r) })
		if !errors.Is(err, table.ErrNotFound) {
			return r, err
		}
		r = Rules{}
		if err := s.setSecret(ctx, &r); err != nil {
			return r, err
		}
		if err := TableRules.Create(ctx, s.t, &r); !errors.Is(err, table.ErrExists) {
			return r, err
		}
	}
	return Rules{}, ErrBusy
}

func newSecret() ([]byte, error) {
	secret := make([]byte, 32)
	_, err := rand.Read(secret)
	return secret, err
}

func (s *Store) setSecret(ctx context.Context, r *Rules) (err error) {
	if s.secretIsKept(r) {
		return nil
	}
	if len(r.Secret) == 0 {
		if r.Secret, err = newSecret(); err != nil {
			return err
		}
	}
	r.Wrapped, r.Master, err = s.o.Secrets.SealSecret(ctx, r.Secret)
	r.Secret = nil
	return err
}
