package accounts

import (
	"fmt"
	"strings"
)

// Role is what a person may do on a site, on a fleet, or with the event store. Each role includes
// the previous ones.
type Role string

// The roles. The zero value is no role.
const (
	Viewer Role = "viewer" // sees everything, changes nothing
	Admin  Role = "admin"  // changes settings, goals, shares and keys
	Owner  Role = "owner"  // grants roles and deletes the site
)

var ranks = map[Role]int{Viewer: 1, Admin: 2, Owner: 3}

// Includes reports whether r is other or a higher role. Nothing includes an unknown role, and no
// role includes nothing.
func (r Role) Includes(other Role) bool {
	return ranks[r] > 0 && ranks[other] > 0 && ranks[r] >= ranks[other]
}

// AllSites stands for all sites and fleets, including future ones, and the event store. An owner of
// all sites also manages accounts.
const AllSites = "*"

// fleetPrefix begins the place of a fleet where a site is named. Site IDs contain no colon, so a
// site and a fleet with the same ID are distinct.
const fleetPrefix = "fleet:"

// OfFleet returns the place of a fleet, to use wherever this package names a site: in grants, keys,
// invitations and the audit record.
func OfFleet(fleetID string) string { return fleetPrefix + fleetID }

// FleetOf returns the fleet of a place made by OfFleet. ok is false for a site.
func FleetOf(site string) (fleetID string, ok bool) {
	if fleetID, ok = strings.CutPrefix(site, fleetPrefix); !ok {
		return "", false
	}
	return fleetID, true
}

// EventStore is the place of the table's event store, to use wherever this package names a site. A
// table has one event store; further ones could have other names after the colon.
const EventStore = "events:main"

// CanBeSite reports whether an ID could be a site's. The places of fleets and the event store
// contain a colon, which site IDs do not.
func CanBeSite(id string) bool { return !strings.Contains(id, ":") }

// Grants are roles by place: a site ID, or the place of a fleet or of the event store.
type Grants map[string]Role

// On returns the role on a site: the higher of the role for the site and the role for all.
func (g Grants) On(site string) Role {
	if all := g[AllSites]; ranks[all] > ranks[g[site]] {
		return all
	}
	return g[site]
}

// maxGrants is the maximum number of individual grants. For more sites, grant AllSites.
const maxGrants = 200

func (g Grants) check() error {
	if len(g) > maxGrants {
		return fmt.Errorf("%w: roles on %d sites, but at most %d are allowed; grant a role on all sites (%s) instead", ErrInvalid, len(g), maxGrants, AllSites)
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

// checkSite rejects a text that cannot be a place.
func checkSite(site string) error {
	id := strings.TrimPrefix(site, fleetPrefix)
	if id == "" || len(id) > 64 || strings.Contains(id, "#") {
		return fmt.Errorf("%w: the ID of a site or fleet must have 1 to 64 bytes and no '#'", ErrInvalid)
	}
	return nil
}
