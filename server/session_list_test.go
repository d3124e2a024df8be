package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

type sessionOfList struct {
	ID, Browser, System, Method string
	Current                     bool
}

func sessionsOf(p *servertest.Person) []sessionOfList {
	p.Helper()
	answer := p.Want(http.StatusOK, "", http.MethodGet, "/api/v1/me/sessions", "")
	var body struct{ Sessions []sessionOfList }
	servertest.Must(p.T, json.Unmarshal([]byte(answer), &body))
	return body.Sessions
}

func TestPeopleEndTheirSessions(t *testing.T) {
	h := servertest.New(t, nil)
	here := h.NewPerson("ann@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	browser := func() *servertest.Person {
		there := h.Browser()
		there.Learn(there.Want(http.StatusOK, "csrf", http.MethodPost, "/api/v1/login", `{"email":"ann@example.com","password":"`+servertest.Password+`"}`, "User-Agent", servertest.Firefox))
		return there
	}
	there, elsewhere := browser(), browser()
	other := h.NewPerson("bob@example.com", nil)
	var theirs string
	for _, s := range sessionsOf(there) {
		if s.Current {
			theirs = s.ID
			if s.Browser != "Firefox 138" || s.System != "Linux" || s.Method != "password" {
				t.Errorf("%+v", s)
			}
		}
	}
	if theirs == "" || len(sessionsOf(here)) != 3 || len(sessionsOf(other)) != 1 {
		t.Fatalf("%q of %+v", theirs, sessionsOf(here))
	}
	other.Want(http.StatusNotFound, "not_found", http.MethodDelete, "/api/v1/me/sessions/"+theirs, "")
	here.Want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/me/sessions/"+theirs, "")
	here.Want(http.StatusNotFound, "not_found", http.MethodDelete, "/api/v1/me/sessions/"+theirs, "")
	there.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/me", "")
	elsewhere.Want(http.StatusOK, "", http.MethodGet, "/api/v1/me", "")
	here.Learn(here.Want(http.StatusOK, "csrf", http.MethodDelete, "/api/v1/me/sessions", ""))
	elsewhere.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/me", "")
	if left := sessionsOf(here); len(left) != 1 || !left[0].Current {
		t.Errorf("left are %+v", left)
	}
	trail := here.Want(http.StatusOK, "session.end_others", http.MethodGet, "/api/v1/audit", "")
	if !strings.Contains(trail, `"session.end"`) {
		t.Errorf("the record does not tell of the ended session: %s", trail)
	}
}
