package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/table"
)

// Scope is what a key may do.
type Scope string

// The scopes.
const (
	Ingest Scope = "ingest" // send events, nothing else
	Read   Scope = "read"   // see everything of its site
	Write  Scope = "write"  // see and change
)

const keyPrefix = "ofk_"

// NewKey says what a key should be for.
type NewKey struct {
	Name    string // at most 100 bytes
	Site    string // AllSites for all
	Scope   Scope
	Creator string // user id
}

// AddKey makes a key, and the token that its holder sends. The token is not stored and cannot be shown again. Errors:
// ErrInvalid.
func (s *Store) AddKey(ctx context.Context, n NewKey) (Key, string, error) {
	secret := newSecret()
	k := Key{
		KeyKey: KeyKey{newID()}, Hash: hashOf(secret), Name: strings.TrimSpace(n.Name), Site: n.Site, Scope: n.Scope,
		Creator: n.Creator, Created: s.now(),
	}
	switch {
	case n.Scope != Ingest && n.Scope != Read && n.Scope != Write:
		return Key{}, "", fmt.Errorf("%w: scope: use ingest, read or write", ErrInvalid)
	case len(k.Name) > maxName:
		return Key{}, "", fmt.Errorf("%w: a name has at most %d bytes", ErrInvalid, maxName)
	}
	if err := checkSite(n.Site); err != nil {
		return Key{}, "", err
	}
	if err := Keys.Create(ctx, s.t, &k); err != nil {
		return Key{}, "", fmt.Errorf("accounts: add key: %w", err)
	}
	return k, keyPrefix + k.KeyID + "_" + secret, nil
}

// IsKey reports whether a token looks like a key's.
func IsKey(token string) bool { return strings.HasPrefix(token, keyPrefix) }

// UseKey finds the key of a token, and notes the day. Errors: ErrDenied.
func (s *Store) UseKey(ctx context.Context, token string) (Key, error) {
	id, secret, ok := splitToken(keyPrefix, token)
	if !ok {
		return Key{}, ErrDenied
	}
	k, err := KeyByID.Get(ctx, s.t, KeyKey{id})
	if err != nil {
		return Key{}, denied(err)
	}
	if !matches(secret, k.Hash) {
		return Key{}, ErrDenied
	}
	if today := s.now().Format(time.DateOnly); k.LastUsed != today {
		k, err = Keys.Patch(ctx, s.t, k.KeyKey, keyLastUsed.Set(today))
	}
	return k, denied(err)
}

// Keys reads all keys, by id.
func (s *Store) Keys(ctx context.Context) ([]Key, error) {
	keys, err := AllKeys.Collect(ctx, s.t, struct{}{})
	if err != nil {
		return nil, fmt.Errorf("accounts: keys: %w", err)
	}
	return keys, nil
}

// Key reads a key. Errors: table.ErrNotFound.
func (s *Store) Key(ctx context.Context, keyID string) (Key, error) {
	if !validID(keyID) {
		return Key{}, fmt.Errorf("accounts: key: %w", table.ErrNotFound)
	}
	return KeyByID.Get(ctx, s.t, KeyKey{keyID})
}

// RevokeKey deletes a key. From then on it is denied. Errors: table.ErrNotFound.
func (s *Store) RevokeKey(ctx context.Context, keyID string) error {
	k, err := s.Key(ctx, keyID)
	if err == nil {
		err = Keys.Delete(ctx, s.t, k.KeyKey)
	}
	if err != nil {
		return fmt.Errorf("accounts: revoke key: %w", err)
	}
	return nil
}

func (s *Store) forgetKeys(ctx context.Context, site string) error {
	keys, err := s.Keys(ctx)
	if err != nil {
		return err
	}
	for i := range keys {
		if keys[i].Site != site {
			continue
		}
		if err := s.RevokeKey(ctx, keys[i].KeyID); err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
	}
	return nil
}
