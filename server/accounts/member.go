package accounts

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

// ErrMember is returned when a person already has another role on the site.
var ErrMember = errors.New("accounts: this person already has a role on the site; change that role")

// Members reads the users with a role on a site, including those with a role on all sites, sorted
// by address.
func (s *Store) Members(ctx context.Context, site string) ([]User, error) {
	users, err := s.Users(ctx)
	if err != nil {
		return nil, err
	}
	members := users[:0]
	for _, u := range users {
		if u.Grants.On(site) != "" {
			members = append(members, u)
		}
	}
	return members, nil
}

// AddMember gives the user with an address a role on one site. It succeeds if the user already has
// that role. Errors: table.ErrNotFound if nobody has the address, ErrMember, ErrInvalid.
func (s *Store) AddMember(ctx context.Context, site, email string, role Role) (User, error) {
	u, err := s.UserByEmail(ctx, email)
	if err != nil {
		return User{}, err
	}
	return s.write(ctx, u.UserID, func(u *User) error {
		if has, ok := u.Grants[site]; ok && has != role {
			return ErrMember
		}
		return u.give(site, role)
	})
}

// SetMember changes a user's role on one site, and returns the user before and after; "" removes
// the role. A role on all sites is not affected. Errors: table.ErrNotFound if the user has no role
// on the site, ErrInvalid.
func (s *Store) SetMember(ctx context.Context, site, userID string, role Role) (before, after User, err error) {
	after, err = s.write(ctx, userID, func(u *User) error {
		if _, ok := u.Grants[site]; !ok {
			return table.ErrNotFound
		}
		before = *u
		return u.give(site, role)
	})
	return before, after, err
}

func (u *User) give(site string, role Role) error {
	if site == AllSites {
		return fmt.Errorf("%w: a member must belong to one site", ErrInvalid)
	}
	u.Grants = cloned(u.Grants)
	if u.Grants[site] = role; role == "" {
		delete(u.Grants, site)
	}
	return u.check()
}
