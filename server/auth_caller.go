package server

import (
	"context"

	"github.com/onefold/onefold/accounts"
)

// caller is who sent a request. The zero value is nobody.
type caller struct {
	actor  string          // for the record: user:ID, key:ID, share:ID or token; "" for nobody
	grants accounts.Grants // of a person, a key or the token
	user   *accounts.User  // of a person
	login  accounts.Login  // of a person
	shared string          // the site whose statistics a share shows

	shareCookie string // of a browser that opened a shared view; not looked at before it is needed

	secure  bool   // came over TLS
	network string // that attempts are counted for
}

type callerKey struct{}

// callerOf is who sent the request that a handler works on.
func callerOf(ctx context.Context) *caller {
	if who, ok := ctx.Value(callerKey{}).(*caller); ok {
		return who
	}
	return &caller{}
}

// may reports whether a caller has a permission; on operations of a site, for that site.
func (c *caller) may(need permission, site string) bool {
	role := c.grants.On(site)
	switch need {
	case forAnyone:
		return true
	case forSomebody:
		return c.user != nil || len(c.grants) > 0
	case forPerson:
		return c.user != nil
	case forStatistics:
		return role.Includes(accounts.Viewer) || c.shared != "" && c.shared == site
	case forRead:
		return role.Includes(accounts.Viewer)
	case forWrite:
		return role.Includes(accounts.Admin)
	case forOwner:
		return c.user != nil && role.Includes(accounts.Owner)
	case forNewSites:
		return c.grants[accounts.AllSites].Includes(accounts.Admin)
	case forAccounts:
		return c.user != nil && c.grants[accounts.AllSites].Includes(accounts.Owner)
	}
	return false
}
