package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/server/accounts/openid"
	"github.com/onefold/onefold/table"
)

// Admission configures who gets an account by logging in with an OpenID provider. The zero value
// admits nobody.
type Admission struct {
	Role    Role     // on all sites, fleets and the event store; "" admits nobody
	Domains []string // email domains of the people who are admitted, such as example.com
}

// Admitted is how a person came in through an OpenID provider.
type Admitted struct {
	Made   bool // an account was created for the person
	Linked bool // the account was found by its address, and is now linked with the identity
}

// LogInWithIdentity begins a session of the user whom an OpenID provider authenticated. A known
// identity is found by issuer and subject. Otherwise the account is found by the address, if the
// provider has verified it, and linked with the identity. If there is none, admit decides. No code
// is required: the strength of the login is up to the provider. Errors: ErrDenied, with the user,
// if the user is disabled; ErrUnverified; ErrNoAccount; ErrOtherIdentity, with the user.
func (s *Store) LogInWithIdentity(ctx context.Context, who openid.Person, admit Admission, on Device) (User, Login, Admitted, error) {
	var u User
	var how Admitted
	err := retried(ctx, func() (err error) {
		u, how, err = s.identified(ctx, who, admit)
		if errors.Is(err, ErrEmailTaken) { // created by a concurrent login of the same person
			err = errors.Join(err, table.ErrConflict)
		}
		return err
	})
	if err != nil {
		return u, Login{}, Admitted{}, err
	}
	login, err := s.beginFor(ctx, &u, ByOpenID, on)
	return u, login, how, err
}

// identified returns the user of an identity: the one linked with it, otherwise the one with the
// same verified address, which it links, otherwise one that admit creates.
func (s *Store) identified(ctx context.Context, who openid.Person, admit Admission) (User, Admitted, error) {
	identity := Identity{IdentityKey: IdentityKey{hashOf(who.Issuer + "\n" + who.Subject)}, Issuer: who.Issuer, Created: s.now()}
	known, err := IdentityByHash.Get(ctx, s.t, identity.IdentityKey)
	if err == nil {
		u, err := s.User(ctx, known.UserID)
		if err == nil && u.Disabled {
			err = ErrDenied
		}
		return u, Admitted{}, denied(err)
	}
	if !errors.Is(err, table.ErrNotFound) {
		return User{}, Admitted{}, fmt.Errorf("accounts: identity: %w", err)
	}
	if !who.EmailVerified {
		return User{}, Admitted{}, ErrUnverified
	}
	u, err := s.UserByEmail(ctx, who.Email)
	if errors.Is(err, table.ErrNotFound) {
		u, err = s.admit(ctx, who, identity, admit)
		return u, Admitted{Made: true}, err
	}
	if err == nil {
		err = s.link(ctx, &u, identity)
	}
	return u, Admitted{Linked: true}, err
}

// link links an identity with a user. It replaces an identity of another issuer, which the
// installation used before.
func (s *Store) link(ctx context.Context, u *User, identity Identity) error {
	if u.Disabled {
		return ErrDenied
	}
	if u.Identity == identity.Hash { // linked by a concurrent login of the same person since the identity was looked up
		return fmt.Errorf("accounts: link an identity: %w", table.ErrConflict)
	}
	tx := table.NewTx(s.t, "")
	if u.Identity != "" {
		before, err := IdentityByHash.Get(ctx, s.t, IdentityKey{u.Identity})
		if err != nil {
			return fmt.Errorf("accounts: identity: %w", err)
		}
		if before.Issuer == identity.Issuer {
			return ErrOtherIdentity
		}
		Identities.TxDelete(tx, before.IdentityKey)
	}
	identity.UserID = u.UserID
	Identities.TxCreate(tx, &identity)
	was := u.Version
	u.Identity, u.Version = identity.Hash, was+1
	Users.TxPut(tx, u, userVersion.Eq(was))
	return s.linked(tx.Commit(ctx))
}

// linked turns the error of an identity that was linked meanwhile into a conflict, after which the
// caller looks it up again.
func (s *Store) linked(err error) error {
	if errors.Is(err, table.ErrExists) {
		err = errors.Join(err, table.ErrConflict)
	}
	if err != nil {
		return fmt.Errorf("accounts: link an identity: %w", err)
	}
	return nil
}

// admit creates the account of a person without an invitation, if admit allows it.
func (s *Store) admit(ctx context.Context, who openid.Person, identity Identity, admit Admission) (User, error) {
	email := normalEmail(who.Email)
	domain := email[strings.LastIndexByte(email, '@')+1:]
	if admit.Role == "" || !slices.Contains(admit.Domains, domain) {
		return User{}, ErrNoAccount
	}
	name := who.Name
	if len(name) > maxName {
		name = ""
	}
	// Nobody knows this password. The operator can set another one.
	u, err := s.newUser(ctx, NewUser{Email: email, Name: name, Password: newSecret(), Grants: Grants{AllSites: admit.Role}})
	if err != nil {
		return User{}, err
	}
	u.Identity, identity.UserID = identity.Hash, u.UserID
	tx := table.NewTx(s.t, "")
	addUser(tx, &u)
	Identities.TxCreate(tx, &identity)
	return u, added(tx.Commit(ctx))
}

func deleteIdentity(tx *table.Tx, u *User) {
	if u.Identity != "" {
		Identities.TxDelete(tx, IdentityKey{u.Identity})
	}
}
