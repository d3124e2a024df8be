package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onefold/onefold/table"
)

// NewUser has the fields of a new user.
type NewUser struct {
	Email    string // unique, ignoring case; at most 254 bytes
	Name     string // at most 100 bytes
	Password string // 10 characters to 256 bytes
	Grants   Grants

	Temporary bool // somebody else chose the password: the user must change it at the first login
}

const (
	maxEmail = 254 // RFC 5321
	maxName  = 100
)

// AddUser creates a user. Errors: ErrInvalid, ErrEmailTaken.
func (s *Store) AddUser(ctx context.Context, n NewUser) (User, error) {
	u, err := s.newUser(ctx, n)
	if err != nil {
		return User{}, err
	}
	tx := table.NewTx(s.t, "")
	addUser(tx, &u)
	if u.managesAccounts() {
		Setups.TxPut(tx, &Setup{Done: u.Created})
	}
	return u, added(tx.Commit(ctx))
}

// sentAgain is how long a repeated request counts as a retry of the first, whose response may have
// been lost.
const sentAgain = 10 * time.Minute

// AddedBefore returns the user that AddUser created from the same input shortly before, for a
// caller who missed the response. Errors: ErrEmailTaken if the input differed or it was longer ago.
func (s *Store) AddedBefore(ctx context.Context, n NewUser) (User, error) {
	u, err := s.UserByEmail(ctx, n.Email)
	if err != nil {
		return User{}, err
	}
	if s.now().Sub(u.Created) > sentAgain || u.Disabled || u.Name != strings.TrimSpace(n.Name) || !maps.Equal(u.Grants, n.Grants) {
		return User{}, ErrEmailTaken
	}
	right, err := s.hashes.check(ctx, n.Password, u.Password)
	if err == nil && !right {
		err = ErrEmailTaken
	}
	return u, err
}

// newUser validates the input and hashes the password.
func (s *Store) newUser(ctx context.Context, n NewUser) (User, error) {
	u := User{
		UserKey: UserKey{newID()}, Email: normalEmail(n.Email), Name: strings.TrimSpace(n.Name), Grants: n.Grants,
		Created: s.now(), MustChange: n.Temporary, Version: 1,
	}
	if err := u.check(); err != nil {
		return User{}, err
	}
	if err := checkPassword(n.Password, u.Email); err != nil {
		return User{}, err
	}
	var err error
	u.Password, err = s.hashes.hash(ctx, n.Password)
	return u, err
}

func (s *Store) now() time.Time { return s.t.Now().UTC().Truncate(time.Millisecond) }

// addUser adds a user and the reservation of the address to a transaction.
func addUser(tx *table.Tx, u *User) {
	Users.TxCreate(tx, u)
	Emails.TxCreate(tx, &Email{EmailKey{hashOf(u.Email)}, u.UserID})
}

func added(err error) error {
	if errors.Is(err, table.ErrExists) {
		return ErrEmailTaken
	}
	if err != nil {
		return fmt.Errorf("accounts: add user: %w", err)
	}
	return nil
}

// normalEmail returns an address in the form in which it is stored and compared.
func normalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

func (u *User) check() error {
	if err := checkEmail(u.Email); err != nil {
		return err
	}
	if len(u.Name) > maxName || !utf8.ValidString(u.Name) {
		return fmt.Errorf("%w: a name may have at most %d bytes", ErrInvalid, maxName)
	}
	return u.Grants.check()
}

func checkEmail(email string) error {
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > maxEmail || !utf8.ValidString(email) {
		return fmt.Errorf("%w: email address: use one like name@example.com, at most %d bytes", ErrInvalid, maxEmail)
	}
	return nil
}

// managesAccounts reports whether a user can manage accounts. At least one such user must
// remain.
func (u *User) managesAccounts() bool { return !u.Disabled && u.Grants[AllSites] == Owner }

// User reads a user. Errors: table.ErrNotFound.
func (s *Store) User(ctx context.Context, userID string) (User, error) {
	if !validID(userID) {
		return User{}, fmt.Errorf("accounts: user: %w", table.ErrNotFound)
	}
	return UserByID.Get(ctx, s.t, UserKey{userID})
}

// UserByEmail reads the user with an address. Errors: table.ErrNotFound.
func (s *Store) UserByEmail(ctx context.Context, email string) (User, error) {
	e, err := UserByEmail.Get(ctx, s.t, EmailKey{hashOf(normalEmail(email))})
	if err != nil {
		return User{}, fmt.Errorf("accounts: user: %w", err)
	}
	return s.User(ctx, e.UserID)
}

// Users reads all users, sorted by address.
func (s *Store) Users(ctx context.Context) ([]User, error) {
	users, err := AllUsers.Collect(ctx, s.t, struct{}{})
	if err != nil {
		return nil, fmt.Errorf("accounts: users: %w", err)
	}
	slices.SortFunc(users, func(a, b User) int { return cmp.Compare(a.Email, b.Email) })
	return users, nil
}

// UpdateUser changes a user's name, grants or disabled state. Other changes are ignored. Disabling
// logs the user out. Errors: table.ErrNotFound, ErrInvalid, ErrLastOwner.
func (s *Store) UpdateUser(ctx context.Context, userID string, change func(*User)) (User, error) {
	return s.write(ctx, userID, func(u *User) error { return u.update(change) })
}

