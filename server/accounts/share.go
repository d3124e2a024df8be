package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/onefold/onefold/table"
)

const (
	sharePrefix = "ofs_"
	maxEmbed    = 20 // origins per share
)

// NewShare has the fields of a new share.
type NewShare struct {
	Name     string // at most 100 bytes
	Site     string
	Password string    // "": no password
	Expires  time.Time // zero: never
	Embed    []string  // origins like https://example.com whose pages may show it in a frame; at most 20
	Creator  string    // user ID

	Segment *ShareSegment // nil: all visits
}

// AddShare creates a share, and the token for its link. The token is not stored and cannot be shown
// again. Errors: ErrInvalid.
func (s *Store) AddShare(ctx context.Context, n NewShare) (Share, string, error) {
	if err := n.check(s.now()); err != nil {
		return Share{}, "", err
	}
	secret := newSecret()
	sh := Share{
		ShareKey: ShareKey{newID()}, Hash: hashOf(secret), Name: strings.TrimSpace(n.Name), Site: n.Site, Embed: n.Embed,
		Creator: n.Creator, Created: s.now(), Expires: n.Expires, Segment: n.Segment,
	}
	if n.Password != "" {
		var err error
		if sh.Password, err = s.hashes.hash(ctx, n.Password); err != nil {
			return Share{}, "", err
		}
	}
	if err := Shares.Create(ctx, s.t, &sh); err != nil {
		return Share{}, "", fmt.Errorf("accounts: add share: %w", err)
	}
	return sh, sharePrefix + sh.ShareID + "_" + secret, nil
}

func (n *NewShare) check(now time.Time) error {
	switch {
	case len(n.Name) > maxName:
		return fmt.Errorf("%w: a name may have at most %d bytes", ErrInvalid, maxName)
	case n.Site == AllSites:
		return fmt.Errorf("%w: a share must be for one site", ErrInvalid)
	case !n.Expires.IsZero() && !n.Expires.After(now):
		return fmt.Errorf("%w: the expiry must be in the future", ErrInvalid)
	case n.Segment != nil && (n.Segment.ID == "" || len(n.Segment.Filters) == 0):
		return fmt.Errorf("%w: a share's segment needs an ID and filters", ErrInvalid)
	case len(n.Embed) > maxEmbed:
		return fmt.Errorf("%w: %d origins may show the share in a frame, but at most %d are allowed", ErrInvalid, len(n.Embed), maxEmbed)
	}
	for _, origin := range n.Embed {
		if !validOrigin(origin) {
			return fmt.Errorf("%w: an origin must look like https://example.com, without a path", ErrInvalid)
		}
	}
	if n.Password != "" {
		if err := checkPassword(n.Password, ""); err != nil {
			return err
		}
	}
	return checkSite(n.Site)
}

// validOrigin reports whether a text is exactly one origin: it becomes part of a header.
func validOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || len(origin) > 256 || strings.ContainsAny(origin, " ;,'\"\\*") {
		return false
	}
	return (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.Scheme+"://"+u.Host == origin
}

// FindShare returns the share of a link's token, without checking its password. Errors: ErrDenied,
// also while the share's creator is disabled, deleted or no longer an admin of its site.
func (s *Store) FindShare(ctx context.Context, token string) (Share, error) {
	id, secret, ok := splitToken(sharePrefix, token)
	if !ok {
		return Share{}, ErrDenied
	}
	sh, err := ShareByID.Get(ctx, s.t, ShareKey{id})
	if err != nil {
		return Share{}, denied(err)
	}
	if !matches(secret, sh.Hash) {
		return Share{}, ErrDenied
	}
	return sh, s.backed(ctx, sh.Creator, sh.Site, Admin)
}

// OpenShare begins a session that can see the share's site. It lasts a day, but not longer than the
// share. Errors: ErrDenied, also for a wrong password.
func (s *Store) OpenShare(ctx context.Context, token, password string) (Share, Login, error) {
	sh, err := s.FindShare(ctx, token)
	if err != nil {
		return Share{}, Login{}, err
	}
	if sh.Password != "" {
		right, err := s.hashes.check(ctx, password, sh.Password)
		if err != nil {
			return Share{}, Login{}, fmt.Errorf("accounts: open share: %w", err)
		}
		if !right {
			return Share{}, Login{}, ErrDenied
		}
	}
	lasts := shareSession
	if left := sh.Expires.Sub(s.now()); !sh.Expires.IsZero() && left < lasts {
		lasts = left
	}
	login, err := s.begin(ctx, Session{ShareID: sh.ShareID}, lasts)
	return sh, login, err
}

// ResumeShare returns the share of a session. Errors: ErrDenied, also if the share was revoked, has
// expired, or would be denied by FindShare.
func (s *Store) ResumeShare(ctx context.Context, token string) (Share, error) {
	session, err := s.session(ctx, token)
	if err != nil {
		return Share{}, err
	}
	if session.ShareID == "" {
		return Share{}, ErrDenied
	}
	sh, err := ShareByID.Get(ctx, s.t, ShareKey{session.ShareID})
	if err != nil {
		return Share{}, denied(err)
	}
	return sh, s.backed(ctx, sh.Creator, sh.Site, Admin)
}

// Shares reads the shares of a site, sorted by ID.
func (s *Store) Shares(ctx context.Context, site string) ([]Share, error) {
	shares, err := SharesOfSite.Collect(ctx, s.t, SharesIn{site})
	if err != nil {
		return nil, fmt.Errorf("accounts: shares: %w", err)
	}
	return shares, nil
}

// ShowingOnly returns the names of the shares that show only a segment, or their IDs if they have none.
func ShowingOnly(segmentID string, shares []Share) []string {
	names := []string{}
	for i := range shares {
		if of := shares[i].Segment; of != nil && of.ID == segmentID {
			names = append(names, cmp.Or(shares[i].Name, shares[i].ShareID))
		}
	}
	return names
}

// RevokeShare deletes a share of a site and returns it. Its open sessions end. Errors:
// table.ErrNotFound.
func (s *Store) RevokeShare(ctx context.Context, site, shareID string) (Share, error) {
	if !validID(shareID) {
		return Share{}, fmt.Errorf("accounts: share: %w", table.ErrNotFound)
	}
	sh, err := ShareByID.Get(ctx, s.t, ShareKey{shareID})
	if err == nil && sh.Site != site {
		err = table.ErrNotFound
	}
	if err == nil {
		err = Shares.Delete(ctx, s.t, sh.ShareKey)
	}
	if err != nil {
		return Share{}, fmt.Errorf("accounts: revoke share: %w", err)
	}
	return sh, nil
}

func (s *Store) deleteSharesOf(ctx context.Context, site string) error {
	shares, err := s.Shares(ctx, site)
	if err != nil {
		return err
	}
	for i := range shares {
		if _, err := s.RevokeShare(ctx, site, shares[i].ShareID); err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
	}
	return nil
}
