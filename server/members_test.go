package server_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

const members = "/api/v1/sites/blog/members"

// invite invites an address, and returns the token in the link.
func invite(t *testing.T, owner *servertest.Person, email, role string) string {
	t.Helper()
	var made struct{ Invitation struct{ Token string } }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(http.StatusCreated, `"token":"ofi_`, http.MethodPost, members, `{"email":"`+email+`","role":"`+role+`"}`)), &made))
	return made.Invitation.Token
}

func TestAnOwnerInvitesToTheirSite(t *testing.T) {
	h := servertest.New(t, nil)
	owner := h.NewPerson("owner@example.com", accounts.Grants{"blog": accounts.Owner})
	token := invite(t, owner, "Bob@example.com", "admin")
	owner.Want(http.StatusOK, `"email":"bob@example.com"`, http.MethodGet, members, "")
	bob := h.Browser()
	bob.Want(http.StatusOK, `"site":"blog"`, http.MethodPost, "/api/v1/invitations/open", `{"token":"`+token+`"}`)
	bob.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodPost, "/api/v1/invitations/accept", `{"token":"`+token+`","password":"short"}`)
	join := `{"token":"` + token + `","name":"Bob","password":"` + servertest.Password + `"}`
	bob.Learn(bob.Want(http.StatusOK, `"sites":[{"id":"blog","role":"admin"}]`, http.MethodPost, "/api/v1/invitations/accept", join))
	h.Browser().Want(http.StatusNotFound, "not_found", http.MethodPost, "/api/v1/invitations/accept", join)
	bob.Want(http.StatusOK, "", http.MethodPatch, "/api/v1/sites/blog", `{"name":"Bob was here"}`)
	bob.Want(http.StatusForbidden, "forbidden", http.MethodGet, members, "")

	answer := owner.Want(http.StatusOK, `"invitations":[]`, http.MethodGet, members, "")
	var list struct {
		Members []struct{ ID, Email, Role string }
	}
	servertest.Must(t, json.Unmarshal([]byte(answer), &list))
	if len(list.Members) != 2 || list.Members[0].Email != "bob@example.com" || list.Members[0].Role != "admin" || strings.Contains(answer, "argon2") {
		t.Fatal(answer)
	}
	one := members + "/" + list.Members[0].ID
	owner.Want(http.StatusConflict, "member_exists", http.MethodPost, members, `{"email":"bob@example.com","role":"viewer"}`)
	owner.Want(http.StatusOK, `"role":"viewer"`, http.MethodPatch, one, `{"role":"viewer"}`)
	bob.Want(http.StatusForbidden, "forbidden", http.MethodPatch, "/api/v1/sites/blog", `{"name":"Bob was here"}`)
	owner.Want(http.StatusNoContent, "", http.MethodDelete, one, "")
	owner.Want(http.StatusNotFound, "not_found", http.MethodDelete, one, "")
	bob.Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/sites/blog/stats", "")
	for range 2 { // has an account by now; the repeated request has the same response
		owner.Want(http.StatusCreated, `"member":{`, http.MethodPost, members, `{"email":"bob@example.com","role":"viewer"}`)
	}
	bob.Want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
	all := h.NewPerson("all@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	trail := all.Want(http.StatusOK, "member.invite", http.MethodGet, "/api/v1/audit", "")
	for _, action := range []string{"invitation.accept", "member.add", "member.update", "member.remove"} {
		if !strings.Contains(trail, action) {
			t.Errorf("the record lacks %s: %s", action, trail)
		}
	}
}

