package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/accounts/openid"
	"github.com/onefold/onefold/table"
)

// Admission says who gets an account by being known to an OpenID provider. The zero value: nobody.
type Admission struct {
	Role    Role     // on all sites, fleets and the event store; "": nobody gets an account
	Domains []string // of the addresses of those who do, such as example.com
}

// Admitted is how somebody whom an OpenID provider names came in.
type Admitted struct {
	Made   bool // an account was made for the person
	Linked bool // the person was found by the address, and by the provider's own id from now on
}

// LogInWithIdentity begins a session of the user whom an OpenID provider names. Who was here before is found by issuer and subject.
// Others are found by their address, if the provider has verified it, and linked with the account that has it; when there is none,
// the admission decides. Codes are not asked for: how sure a login has to be is up to the provider. Errors: ErrDenied, with the user, for
// one who is disabled; ErrUnverified; ErrNoAccount; ErrOtherIdentity, with the user.
func (s *Store) LogInWithIdentity(ctx context.Context, who openid.Person, admit Admission, on Device) (User, Login, Admitted, error) {
	var u User
	var how Admitted
	err := retried(ctx, func() (err error) {
		u, how, err = s.identified(ctx, who, admit)
		if errors.Is(err, ErrEmailTaken) { // by another login of the same person
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

// link makes a user known by an identity. One of another issuer, whom the installation used before, is replaced.
func (s *Store) link(ctx context.Context, u *User, identity Identity) error {
	if u.Disabled {
		return ErrDenied
	}
	if u.Identity == identity.Hash { // by another login of the same person, since the identity was asked for
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

// linked makes a conflict, after which to look again, of an identity that somebody has linked meanwhile.
func (s *Store) linked(err error) error {
	if errors.Is(err, table.ErrExists) {
		err = errors.Join(err, table.ErrConflict)
	}
	if err != nil {
		return fmt.Errorf("accounts: link an identity: %w", err)
	}
	return nil
}

// admit makes the account of somebody whom nobody has invited, if there is to be one.
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
	// Nobody knows the password. The operator can set one.
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
