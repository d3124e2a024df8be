package accounts

import (
	"context"
	"errors"

	"github.com/onefold/onefold/table"
)

// Keys, shares and invitations are valid only while their creator has the rights to create them.
// This is checked at each use. So a key stops working at the moment when its creator is disabled,
// and works again when the rights are restored. Items without a creator were made on the command
// line, which has no roles.

// backing are the attributes of a user that decide it. A process that only takes in facts may read
// no others, above all no password.
var backing = table.Fields{"grants", "disabled"}

// backed rejects what a person created for a site if the person no longer has at least a role on
// it. Errors: ErrDenied.
func (s *Store) backed(ctx context.Context, creator, site string, least Role) error {
	if creator == "" {
		return nil
	}
	if !validID(creator) {
		return ErrDenied
	}
	u, err := Users.GetFields(ctx, s.t, UserKey{creator}, backing...)
	if err != nil {
		return denied(err)
	}
	if u.Disabled || !u.Grants.On(site).Includes(least) {
		return ErrDenied
	}
	return nil
}

// Backed reports whether the creator of a key or share could still create it for the site. If not,
// it is rejected when used.
func (s *Store) Backed(ctx context.Context, creator, site string) (bool, error) {
	err := s.backed(ctx, creator, site, Admin)
	if errors.Is(err, ErrDenied) {
		return false, nil
	}
	return err == nil, err
}
