package accounts

import (
	"fmt"
	"strings"
)

// Role is what somebody may do on a site. Each includes those before it.
type Role string

// The roles. The zero value is none.
const (
	Viewer Role = "viewer" // sees everything, changes nothing
	Admin  Role = "admin"  // changes settings, goals, shares and keys
	Owner  Role = "owner"  // gives roles and deletes the site
)

var ranks = map[Role]int{Viewer: 1, Admin: 2, Owner: 3}

// Includes reports whether a role is another or more. Nothing includes an unknown role, and no role includes nothing.
func (r Role) Includes(other Role) bool {
	return ranks[r] > 0 && ranks[other] > 0 && ranks[r] >= ranks[other]
}

// AllSites stands for every site, those made later too. An owner of all sites also looks after accounts.
const AllSites = "*"

// Grants are roles by the ids of sites.
type Grants map[string]Role

// On is the role on a site: the greater of that given for it and that given for all.
func (g Grants) On(site string) Role {
	if all := g[AllSites]; ranks[all] > ranks[g[site]] {
		return all
	}
	return g[site]
}

// maxGrants bounds how many sites somebody may be given one by one; with more, all are meant.
const maxGrants = 200

func (g Grants) check() error {
	if len(g) > maxGrants {
		return fmt.Errorf("%w: roles on %d sites: at most %d; give a role on all sites (%s) instead", ErrInvalid, len(g), maxGrants, AllSites)
	}
	for site, role := range g {
		if ranks[role] == 0 {
			return fmt.Errorf("%w: role: use viewer, admin or owner", ErrInvalid)
		}
		if err := checkSite(site); err != nil {
			return err
		}
	}
	return nil
}

// checkSite refuses what cannot be a site's id.
func checkSite(site string) error {
	if site == "" || len(site) > 64 || strings.Contains(site, "#") {
		return fmt.Errorf("%w: a site's id has 1 to 64 bytes and no '#'", ErrInvalid)
	}
	return nil
}
