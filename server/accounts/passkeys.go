package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onefold/onefold/server/accounts/passkey"
	"github.com/onefold/onefold/table"
)

const (
	maxPasskeys   = 20  // per user
	maxCredential = 512 // maximum size in bytes of an authenticator's ID; two to three times what authenticators use
)

// A passkey challenge is signed instead of stored, so that requests for challenges cannot fill the
// table. It contains its expiry, and its signature covers its purpose. Once it was answered
// correctly, it is stored until it expires, so that it cannot be used again.
//
//	8 bytes  expiry, seconds since 1970
//	24 bytes random
//	32 bytes HMAC-SHA-256 of the above and the purpose
const (
	challengeRandom = 24
	challengeHead   = 8 + challengeRandom
	passkeySecret   = "passkeys" // name of the secret that signs challenges
	toSignIn        = "sign in"
)

func toAdd(userID string) string { return "add to " + userID }

func (s *Store) newChallenge(ctx context.Context, purpose string) ([]byte, error) {
	head := make([]byte, challengeHead)
	binary.BigEndian.PutUint64(head, uint64(s.now().Add(challengeIn).Unix()))
	rand.Read(head[8:]) // never fails
	return s.signed(ctx, head, purpose)
}

func (s *Store) signed(ctx context.Context, head []byte, purpose string) ([]byte, error) {
	secret, err := SharedSecret(ctx, s.t, passkeySecret)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(head)
	mac.Write([]byte(purpose))
	return mac.Sum(slices.Clone(head)), nil
}

// checkChallenge rejects a challenge that has expired or that this store did not make for the
// purpose. Errors: ErrDenied.
func (s *Store) checkChallenge(ctx context.Context, challenge []byte, purpose string) error {
	if len(challenge) != challengeHead+sha256.Size {
		return ErrDenied
	}
	want, err := s.signed(ctx, challenge[:challengeHead], purpose)
	if err != nil {
		return err
	}
	if !hmac.Equal(challenge, want) || !s.now().Before(challengeEnd(challenge)) {
		return ErrDenied
	}
	return nil
}

func challengeEnd(challenge []byte) time.Time {
	return time.Unix(int64(binary.BigEndian.Uint64(challenge)), 0).UTC()
}

// spend accepts a challenge once. It is stored slightly longer than it is valid. Errors: ErrDenied.
func (s *Store) spend(ctx context.Context, challenge []byte) error {
	c := Challenge{ChallengeKey: ChallengeKey{hashOf(string(challenge))}, Expires: challengeEnd(challenge).Add(time.Minute)}
	err := Challenges.Create(ctx, s.t, &c)
	if errors.Is(err, table.ErrExists) {
		return ErrDenied
	}
	if err != nil {
		return fmt.Errorf("accounts: passkey: %w", err)
	}
	return nil
}

// owner converts a user to the owner of passkeys.
func owner(u *User, keys ...Passkey) *passkey.Owner {
	o := &passkey.Owner{ID: u.UserID, Email: u.Email, Name: u.Name}
	for i := range keys {
		k := &keys[i]
		o.Keys = append(o.Keys, passkey.Key{ID: k.Credential, PublicKey: k.PublicKey, Counter: k.Counter, Synced: k.Synced, Hints: k.Hints})
	}
	return o
}

// UserPasskeys reads the passkeys of a user, oldest first.
func (s *Store) UserPasskeys(ctx context.Context, userID string) ([]Passkey, error) {
	all, err := PasskeysOfUser.Collect(ctx, s.t, OfUserIn{userID})
	if err != nil {
		return nil, fmt.Errorf("accounts: passkeys: %w", err)
	}
	slices.SortFunc(all, func(a, b Passkey) int { return a.Created.Compare(b.Created) })
	return all, nil
}

// BeginPasskey returns the options with which a user's browser creates a passkey, as JSON. Errors:
// ErrInvalid if the user has 20 passkeys, table.ErrNotFound.
func (s *Store) BeginPasskey(ctx context.Context, p *passkey.Party, userID string) (any, error) {
	u, err := s.User(ctx, userID)
	if err != nil {
		return nil, err
	}
	keys, err := s.UserPasskeys(ctx, userID)
	if err != nil {
		return nil, err
	}
	if len(keys) >= maxPasskeys {
		return nil, fmt.Errorf("%w: there are already %d passkeys: remove one first", ErrInvalid, len(keys))
	}
	challenge, err := s.newChallenge(ctx, toAdd(userID))
	if err != nil {
		return nil, err
	}
	return p.Create(owner(&u, keys...), challenge)
}

