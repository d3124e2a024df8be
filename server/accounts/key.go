package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/dynamo"
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

// NewKey has the fields of a new key.
type NewKey struct {
	Name    string // at most 100 bytes
	Site    string // AllSites for all
	Scope   Scope
	Creator string    // user ID: the key is valid only while that user may change the site's settings; "": independent of any user
	Expires time.Time // zero: never

	PersonalData bool // for EventStore: sees personal fields of events; scope Read or Write
	Limits            // of a key of the event store
}

// AddKey creates a key, and the token that its holder sends. The token is not stored and cannot be
// shown again. Errors: ErrInvalid.
func (s *Store) AddKey(ctx context.Context, n NewKey) (Key, string, error) {
	secret := newSecret()
	k := Key{
		KeyKey: KeyKey{newID()}, Hash: hashOf(secret), Name: strings.TrimSpace(n.Name), Site: n.Site, Scope: n.Scope,
		Creator: n.Creator, Created: s.now(), Expires: n.Expires.Truncate(time.Second),
		PersonalData: n.PersonalData, Limits: n.Limits,
	}
	switch {
	case n.Scope != Ingest && n.Scope != Read && n.Scope != Write:
		return Key{}, "", fmt.Errorf("%w: scope: use ingest, read or write", ErrInvalid)
	case len(k.Name) > maxName:
		return Key{}, "", fmt.Errorf("%w: a name may have at most %d bytes", ErrInvalid, maxName)
	case !n.Expires.IsZero() && !n.Expires.After(k.Created):
		return Key{}, "", fmt.Errorf("%w: the expiry must be in the future", ErrInvalid)
	}
	if err := checkSite(n.Site); err != nil {
		return Key{}, "", err
	}
	if n.PersonalData && (n.Site != EventStore || n.Scope == Ingest) {
		return Key{}, "", fmt.Errorf("%w: only keys of %s with scope read or write can see personal data", ErrInvalid, EventStore)
	}
	if err := n.Limits.check(n.Site); err != nil {
		return Key{}, "", err
	}
	if err := Keys.Create(ctx, s.t, &k); err != nil {
		return Key{}, "", fmt.Errorf("accounts: add key: %w", err)
	}
	return k, k.token(secret), nil
}

func (k *Key) token(secret string) string { return keyPrefix + k.KeyID + "_" + secret }

// holds reports whether a secret is the key's current secret, or its former one during the overlap
// after a rotation.
func (k *Key) holds(secret string, now time.Time) bool {
	return matches(secret, k.Hash) || k.Previous != nil && now.Before(k.Previous.Until) && matches(secret, k.Previous.Hash)
}

// IsKey reports whether a token looks like a key's token.
func IsKey(token string) bool { return strings.HasPrefix(token, keyPrefix) }

// UseKey returns the key of a token and stores the day of use. If the disk is full, the day is not
// stored, but the key works. Errors: ErrDenied, also while the user who created or last rotated the
// key is disabled, deleted or no longer an admin of its site.
func (s *Store) UseKey(ctx context.Context, token string) (Key, error) {
	id, secret, ok := splitToken(keyPrefix, token)
	if !ok {
		return Key{}, ErrDenied
	}
	k, err := KeyByID.Get(ctx, s.t, KeyKey{id})
	if err != nil {
		return Key{}, denied(err)
	}
	if !k.holds(secret, s.now()) {
		return Key{}, ErrDenied
	}
	if err := s.backed(ctx, k.Creator, k.Site, Admin); err != nil {
		return Key{}, err
	}
	if today := s.now().Format(time.DateOnly); k.LastUsed != today {
		noted, noting := Keys.Patch(ctx, s.t, k.KeyKey, keyLastUsed.Set(today))
		if dynamo.IsFull(noting) {
			return k, nil
		}
		k, err = noted, noting
	}
	return k, denied(err)
}

// MaxOverlap is the maximum overlap of a rotation, during which the former secret remains valid.
const MaxOverlap = 7 * 24 * time.Hour

// RotateKey gives a key a new secret and returns the new token. The former secret remains valid for
// overlap, 0 to MaxOverlap, so that programs can be updated one after another. If UseKey rejects
// the key because of its creator, there is no overlap: otherwise the rotation would give the key
// back to a person who may not have it. The key then belongs to the user by; "" is the command
// line. Errors: ErrInvalid, table.ErrNotFound.
func (s *Store) RotateKey(ctx context.Context, keyID, by string, overlap time.Duration) (Key, string, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return Key{}, "", fmt.Errorf("%w: overlap: use 0 to %d hours", ErrInvalid, int(MaxOverlap.Hours()))
	}
	if !validID(keyID) {
		return Key{}, "", fmt.Errorf("accounts: rotate key: %w", table.ErrNotFound)
	}
	secret := newSecret()
	k, err := Keys.Modify(ctx, s.t, KeyKey{keyID}, func(k *Key) error {
		backed, err := s.Backed(ctx, k.Creator, k.Site)
		if err != nil {
			return err
		}
		former := k.Hash
		k.Hash, k.Creator, k.Previous = hashOf(secret), by, nil
		if overlap > 0 && backed {
			k.Previous = &PreviousSecret{former, s.now().Add(overlap)}
		}
		return nil
	})
	if err != nil {
		return Key{}, "", fmt.Errorf("accounts: rotate key: %w", err)
	}
	return k, k.token(secret), nil
}

// Keys reads all keys, sorted by ID.
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

// RevokeKey deletes a key, which is rejected from then on. Errors: table.ErrNotFound.
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

func (s *Store) deleteKeysOf(ctx context.Context, site string) error {
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
