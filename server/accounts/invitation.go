package accounts

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
)

const (
	invitationPrefix = "ofi_"
	invitationFor    = 7 * 24 * time.Hour
	maxInvitations   = 100 // open invitations per site
)

// NewInvitation has the fields of a new invitation.
type NewInvitation struct {
	Email   string
	Site    string // a single site
	Role    Role
	Creator string // user ID
}

// Invite creates an invitation of an address to a site, and the token for its link, which is valid
// for a week. It replaces an earlier invitation of the address to the site. The token is not stored
// and cannot be shown again. Errors: ErrInvalid.
func (s *Store) Invite(ctx context.Context, n NewInvitation) (Invitation, string, error) {
	secret := newSecret()
	i := Invitation{
		Email: normalEmail(n.Email), Site: n.Site, Role: n.Role, Hash: hashOf(secret), Creator: n.Creator,
		Created: s.now(), Expires: s.now().Add(invitationFor).Truncate(time.Second),
	}
	i.InvitationID = invitationID(i.Site, i.Email)
	if err := i.check(); err != nil {
		return Invitation{}, "", err
	}
	open, err := s.Invitations(ctx, n.Site)
	if err != nil {
		return Invitation{}, "", err
	}
	if len(open) >= maxInvitations {
		return Invitation{}, "", fmt.Errorf("%w: the site already has %d open invitations: revoke some first", ErrInvalid, len(open))
	}
	if err := Invitations.Put(ctx, s.t, &i); err != nil {
		return Invitation{}, "", fmt.Errorf("accounts: invite: %w", err)
	}
	return i, invitationPrefix + i.InvitationID + "_" + secret, nil
}

// invitationID returns the same ID for every invitation of an address to a site, so that there is
// only one.
func invitationID(site, email string) string {
	sum := sha256.Sum256([]byte(site + "#" + email))
	return idEncoding.EncodeToString(sum[:10])
}

func (i *Invitation) check() error {
	if i.Site == AllSites {
		return fmt.Errorf("%w: an invitation must be for one site", ErrInvalid)
	}
	if err := checkEmail(i.Email); err != nil {
		return err
	}
	return Grants{i.Site: i.Role}.check()
}

// FindInvitation returns the invitation of a link's token. Errors: ErrDenied, also if the person
// who invited is disabled, deleted or no longer an owner of the site.
func (s *Store) FindInvitation(ctx context.Context, token string) (Invitation, error) {
	id, secret, ok := splitToken(invitationPrefix, token)
	if !ok {
		return Invitation{}, ErrDenied
	}
	i, err := InvitationByID.Get(ctx, s.t, InvitationKey{id})
	if err != nil {
		return Invitation{}, denied(err)
	}
	if !matches(secret, i.Hash) {
		return Invitation{}, ErrDenied
	}
	return i, s.backed(ctx, i.Creator, i.Site, Owner)
}

// Join creates the user whom an invitation is for, with its role. An invitation can be used once.
// Errors: ErrDenied, ErrInvalid, ErrEmailTaken.
func (s *Store) Join(ctx context.Context, token, name, password string) (User, error) {
	i, err := s.FindInvitation(ctx, token)
	if err != nil {
		return User{}, err
	}
	u, err := s.newUser(ctx, NewUser{Email: i.Email, Name: name, Password: password, Grants: Grants{i.Site: i.Role}})
	if err != nil {
		return User{}, err
	}
	tx := table.NewTx(s.t, "")
	addUser(tx, &u)
	Invitations.TxDelete(tx, i.InvitationKey, invitationHash.Eq(i.Hash))
	if err = tx.Commit(ctx); errors.Is(err, table.ErrCondition) {
		return User{}, ErrDenied
	}
	return u, added(err)
}

// Invitations reads the open invitations to a site, sorted by ID.
func (s *Store) Invitations(ctx context.Context, site string) ([]Invitation, error) {
	open, err := InvitationsOfSite.Collect(ctx, s.t, InvitationsIn{site})
	if err != nil {
		return nil, fmt.Errorf("accounts: invitations: %w", err)
	}
	return open, nil
}

// RevokeInvitation deletes an invitation to a site and returns it. Errors: table.ErrNotFound.
func (s *Store) RevokeInvitation(ctx context.Context, site, invitationID string) (Invitation, error) {
	if !validID(invitationID) {
		return Invitation{}, fmt.Errorf("accounts: invitation: %w", table.ErrNotFound)
	}
	i, err := InvitationByID.Get(ctx, s.t, InvitationKey{invitationID})
	if err == nil && i.Site != site {
		err = table.ErrNotFound
	}
	if err == nil {
		err = Invitations.Delete(ctx, s.t, i.InvitationKey)
	}
	if err != nil {
		return Invitation{}, fmt.Errorf("accounts: revoke invitation: %w", err)
	}
	return i, nil
}

func (s *Store) deleteInvitationsOf(ctx context.Context, site string) error {
	open, err := s.Invitations(ctx, site)
	if err != nil {
		return err
	}
	for i := range open {
		if _, err := s.RevokeInvitation(ctx, site, open[i].InvitationID); err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
	}
	return nil
}