// AddPasskey stores the passkey that a user's browser created. answer is the result of
// navigator.credentials.create, as JSON. Errors: ErrInvalid; ErrDenied for a challenge that is not
// from BeginPasskey for the user, has expired or was used; passkey.ErrRefused; table.ErrExists.
func (s *Store) AddPasskey(ctx context.Context, p *passkey.Party, userID, name string, answer []byte) (Passkey, error) {
	u, err := s.User(ctx, userID)
	if err != nil {
		return Passkey{}, err
	}
	if name, err = passkeyName(name); err != nil {
		return Passkey{}, err
	}
	made, err := passkey.ParseCreation(answer)
	if err != nil {
		return Passkey{}, err
	}
	if err := s.checkChallenge(ctx, made.Challenge, toAdd(userID)); err != nil {
		return Passkey{}, err
	}
	key, err := p.Created(owner(&u), made)
	if err != nil {
		return Passkey{}, err
	}
	if len(key.ID) > maxCredential {
		return Passkey{}, fmt.Errorf("%w: the ID of a passkey may have at most %d bytes", ErrInvalid, maxCredential)
	}
	if err := s.spend(ctx, made.Challenge); err != nil {
		return Passkey{}, err
	}
	k := Passkey{
		PasskeyKey: PasskeyKey{userID, passkeyID(key.ID)}, Name: name, Credential: key.ID, PublicKey: key.PublicKey,
		Counter: key.Counter, Synced: key.Synced, Hints: key.Hints, Created: s.now(),
	}
	if err := Passkeys.Create(ctx, s.t, &k); err != nil {
		return Passkey{}, fmt.Errorf("accounts: add passkey: %w", err)
	}
	return k, nil
}

func passkeyID(credential []byte) string { return hashOf(string(credential))[:32] }

func passkeyName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > maxName || !utf8.ValidString(name) {
		return "", fmt.Errorf("%w: the name of a passkey must have 1 to %d bytes", ErrInvalid, maxName)
	}
	return name, nil
}

// BeginPasskeyLogIn returns the options with which a browser logs in, as JSON.
func (s *Store) BeginPasskeyLogIn(ctx context.Context, p *passkey.Party) (any, error) {
	challenge, err := s.newChallenge(ctx, toSignIn)
	if err != nil {
		return nil, err
	}
	return p.Request(challenge)
}

// LogInWithPasskey begins a session of the user whose passkey answered a challenge of
// BeginPasskeyLogIn. A passkey replaces both password and code, because the authenticator has
// verified its holder by finger, face or PIN. Errors: ErrDenied; passkey.ErrRefused, with the user
// to whom the passkey claims to belong, if there is one; ErrCopied, with the user.
func (s *Store) LogInWithPasskey(ctx context.Context, p *passkey.Party, answer []byte, on Device) (User, Login, error) {
	a, err := passkey.ParseAssertion(answer)
	if err != nil {
		return User{}, Login{}, err
	}
	if err := s.checkChallenge(ctx, a.Challenge, toSignIn); err != nil {
		return User{}, Login{}, err
	}
	if !validID(a.OwnerID) {
		return User{}, Login{}, ErrDenied
	}
	k, err := PasskeyByID.Get(ctx, s.t, PasskeyKey{a.OwnerID, passkeyID(a.KeyID)})
	if err != nil {
		return User{}, Login{}, denied(err)
	}
	u, err := s.User(ctx, k.UserID)
	if err != nil {
		return User{}, Login{}, denied(err)
	}
	if u.Disabled {
		return u, Login{}, ErrDenied
	}
	counter, copied, err := p.Check(owner(&u, k), a)
	if err != nil {
		return u, Login{}, err
	}
	if err := s.spend(ctx, a.Challenge); err != nil {
		return u, Login{}, err
	}
	if err := s.usePasskey(ctx, k.PasskeyKey, counter, copied); err != nil {
		return u, Login{}, denied(err)
	}
	login, err := s.beginFor(ctx, &u, ByPasskey, on)
	return u, login, err
}

// usePasskey stores the counter of a passkey, or marks the passkey as copied. Concurrent responses
// with the same counter are detected like consecutive ones.
func (s *Store) usePasskey(ctx context.Context, k PasskeyKey, counter uint32, copied bool) error {
	used, err := Passkeys.Modify(ctx, s.t, k, func(p *Passkey) error {
		if copied || (counter != 0 || p.Counter != 0) && counter <= p.Counter {
			p.Copied = s.now()
		}
		if p.Copied.IsZero() {
			p.Counter, p.Used = counter, s.now()
		}
		return nil
	})
	if err == nil && !used.Copied.IsZero() {
		err = ErrCopied
	}
	return err
}

// RenamePasskey renames a passkey of a user. Errors: ErrInvalid, table.ErrNotFound.
func (s *Store) RenamePasskey(ctx context.Context, userID, passkeyID, name string) (Passkey, error) {
	name, err := passkeyName(name)
	if err != nil {
		return Passkey{}, err
	}
	return Passkeys.Patch(ctx, s.t, PasskeyKey{userID, passkeyID}, passkeyNamed.Set(name))
}

// RemovePasskey deletes a passkey of a user. Errors: table.ErrNotFound.
func (s *Store) RemovePasskey(ctx context.Context, userID, passkeyID string) error {
	err := Passkeys.Delete(ctx, s.t, PasskeyKey{userID, passkeyID}, table.Present())
	if errors.Is(err, table.ErrCondition) {
		err = table.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("accounts: remove passkey: %w", err)
	}
	return nil
}

func (s *Store) deletePasskeys(ctx context.Context, tx *table.Tx, userID string) error {
	keys, err := s.UserPasskeys(ctx, userID)
	for i := range keys {
		Passkeys.TxDelete(tx, keys[i].PasskeyKey)
	}
	return err
}
