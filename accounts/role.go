package accounts

import (
	"fmt"
	"strings"
)

// Role is what somebody may do on a site, on a fleet of devices, or with the event store. Each includes those before it.
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

// AllSites stands for every site and every fleet, those made later too, and the event store. An owner of all sites also looks after accounts.
const AllSites = "*"

// fleetPrefix begins what stands for a fleet where a site is named. No site's id has a colon, so a site and a fleet of the
// same id share nothing.
const fleetPrefix = "fleet:"

// OfFleet stands for a fleet of devices wherever this package names a site: in grants, keys, invitations and records.
func OfFleet(fleetID string) string { return fleetPrefix + fleetID }

// FleetOf is the fleet that OfFleet made this of; the bool is false for a site.
func FleetOf(site string) (fleetID string, ok bool) {
	if fleetID, ok = strings.CutPrefix(site, fleetPrefix); !ok {
		return "", false
	}
	return fleetID, true
}

// EventStore stands for the table's event store wherever this package names a site. A table has one; should it have several
// one day, they are others after the colon.
const EventStore = "events:main"

// CanBeSite reports whether an id could be a site's. Those that stand for fleets and for the event store have a colon, which no site's
// id has.
func CanBeSite(id string) bool { return !strings.Contains(id, ":") }

// Grants are roles by the ids of sites, and by what stands for fleets and the event store.
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

// checkSite refuses what cannot be the id of a site, or stand for a fleet.
func checkSite(site string) error {
	id := strings.TrimPrefix(site, fleetPrefix)
	if id == "" || len(id) > 64 || strings.Contains(id, "#") {
		return fmt.Errorf("%w: the id of a site or fleet has 1 to 64 bytes and no '#'", ErrInvalid)
	}
	return nil
}