// UpdateUserAndPassword is UpdateUser and SetPassword in one write: it makes all changes or none. The
// user must change the password at the next login, because another person chose it.
func (s *Store) UpdateUserAndPassword(ctx context.Context, userID, password string, change func(*User)) (User, error) {
	hash, err := s.newPassword(ctx, userID, password)
	if err != nil {
		return User{}, err
	}
	return s.write(ctx, userID, func(u *User) error {
		u.setPassword(hash)
		u.MustChange = true
		return u.update(change)
	})
}

// update applies a change to name, grants and disabled state.
func (u *User) update(change func(*User)) error {
	next := *u
	next.Grants = cloned(u.Grants)
	change(&next)
	if next.Disabled && !u.Disabled {
		u.Generation++
	}
	u.Name, u.Grants, u.Disabled = strings.TrimSpace(next.Name), next.Grants, next.Disabled
	return u.check()
}

func cloned(g Grants) Grants {
	clone := make(Grants, len(g))
	for site, role := range g {
		clone[site] = role
	}
	return clone
}

// SetPassword changes a user's password and ends all sessions of the user. Errors:
// table.ErrNotFound, ErrInvalid.
func (s *Store) SetPassword(ctx context.Context, userID, password string) error {
	hash, err := s.newPassword(ctx, userID, password)
	if err != nil {
		return err
	}
	_, err = s.write(ctx, userID, func(u *User) error {
		u.setPassword(hash)
		return nil
	})
	return err
}

// newPassword checks and hashes a password that a user is to have.
func (s *Store) newPassword(ctx context.Context, userID, password string) (hash string, err error) {
	u, err := s.User(ctx, userID)
	if err != nil {
		return "", err
	}
	if err := checkPassword(password, u.Email); err != nil {
		return "", err
	}
	return s.hashes.hash(ctx, password)
}

// chosenPassword checks and hashes a password that a user chose. It refuses the user's current
// password if someone else set that one, because that person knows it.
func (s *Store) chosenPassword(ctx context.Context, u *User, password string) (hash string, err error) {
	if err := checkPassword(password, u.Email); err != nil {
		return "", err
	}
	if u.MustChange {
		if same, err := s.hashes.check(ctx, password, u.Password); err != nil {
			return "", err
		} else if same {
			return "", fmt.Errorf("%w: somebody else chose this password: use another one", ErrInvalid)
		}
	}
	return s.hashes.hash(ctx, password)
}

// setPassword replaces the password, which ends all sessions and links that set a password.
func (u *User) setPassword(hash string) {
	u.changePassword(hash)
	u.Generation++
}

// changePassword replaces the password by one that the user chose.
func (u *User) changePassword(hash string) { u.Password, u.Reset, u.MustChange = hash, nil, false }

// write changes a stored user, unless nobody would be left who can manage accounts. The transaction
// checks the versions of all users that the decision depends on, so that two owners who remove each
// other at once do not both succeed.
func (s *Store) write(ctx context.Context, userID string, change func(*User) error) (User, error) {
	var u User
	err := retried(ctx, func() error {
		was, err := s.User(ctx, userID)
		if err != nil {
			return err
		}
		u = was
		if err := change(&u); err != nil {
			return err
		}
		u.Version = was.Version + 1
		tx := table.NewTx(s.t, "")
		Users.TxPut(tx, &u, userVersion.Eq(was.Version))
		if was.managesAccounts() && !u.managesAccounts() {
			if err := s.holdAnotherOwner(ctx, tx, userID); err != nil {
				return err
			}
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return User{}, fmt.Errorf("accounts: update user: %w", err)
	}
	return u, nil
}

// DeleteUser deletes a user and frees the address. Errors: table.ErrNotFound, ErrLastOwner.
func (s *Store) DeleteUser(ctx context.Context, userID string) error {
	err := retried(ctx, func() error {
		u, err := s.User(ctx, userID)
		if err != nil {
			return err
		}
		tx := table.NewTx(s.t, "")
		Users.TxDelete(tx, u.UserKey, userVersion.Eq(u.Version))
		Emails.TxDelete(tx, EmailKey{hashOf(u.Email)})
		SecondFactors.TxDelete(tx, u.UserKey)
		deleteIdentity(tx, &u)
		if err := s.deletePasskeys(ctx, tx, userID); err != nil {
			return err
		}
		if u.managesAccounts() {
			if err := s.holdAnotherOwner(ctx, tx, userID); err != nil {
				return err
			}
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("accounts: delete user: %w", err)
	}
	return nil
}

// holdAnotherOwner makes a transaction depend on another user who can manage accounts and stays
// unchanged.
func (s *Store) holdAnotherOwner(ctx context.Context, tx *table.Tx, except string) error {
	users, err := s.Users(ctx)
	if err != nil {
		return err
	}
	for i := range users {
		if users[i].UserID == except || !users[i].managesAccounts() {
			continue
		}
		Users.TxCheck(tx, users[i].UserKey, userVersion.Eq(users[i].Version))
		return nil
	}
	return ErrLastOwner
}

// RemoveSite removes a deleted site from all grants, and its keys, shares and invitations, so that
// a later site with the same ID starts without any. It can be repeated after an interruption.
func (s *Store) RemoveSite(ctx context.Context, site string) error {
	users, err := s.Users(ctx)
	if err != nil {
		return err
	}
	for i := range users {
		if _, ok := users[i].Grants[site]; !ok {
			continue
		}
		_, err := s.UpdateUser(ctx, users[i].UserID, func(u *User) { delete(u.Grants, site) })
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
	}
	return errors.Join(s.deleteKeysOf(ctx, site), s.deleteSharesOf(ctx, site), s.deleteInvitationsOf(ctx, site))
}
