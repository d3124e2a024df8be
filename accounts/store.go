package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/onefold/onefold/table"
)

var (
	// ErrInvalid is returned when something cannot be stored as it was given. The message says what to choose and
	// repeats nothing secret.
	ErrInvalid = errors.New("accounts: invalid")
	// ErrDenied is returned for a wrong password, an unknown or disabled account, and a key, session or share that is
	// unknown, expired or revoked. It does not say which.
	ErrDenied = errors.New("accounts: denied")
	// ErrSecondFactor is returned when a password was right, and a code is needed as well.
	ErrSecondFactor = errors.New("accounts: a second factor is needed")
	// ErrCode is returned for a code that is wrong, was used before, or is out of its time.
	ErrCode = errors.New("accounts: the code is wrong or was used before")
	// ErrFactorSet is returned when a user has an authenticator app already.
	ErrFactorSet = errors.New("accounts: an authenticator app is set up already: remove it first")
	// ErrCopied is returned for a passkey whose counter of signatures did not go on: it may have been copied, and is refused.
	ErrCopied = errors.New("accounts: this passkey may have been copied")
	// ErrNoAccount is returned when nobody here is who an OpenID provider names, and nobody becomes it.
	ErrNoAccount = errors.New("accounts: there is no account for this person")
	// ErrUnverified is returned when an OpenID provider names an address, and does not say that it has verified it.
	ErrUnverified = errors.New("accounts: the provider has not verified the address")
	// ErrOtherIdentity is returned when the account of an address belongs to somebody else of the same OpenID provider: the address was
	// given to another person there.
	ErrOtherIdentity = errors.New("accounts: the account belongs to somebody else of the provider")
	// ErrEmailTaken is returned when another account has the address.
	ErrEmailTaken = errors.New("accounts: there is an account with this address")
	// ErrLastOwner is returned when a change would leave nobody who looks after accounts.
	ErrLastOwner = errors.New("accounts: the last owner of all sites stays so: make somebody else one first")
	// ErrSetUp is returned when set-up is tried with a wrong token, or again.
	ErrSetUp = errors.New("accounts: this set-up link does not hold; the server prints a new one when it starts, until there is an owner")
)

// Options configure a Store.
type Options struct {
	Cost   Cost // of password hashes; zero: the default
	AtOnce int  // password hashes at a time; default 2, about 92 MiB
}

// Store keeps accounts in a table. It is safe for concurrent use.
type Store struct {
	t      *table.Table
	hashes *hasher

	recording chan struct{} // has room for the one that writes to the record
}

// New makes a store on a table whose schema includes Schema.
func New(t *table.Table, o Options) *Store {
	if o.AtOnce <= 0 {
		o.AtOnce = 2
	}
	return &Store{t: t, hashes: newHasher(o.Cost, o.AtOnce), recording: make(chan struct{}, 1)}
}

// FirstNotice reports whether a user is to be told something of a kind: once in a while, whichever server asks.
func (s *Store) FirstNotice(ctx context.Context, userID, kind string, every time.Duration) (bool, error) {
	err := Notices.Create(ctx, s.t, &Notice{NoticeKey{userID, kind}, s.now().Add(every).Truncate(time.Second)})
	if errors.Is(err, table.ErrExists) {
		return false, nil
	}
	return err == nil, err
}

// attempts bounds how often a change begins again because another was faster.
const attempts = 16

// retried runs a transaction until no other writer was faster.
func retried(ctx context.Context, try func() error) error {
	var err error
	for range attempts {
		if err = try(); !errors.Is(err, table.ErrCondition) && !errors.Is(err, table.ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// denied makes ErrDenied of an item that is not there.
func denied(err error) error {
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return ErrDenied
	}
	return err
}
