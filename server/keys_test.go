package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

const (
	keysPath = "/api/v1/keys"
	newKey   = `{"name":"report","site":"blog","scope":"write"}`
)

// A person who is disabled leaves nothing behind that works, neither what they created nor what
// their key created. An owner sees that in advance, and takes over what is still needed.
func TestDisabledPersonLosesAllAccess(t *testing.T) {
	h := servertest.NewWithVisits(t)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	admin := h.NewPerson("admin@example.com", accounts.Grants{"blog": accounts.Admin})
	var key, share struct{ ID, Token, Creator string }
	servertest.Must(t, json.Unmarshal([]byte(admin.Want(http.StatusCreated, `"creator":"`, http.MethodPost, keysPath, newKey)), &key))
	bearer := []string{"Authorization", "Bearer " + key.Token}
	program, guest := h.Browser(), h.Browser()
	servertest.Must(t, json.Unmarshal([]byte(program.Want(http.StatusCreated, "ofs_", http.MethodPost, "/api/v1/sites/blog/shares", `{"name":"by key"}`, bearer...)), &share))
	open := func(status int) { guest.Want(status, "", http.MethodPost, "/api/v1/shared/"+share.Token, `{}`) }
	open(http.StatusOK)
	guest.Want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/stats", "")

	one := "/api/v1/users/" + key.Creator
	made := owner.Want(http.StatusOK, key.ID, http.MethodGet, one+"/made", "")
	if !strings.Contains(made, share.ID) || strings.Contains(made, "ofk_") {
		t.Error(made)
	}
	admin.Want(http.StatusForbidden, "", http.MethodGet, one+"/made", "")
	owner.Want(http.StatusNotFound, "", http.MethodGet, "/api/v1/users/aaaaaaaaaaaaaaaa/made", "")

	owner.Want(http.StatusOK, `"disabled":true`, http.MethodPatch, one, `{"disabled":true}`)
	program.Want(http.StatusUnauthorized, "", http.MethodPatch, "/api/v1/sites/blog", `{"name":"still here"}`, bearer...)
	open(http.StatusNotFound)
	guest.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
	owner.Want(http.StatusOK, `"refused":true`, http.MethodGet, keysPath, "")

	var rotated struct{ Token, FormerUntil string }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(http.StatusOK, "ofk_", http.MethodPost, keysPath+"/"+key.ID+"/rotation", `{}`)), &rotated))
	program.Want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/goals", "", "Authorization", "Bearer "+rotated.Token)
	program.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/sites/blog/goals", "", bearer...)
	if list := owner.Want(http.StatusOK, key.ID, http.MethodGet, keysPath, ""); strings.Contains(list, "refused") || strings.Contains(list, "ofk_") {
		t.Error(list)
	}
	owner.Want(http.StatusOK, "key.rotate", http.MethodGet, "/api/v1/audit", "")
}

func TestRotateKey(t *testing.T) {
	h := servertest.New(t, nil)
	admin := h.NewPerson("admin@example.com", accounts.Grants{"blog": accounts.Admin})
	other := h.NewPerson("other@example.com", accounts.Grants{"shop": accounts.Owner})
	var key, rotated struct{ ID, Token, FormerUntil string }
	servertest.Must(t, json.Unmarshal([]byte(admin.Want(http.StatusCreated, "", http.MethodPost, keysPath, newKey)), &key))
	rotation := keysPath + "/" + key.ID + "/rotation"
	other.Want(http.StatusForbidden, "", http.MethodPost, rotation, `{}`)
	h.Browser().Want(http.StatusUnauthorized, "", http.MethodPost, rotation, `{}`)
	admin.Want(http.StatusUnprocessableEntity, "", http.MethodPost, rotation, `{"overlapHours":169}`)
	admin.Want(http.StatusNotFound, "", http.MethodPost, keysPath+"/nothing/rotation", `{}`)
	servertest.Must(t, json.Unmarshal([]byte(admin.Want(http.StatusOK, "formerUntil", http.MethodPost, rotation, `{}`)), &rotated))
	uses := func(status int, token string) {
		t.Helper()
		h.Browser().Want(status, "", http.MethodGet, "/api/v1/sites/blog/goals", "", "Authorization", "Bearer "+token)
	}
	uses(http.StatusOK, key.Token) // a day of overlap
	uses(http.StatusOK, rotated.Token)
	admin.Want(http.StatusOK, "ofk_", http.MethodPost, rotation, `{"overlapHours":0}`)
	uses(http.StatusUnauthorized, key.Token)
	uses(http.StatusUnauthorized, rotated.Token)
	admin.Want(http.StatusUnprocessableEntity, "future", http.MethodPost, keysPath, `{"site":"blog","scope":"read","expires":"2020-01-01T00:00:00Z"}`)
	admin.Want(http.StatusCreated, `"expires":"2999-01-01T00:00:00Z"`, http.MethodPost, keysPath, `{"site":"blog","scope":"read","expires":"2999-01-01T00:00:00Z"}`)
}
