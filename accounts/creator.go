package accounts

import (
	"context"
	"errors"
)

// Keys, shares and invitations hold no longer than the rights of the person who made them. That is looked up at each use, so
// there is no moment at which a person is disabled and a key of theirs still works, and giving the rights back is enough to
// make it work again. What has no creator was made on the command line, where there are no roles.

// backed refuses what a person made for a site if they have not at least the role on it now. Errors: ErrDenied.
func (s *Store) backed(ctx context.Context, creator, site string, least Role) error {
	if creator == "" {
		return nil
	}
	u, err := s.User(ctx, creator)
	if err != nil {
		return denied(err)
	}
	if u.Disabled || !u.Grants.On(site).Includes(least) {
		return ErrDenied
	}
	return nil
}

// Backed reports whether the creator of a key or share may still make one for the site: if not, it is refused.
func (s *Store) Backed(ctx context.Context, creator, site string) (bool, error) {
	err := s.backed(ctx, creator, site, Admin)
	if errors.Is(err, ErrDenied) {
		return false, nil
	}
	return err == nil, err
}
