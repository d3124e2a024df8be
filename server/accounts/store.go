package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/onefold/onefold/table"
)

var (
	// ErrInvalid is returned for invalid input. The message says what to choose and contains no
	// secrets.
	ErrInvalid = errors.New("accounts: invalid")
	// ErrDenied is returned for a wrong password, an unknown or disabled account, and a key,
	// session or share that is unknown, expired or revoked. It does not say which.
	ErrDenied = errors.New("accounts: denied")
	// ErrSecondFactor is returned when the password was correct but a code is also needed.
	ErrSecondFactor = errors.New("accounts: a second factor is needed")
	// ErrCode is returned for a code that is wrong, was already used, or is not valid now.
	ErrCode = errors.New("accounts: the code is wrong or was already used")
	// ErrFactorSet is returned when a user already has an authenticator app.
	ErrFactorSet = errors.New("accounts: an authenticator app is already set up: remove it first")
	// ErrCopied is returned for a passkey whose signature counter did not advance. It may have been
	// copied, and is rejected.
	ErrCopied = errors.New("accounts: this passkey may have been copied")
	// ErrNoAccount is returned when the person of an OpenID provider has no account and is not
	// admitted.
	ErrNoAccount = errors.New("accounts: there is no account for this person")
	// ErrUnverified is returned when an OpenID provider does not confirm that it has verified an
	// address.
	ErrUnverified = errors.New("accounts: the provider has not verified the address")
	// ErrOtherIdentity is returned when the account with an address is linked with another identity
	// of the same OpenID provider: the address was given to another person there.
	ErrOtherIdentity = errors.New("accounts: the account is linked with another identity of the provider")
	// ErrEmailTaken is returned when another account has the address.
	ErrEmailTaken = errors.New("accounts: an account with this email address already exists")
	// ErrLastOwner is returned when a change would leave nobody who can manage accounts.
	ErrLastOwner = errors.New("accounts: cannot remove the last owner of all sites: make another user an owner first")
	// ErrSetUp is returned for a set-up with a wrong token, or after set-up is done.
	ErrSetUp = errors.New("accounts: this set-up link is invalid; the server prints a new one at startup until there is an owner")
)

// Options configure a Store.
type Options struct {
	Cost   Cost // of password hashes; zero: the default
	AtOnce int  // concurrent password hashes; default 2, about 92 MiB
}

// Store keeps accounts in a table. It is safe for concurrent use.
type Store struct {
	t      *table.Table
	hashes *hasher

	recording chan struct{} // semaphore for the one writer to the audit record
}

// New creates a store on a table whose schema includes Schema.
func New(t *table.Table, o Options) *Store {
	if o.AtOnce <= 0 {
		o.AtOnce = 2
	}
	return &Store{t: t, hashes: newHasher(o.Cost, o.AtOnce), recording: make(chan struct{}, 1)}
}

// FirstNotice reports whether to notify a user: it returns true once per interval every for each
// kind, across all servers.
func (s *Store) FirstNotice(ctx context.Context, userID, kind string, every time.Duration) (bool, error) {
	err := Notices.Create(ctx, s.t, &Notice{NoticeKey{userID, kind}, s.now().Add(every).Truncate(time.Second)})
	if errors.Is(err, table.ErrExists) {
		return false, nil
	}
	return err == nil, err
}

// attempts is the maximum number of attempts of a change that conflicts with others.
const attempts = 16

// retried runs a transaction again while it conflicts with other writers.
func retried(ctx context.Context, try func() error) error {
	var err error
	for range attempts {
		if err = try(); !errors.Is(err, table.ErrCondition) && !errors.Is(err, table.ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// denied turns the error of a missing item into ErrDenied.
func denied(err error) error {
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return ErrDenied
	}
	return err
}
