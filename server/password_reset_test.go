package server_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// idOf returns the ID of a person's user.
func idOf(who *servertest.Person) string {
	who.Helper()
	var me struct{ User struct{ ID string } }
	servertest.Must(who.T, json.Unmarshal([]byte(who.Want(http.StatusOK, "", http.MethodGet, "/api/v1/me", "")), &me))
	return me.User.ID
}

const another = "another good password"

func resetWith(token string) string { return `{"token":"` + token + `","password":"` + another + `"}` }

// resetLink creates a link for a user, and returns its token.
func resetLink(owner *servertest.Person, user string) string {
	owner.Helper()
	var link struct{ Token string }
	servertest.Must(owner.T, json.Unmarshal([]byte(owner.Want(http.StatusCreated, `"expires"`, http.MethodPost, "/api/v1/users/"+user+"/reset-link", "")), &link))
	return link.Token
}

// An owner gives a link to a person who forgot the password. It works once, for a day.
func TestOwnersCreateResetLinks(t *testing.T) {
	h, _, pass := lateServer(t, nil)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	ann := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Owner})
	annID := idOf(ann)
	ann.Want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/users/"+idOf(owner)+"/reset-link", "")
	owner.Want(http.StatusNotFound, "not_found", http.MethodPost, "/api/v1/users/aaaaaaaaaaaaaaaa/reset-link", "")

	replaced, token := resetLink(owner, annID), resetLink(owner, annID)
	guest := h.Browser()
	for _, wrong := range []string{replaced, token + "x", "ofr_aaaaaaaaaaaaaaaa_" + strings.Repeat("a", 43), "", "ofr_#"} {
		guest.Want(http.StatusNotFound, "no longer valid", http.MethodPost, "/api/v1/password/reset", resetWith(wrong))
		pass(time.Minute)
	}
	guest.Want(http.StatusOK, `"email":"ann@example.com"`, http.MethodPost, "/api/v1/password/open", `{"token":"`+token+`"}`)
	guest.Want(http.StatusUnprocessableEntity, "at least 10", http.MethodPost, "/api/v1/password/reset", `{"token":"`+token+`","password":"short"}`)
	guest.Want(http.StatusNoContent, "", http.MethodPost, "/api/v1/password/reset", resetWith(token))
	ann.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/me", "") // the sessions are over
	guest.Want(http.StatusUnauthorized, "bad_login", http.MethodPost, "/api/v1/login", login("ann@example.com"))
	guest.Want(http.StatusOK, "csrf", http.MethodPost, "/api/v1/login", `{"email":"ann@example.com","password":"`+another+`"}`)
	guest.Want(http.StatusNotFound, "no longer valid", http.MethodPost, "/api/v1/password/reset", resetWith(token))

	late := resetLink(owner, annID)
	pass(24*time.Hour + time.Second)
	guest.Want(http.StatusNotFound, "no longer valid", http.MethodPost, "/api/v1/password/open", `{"token":"`+late+`"}`)
	ofDisabled := resetLink(owner, annID)
	owner.Want(http.StatusOK, "", http.MethodPatch, "/api/v1/users/"+annID, `{"disabled":true}`)
	guest.Want(http.StatusNotFound, "no longer valid", http.MethodPost, "/api/v1/password/reset", resetWith(ofDisabled))
	owner.Want(http.StatusUnprocessableEntity, "disabled", http.MethodPost, "/api/v1/users/"+annID+"/reset-link", "")
	trail := owner.Want(http.StatusOK, "user.reset_password", http.MethodGet, "/api/v1/audit", "")
	if strings.Count(trail, "user.reset_link") != 4 || strings.Contains(trail, "ofr_") {
		t.Error(trail)
	}
	users := owner.Want(http.StatusOK, "ann@example.com", http.MethodGet, "/api/v1/users", "")
	if strings.Contains(users, "reset") {
		t.Error(users)
	}
}

// Of many concurrent uses of a link, one succeeds.
func TestAResetLinkWorksOnce(t *testing.T) {
	h := servertest.New(t, nil)
	ann := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	_, token, err := h.Accounts.NewReset(t.Context(), idOf(ann), accounts.ResetByHand)
	servertest.Must(t, err)
	var worked atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := h.Accounts.ResetPassword(t.Context(), token, another); err == nil {
				worked.Add(1)
			}
		})
	}
	all.Wait()
	if worked.Load() != 1 {
		t.Errorf("the link worked %d times", worked.Load())
	}
}

