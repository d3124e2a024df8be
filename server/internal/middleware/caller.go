package middleware

import (
	"context"

	"github.com/onefold/onefold/server/accounts"
)

// Caller is the sender of a request. The zero value is anonymous.
type Caller struct {
	Actor   string          // for the audit record: user:ID, key:ID, share:ID or token; "" if anonymous
	Grants  accounts.Grants // roles of a person, a key or the token
	Place   string          // the subject of the request: a site, or the place of a fleet; "" if neither
	Limits  accounts.Limits // of a key
	User    *accounts.User  // set for a person
	Login   accounts.Login  // set for a person
	Behind  string          // ID of the logged-in user or the key's creator; "" if there is none, as for keys created on the command line
	shared  string          // the site whose statistics a share shows
	segment *accounts.ShareSegment
	sendsTo string // the place that an ingest-only key may send to

	personal bool // of a key: it sees personal data

	shareCookie string // cookie of a shared view; looked up only if needed

	Secure  bool   // the request came over TLS
	Network string // the unit that attempts are counted for
	Agent   string // the User-Agent header
}

// Restriction returns the segment whose visits are all that the caller may see of the site, or nil: it
// applies to callers whose only access to the site is a share of a segment, also on a public site.
func (c *Caller) Restriction() *accounts.ShareSegment {
	if c.segment == nil || c.shared != c.Place || c.Grants.On(c.Place).Includes(accounts.Viewer) {
		return nil
	}
	return c.segment
}

type callerKey struct{}

// CallerOf returns the caller of the request that a handler serves.
func CallerOf(ctx context.Context) *Caller {
	if who, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return who
	}
	return &Caller{}
}

// SeesPersonal reports whether a caller may see personal fields of events: admins of the event store,
// and keys with this permission.
func (c *Caller) SeesPersonal() bool {
	return c.personal || c.User != nil && c.Grants.On(accounts.EventStore).Includes(accounts.Admin)
}

// May reports whether a caller has a permission on a site. Permissions that do not depend on a
// site ignore it.
func (c *Caller) May(need Permission, site string) bool {
	role := c.Grants.On(site)
	switch need {
	case ForAnyone:
		return true
	case ForIdentified:
		return c.User != nil || len(c.Grants) > 0
	case ForPerson:
		return c.User != nil
	case ForStatistics:
		return role.Includes(accounts.Viewer) || c.shared != "" && c.shared == site
	case ForRead:
		return role.Includes(accounts.Viewer)
	case ForAppend:
		return role.Includes(accounts.Admin) || c.sendsTo != "" && (c.sendsTo == site || c.sendsTo == accounts.AllSites)
	case ForWrite:
		return role.Includes(accounts.Admin)
	case ForOwner:
		return c.User != nil && role.Includes(accounts.Owner)
	case ForAllSites:
		return c.Grants[accounts.AllSites].Includes(accounts.Admin)
	case ForAccounts:
		return c.User != nil && c.Grants[accounts.AllSites].Includes(accounts.Owner)
	}
	return false
}