// TestAnOwnerInvitesToTheEventStore grants roles on a place that is neither a site nor a fleet.
func TestAnOwnerInvitesToTheEventStore(t *testing.T) {
	h := servertest.New(t, nil)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.EventStore: accounts.Owner})
	const members = "/api/v1/events/members"
	var made struct{ Invitation struct{ ID, Token string } }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(http.StatusCreated, `"token":"ofi_`, http.MethodPost, members, `{"email":"bob@example.com","role":"viewer"}`)), &made))
	bob := h.Browser()
	bob.Want(http.StatusOK, `"eventStore":true`, http.MethodPost, "/api/v1/invitations/open", `{"token":"`+made.Invitation.Token+`"}`)
	bob.Learn(bob.Want(http.StatusOK, `"eventStore":"viewer"`, http.MethodPost, "/api/v1/invitations/accept", `{"token":"`+made.Invitation.Token+`","password":"`+servertest.Password+`"}`))
	bob.Want(http.StatusOK, "", http.MethodGet, "/api/v1/events/types", "")
	bob.Want(http.StatusForbidden, "forbidden", http.MethodGet, members, "")
	for i, grants := range []accounts.Grants{{accounts.EventStore: accounts.Admin}, {"blog": accounts.Owner}, {accounts.AllSites: accounts.Admin}} {
		other := h.NewPerson(strconv.Itoa(i)+"@example.com", grants)
		other.Want(http.StatusForbidden, "forbidden", http.MethodPost, members, `{"email":"eve@example.com","role":"owner"}`)
		other.Want(http.StatusForbidden, "forbidden", http.MethodGet, members, "")
	}
	owner.Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/sites/blog/members", "")
	answer := owner.Want(http.StatusOK, `"email":"bob@example.com"`, http.MethodGet, members, "")
	var list struct{ Members []struct{ ID, Email string } }
	servertest.Must(t, json.Unmarshal([]byte(answer), &list))
	for _, m := range list.Members {
		if m.Email == "bob@example.com" {
			owner.Want(http.StatusOK, `"role":"admin"`, http.MethodPatch, members+"/"+m.ID, `{"role":"admin"}`)
			owner.Want(http.StatusNoContent, "", http.MethodDelete, members+"/"+m.ID, "")
		}
	}
	bob.Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/events/types", "")
}

// TestOnlyOwnersInvite tries to invite with every other role, and as the owner of another site.
func TestOnlyOwnersInvite(t *testing.T) {
	h := servertest.New(t, nil)
	all := h.NewPerson("all@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	all.Want(http.StatusCreated, "", http.MethodPost, "/api/v1/sites", `{"id":"other"}`)
	owner := h.NewPerson("owner@example.com", accounts.Grants{"blog": accounts.Owner, "other": accounts.Viewer})
	_, write, err := h.Accounts.AddKey(t.Context(), accounts.NewKey{Site: "blog", Scope: accounts.Write})
	servertest.Must(t, err)
	viewer, err := h.Accounts.AddUser(t.Context(), accounts.NewUser{Email: "v@example.com", Password: servertest.Password, Grants: accounts.Grants{"other": accounts.Viewer}})
	servertest.Must(t, err)
	for name, who := range map[string]*servertest.Person{
		"viewer": h.NewPerson("viewer@example.com", accounts.Grants{"blog": accounts.Viewer}),
		"admin":  h.NewPerson("admin@example.com", accounts.Grants{accounts.AllSites: accounts.Admin}),
		"other":  h.NewPerson("other@example.com", accounts.Grants{"other": accounts.Owner}),
	} {
		for _, c := range [][3]string{
			{http.MethodGet, members}, {http.MethodPost, members, `{"email":"x@example.com","role":"owner"}`}, {http.MethodPatch, members + "/" + viewer.UserID, `{"role":"owner"}`},
			{http.MethodDelete, members + "/" + viewer.UserID}, {http.MethodDelete, "/api/v1/sites/blog/invitations/aaaaaaaaaaaaaaaa"},
		} {
			if status, body := who.Do(c[0], c[1], c[2]); status != http.StatusForbidden {
				t.Errorf("%s: %s %s: %d %s", name, c[0], c[1], status, body)
			}
		}
	}
	h.Browser().Want(http.StatusForbidden, "forbidden", http.MethodPost, members, `{"email":"x@example.com","role":"viewer"}`, "Authorization", "Bearer "+write)
	// Owners of a site cannot see members of other sites, nor change a role on all sites.
	owner.Want(http.StatusNotFound, "not_found", http.MethodPatch, members+"/"+viewer.UserID, `{"role":"viewer"}`)
	owner.Want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/sites/other/members", `{"email":"x@example.com","role":"viewer"}`)
	owner.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodPost, members, `{"email":"x@example.com","role":"king"}`)
	owner.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodPost, members, `{"email":"nobody","role":"viewer"}`)
	if me := owner.Want(http.StatusOK, `"allSites":true`, http.MethodGet, members, ""); strings.Contains(me, "v@example.com") {
		t.Error(me)
	}
	h.Browser().Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/sites/*/members", "", "Authorization", "Bearer "+write)
	all.Want(http.StatusNotFound, "not_found", http.MethodPost, "/api/v1/sites/*/members", `{"email":"viewer@example.com","role":"owner"}`)
	all.Want(http.StatusNotFound, "not_found", http.MethodPost, "/api/v1/sites/nothing/members", `{"email":"viewer@example.com","role":"owner"}`)
}