// A person who forgot the password gets a link by mail. The response is the same for addresses
// without an account, and attempts are limited.
func TestForgottenPassword(t *testing.T) {
	mail := make(post, 10)
	h, _, pass := lateServer(t, mail.options)
	ann := h.NewPerson("ann@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	<-mail // of the first login
	guest := h.Browser()
	guest.Want(http.StatusOK, `"mail":true`, http.MethodGet, "/api/v1/setup", "")
	_, err := h.Accounts.AddUser(t.Context(), accounts.NewUser{Email: "cid@example.com", Password: servertest.Password})
	servertest.Must(t, err)
	for _, address := range []string{"nobody@example.com", "not an address", "ann@example.com", "ann@example.com", "cid@example.com"} { // of two letters in ten minutes, one is sent
		guest.Want(http.StatusAccepted, "", http.MethodPost, "/api/v1/password/forgotten", `{"email":"`+address+`"}`)
	}
	l := <-mail
	token := regexp.MustCompile(`ofr_\w+[\w-]+`).FindString(l.Text)
	if l.To != "ann@example.com" || !strings.Contains(l.Text, home+"/reset#"+token) {
		t.Fatalf("%+v", l)
	}
	if l := <-mail; l.To != "cid@example.com" {
		t.Fatalf("%+v", l)
	}
	for range 20 {
		guest.Do(http.MethodPost, "/api/v1/password/forgotten", `{"email":"bob@example.com"}`)
	}
	guest.Want(http.StatusTooManyRequests, "too_many_attempts", http.MethodPost, "/api/v1/password/forgotten", `{"email":"bob@example.com"}`)
	pass(time.Hour - time.Minute)
	guest.Want(http.StatusNoContent, "", http.MethodPost, "/api/v1/password/reset", resetWith(token))
	if l := <-mail; l.Subject != "New password of your onefold account" {
		t.Errorf("%+v", l)
	}
	ann.Learn(ann.Want(http.StatusOK, "csrf", http.MethodPost, "/api/v1/login", `{"email":"ann@example.com","password":"`+another+`"}`))
	ann.Want(http.StatusOK, "user.reset_link", http.MethodGet, "/api/v1/audit", "")
}

func TestWithoutMailThereAreNoMailedLinks(t *testing.T) {
	h := servertest.New(t, nil)
	h.Browser().Want(http.StatusOK, `"mail":false`, http.MethodGet, "/api/v1/setup", "")
	h.Browser().Want(http.StatusConflict, "no_mail", http.MethodPost, "/api/v1/password/forgotten", `{"email":"ann@example.com"}`)
}

// A password that an owner chose must be changed before anything else.
func TestTemporaryPasswordsMustBeChanged(t *testing.T) {
	h := servertest.New(t, nil)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	var made struct{ ID string }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(http.StatusCreated, "ann", http.MethodPost, "/api/v1/users", `{"email":"ann@example.com","password":"`+servertest.Password+`","roles":{"blog":"owner"}}`)), &made))
	ann := h.Browser()
	ann.Learn(ann.Want(http.StatusOK, `"mustChangePassword":true`, http.MethodPost, "/api/v1/login", login("ann@example.com")))
	for _, path := range []string{"/api/v1/sites", "/api/v1/sites/blog/stats", "/api/v1/me/sessions"} {
		ann.Want(http.StatusForbidden, "password_change_required", http.MethodGet, path, "")
	}
	ann.Want(http.StatusForbidden, "password_change_required", http.MethodDelete, "/api/v1/sites/blog", "")
	ann.Want(http.StatusForbidden, "bad_password", http.MethodPatch, "/api/v1/me", `{"currentPassword":"wrong","password":"`+another+`"}`)
	ann.Want(http.StatusOK, `"mustChangePassword":true`, http.MethodGet, "/api/v1/me", "")
	same := `"password":"` + servertest.Password + `"`
	ann.Want(http.StatusUnprocessableEntity, "omebody else chose", http.MethodPatch, "/api/v1/me", `{"currentPassword":"`+servertest.Password+`",`+same+`}`)
	var link struct{ Token string }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(http.StatusCreated, "ofr_", http.MethodPost, "/api/v1/users/"+made.ID+"/reset-link", "")), &link))
	ann.Want(http.StatusUnprocessableEntity, "omebody else chose", http.MethodPost, "/api/v1/password/reset", `{"token":"`+link.Token+`",`+same+`}`)
	me := ann.Want(http.StatusOK, "csrf", http.MethodPatch, "/api/v1/me", `{"currentPassword":"`+servertest.Password+`","password":"`+another+`"}`)
	if ann.Learn(me); strings.Contains(me, "mustChangePassword") {
		t.Error(me)
	}
	ann.Want(http.StatusOK, "blog", http.MethodGet, "/api/v1/sites", "")
	owner.Want(http.StatusOK, "", http.MethodPatch, "/api/v1/users/"+made.ID, `{"password":"`+servertest.Password+`"}`)
	ann.Want(http.StatusOK, `"mustChangePassword":true`, http.MethodPost, "/api/v1/login", login("ann@example.com"))
}
