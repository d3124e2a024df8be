package middleware

import (
	"context"

	"github.com/onefold/onefold/accounts"
)

// Caller is who sent a request. The zero value is nobody.
type Caller struct {
	Actor  string          // for the record: user:ID, key:ID, share:ID or token; "" for nobody
	Grants accounts.Grants // of a person, a key or the token
	Place  string          // that the request is about: a site, or what stands for a fleet; "" for neither
	User   *accounts.User  // of a person
	Login  accounts.Login  // of a person
	Behind string          // id of the user who logged in, or who made the key; "": nobody, or the command line
	shared string          // the site whose statistics a share shows
	sends  string          // what a key that does nothing else sends to

	shareCookie string // of a browser that opened a shared view; not looked at before it is needed

	Secure  bool   // came over TLS
	Network string // that attempts are counted for
	Agent   string // the User-Agent that was sent
}

type callerKey struct{}

// CallerOf is who sent the request that a handler works on.
func CallerOf(ctx context.Context) *Caller {
	if who, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return who
	}
	return &Caller{}
}

// May reports whether a caller has a permission; on operations of a site, for that site.
func (c *Caller) May(need Permission, site string) bool {
	role := c.Grants.On(site)
	switch need {
	case ForAnyone:
		return true
	case ForSomebody:
		return c.User != nil || len(c.Grants) > 0
	case ForPerson:
		return c.User != nil
	case ForStatistics:
		return role.Includes(accounts.Viewer) || c.shared != "" && c.shared == site
	case ForRead:
		return role.Includes(accounts.Viewer)
	case ForAppend:
		return role.Includes(accounts.Admin) || c.sends != "" && (c.sends == site || c.sends == accounts.AllSites)
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