func TestInvitationsEnd(t *testing.T) {
	h := servertest.New(t, nil)
	owner := h.NewPerson("owner@example.com", accounts.Grants{"blog": accounts.Owner})
	gone := func(token string) {
		t.Helper()
		h.Browser().Want(http.StatusNotFound, "not_found", http.MethodPost, "/api/v1/invitations/accept", `{"token":"`+token+`","password":"`+servertest.Password+`"}`)
	}
	first := invite(t, owner, "bob@example.com", "owner")
	second := invite(t, owner, "bob@example.com", "viewer")
	gone(first) // replaced
	var list struct{ Invitations []struct{ ID, Role string } }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(http.StatusOK, "", http.MethodGet, members, "")), &list))
	if len(list.Invitations) != 1 || list.Invitations[0].Role != "viewer" {
		t.Fatalf("%+v", list)
	}
	owner.Want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/sites/blog/invitations/"+list.Invitations[0].ID, "")
	gone(second)
	third := invite(t, owner, "bob@example.com", "viewer")
	h.NewPerson("bob@example.com", nil)
	h.Browser().Want(http.StatusConflict, "email_taken", http.MethodPost, "/api/v1/invitations/accept", `{"token":"`+third+`","password":"`+servertest.Password+`"}`)
	fourth := invite(t, owner, "eve@example.com", "viewer")
	_, err := analytics.Sites.Modify(t.Context(), h.Table, analytics.SiteKey{SiteID: "blog"}, func(s *analytics.Site) error {
		s.DeletedAt = time.Now() // like a deletion that was interrupted before it reached invitations
		return nil
	})
	servertest.Must(t, err)
	gone(fourth)
	for _, bad := range []string{"", "ofi_", "ofi_aaaaaaaaaaaaaaaa_x", strings.Repeat("x", 100), "a#b"} {
		gone(bad)
	}
}

// Keys and roles are granted for fleets as for sites, by those who may.
func TestKeysOfFleets(t *testing.T) {
	h := servertest.New(t, nil)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.Want(http.StatusCreated, `"id":"plant"`, http.MethodPost, "/api/v1/fleets", `{"id":"plant"}`)
	admin := h.NewPerson("admin@example.com", accounts.Grants{accounts.OfFleet("plant"): accounts.Admin})
	admin.Want(http.StatusCreated, "ofk_", http.MethodPost, "/api/v1/keys", `{"site":"fleet:plant","scope":"ingest"}`)
	admin.Want(http.StatusOK, `"site":"fleet:plant"`, http.MethodGet, "/api/v1/keys", "")
	admin.Want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/keys", `{"site":"blog","scope":"ingest"}`)
	owner.Want(http.StatusUnprocessableEntity, "unknown_fleet", http.MethodPost, "/api/v1/keys", `{"site":"fleet:none","scope":"ingest"}`)
	owner.Want(http.StatusUnprocessableEntity, "unknown_fleet", http.MethodPost, "/api/v1/keys", `{"site":"fleet:a#b","scope":"ingest"}`)
	owner.Want(http.StatusCreated, `"fleet:plant":"viewer"`, http.MethodPost, "/api/v1/users", `{"email":"v@example.com","password":"`+servertest.Password+`","roles":{"fleet:plant":"viewer"}}`)
}

// Roles on a fleet are granted like those on a site, and the two share nothing.
func TestAnOwnerInvitesToTheirFleet(t *testing.T) {
	const people = "/api/v1/fleets/blog/members" // there is a site with this name, too
	h := servertest.New(t, nil)
	all := h.NewPerson("all@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	all.Want(http.StatusCreated, "", http.MethodPost, "/api/v1/fleets", `{"id":"blog"}`)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.OfFleet("blog"): accounts.Owner})
	owner.Want(http.StatusOK, `"sites":[],"fleets":[{"id":"blog","role":"owner"}]`, http.MethodGet, "/api/v1/me", "")
	h.NewPerson("site@example.com", accounts.Grants{"blog": accounts.Owner}).Want(http.StatusForbidden, "forbidden", http.MethodGet, people, "")
	owner.Want(http.StatusForbidden, "forbidden", http.MethodGet, members, "")

	var made struct{ Invitation struct{ ID, Token string } }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(http.StatusCreated, `"token":"ofi_`, http.MethodPost, people, `{"email":"bob@example.com","role":"admin"}`)), &made))
	bob := h.Browser()
	bob.Want(http.StatusOK, `"fleet":"blog"`, http.MethodPost, "/api/v1/invitations/open", `{"token":"`+made.Invitation.Token+`"}`)
	join := `{"token":"` + made.Invitation.Token + `","password":"` + servertest.Password + `"}`
	bob.Learn(bob.Want(http.StatusOK, `"fleets":[{"id":"blog","role":"admin"}]`, http.MethodPost, "/api/v1/invitations/accept", join))
	bob.Want(http.StatusCreated, "", http.MethodPost, "/api/v1/fleets/blog/devices", `{"id":"d1"}`)
	bob.Want(http.StatusForbidden, "forbidden", http.MethodGet, people, "")
	bob.Want(http.StatusForbidden, "forbidden", http.MethodGet, members, "")

	var list struct{ Members []struct{ ID, Email string } }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(http.StatusOK, `"invitations":[]`, http.MethodGet, people, "")), &list))
	if len(list.Members) != 3 || list.Members[1].Email != "bob@example.com" {
		t.Fatalf("%+v", list)
	}
	one := people + "/" + list.Members[1].ID
	owner.Want(http.StatusConflict, "another role on the fleet", http.MethodPost, people, `{"email":"bob@example.com","role":"viewer"}`)
	owner.Want(http.StatusOK, `"role":"viewer"`, http.MethodPatch, one, `{"role":"viewer"}`)
	bob.Want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/fleets/blog/devices", `{"id":"d2"}`)
	owner.Want(http.StatusNoContent, "", http.MethodDelete, one, "")
	bob.Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/fleets/blog", "")

	open := owner.Want(http.StatusCreated, `"token":"ofi_`, http.MethodPost, people, `{"email":"eve@example.com","role":"viewer"}`)
	servertest.Must(t, json.Unmarshal([]byte(open), &made))
	owner.Want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/fleets/blog/invitations/"+made.Invitation.ID, "")
	owner.Want(http.StatusNotFound, "no such fleet", http.MethodDelete, "/api/v1/fleets/blog/invitations/"+made.Invitation.ID, "")
	all.Want(http.StatusNotFound, "no such fleet", http.MethodPost, "/api/v1/fleets/none/members", `{"email":"x@example.com","role":"viewer"}`)
	all.Want(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/fleets/"+strings.Repeat("x", 4000)+"/members", "")

	open = owner.Want(http.StatusCreated, `"token":"ofi_`, http.MethodPost, people, `{"email":"eve@example.com","role":"viewer"}`)
	servertest.Must(t, json.Unmarshal([]byte(open), &made))
	owner.Want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/fleets/blog", "")
	h.Browser().Want(http.StatusNotFound, "not_found", http.MethodPost, "/api/v1/invitations/open", `{"token":"`+made.Invitation.Token+`"}`)
	if trail := all.Want(http.StatusOK, "member.invite", http.MethodGet, "/api/v1/audit", ""); !strings.Contains(trail, `"site":"fleet:blog"`) {
		t.Error(trail)
	}
}

// The places of fleets and the event store are not sites: their members and everything else are
// reached only by their own routes.
func TestFleetsAreNotSites(t *testing.T) {
	h := servertest.New(t, nil)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	for _, place := range []string{accounts.OfFleet("fa"), accounts.EventStore} {
		for _, rest := range []string{"", "/members", "/stats", "/goals"} {
			owner.Want(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/sites/"+place+rest, "")
		}
		owner.Want(http.StatusNotFound, "not_found", http.MethodPost, "/api/v1/sites/"+place+"/members", `{"email":"bob@example.com","role":"viewer"}`)
		owner.Want(http.StatusNotFound, "not_found", http.MethodPost, "/api/v1/sites/"+place+"/erasure", `{"user":"u"}`)
	}
}
