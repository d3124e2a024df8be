package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/accounts/passkey/passkeytest"
	"github.com/onefold/onefold/server/servertest"
)

const home = "https://onefold.example.com"

func atHome(o *server.Options) { o.PublicURL = home }

// publicKey returns the options that a browser gets.
func publicKey(p *servertest.Person, answer string) []byte {
	p.Helper()
	var options struct{ PublicKey json.RawMessage }
	servertest.Must(p.T, json.Unmarshal([]byte(answer), &options))
	return options.PublicKey
}

func newPasskey(p *servertest.Person, a *passkeytest.Authenticator) string {
	p.Helper()
	credential, err := a.Create(publicKey(p, p.Want(http.StatusOK, "challenge", http.MethodPost, "/api/v1/me/passkeys/options", proof)))
	servertest.Must(p.T, err)
	var made struct{ ID string }
	servertest.Must(p.T, json.Unmarshal([]byte(p.Want(http.StatusCreated, `"name":"Laptop"`, http.MethodPost, "/api/v1/me/passkeys", `{"name":"Laptop","credential":`+string(credential)+`}`)), &made))
	return made.ID
}

func signedIn(p *servertest.Person, a *passkeytest.Authenticator) string {
	p.Helper()
	credential, err := a.Get(publicKey(p, p.Want(http.StatusOK, "challenge", http.MethodPost, "/api/v1/login/passkey/options", "")))
	servertest.Must(p.T, err)
	return `{"credential":` + string(credential) + `}`
}

func TestPasskeys(t *testing.T) {
	h, now, pass := lateServer(t, atHome)
	ann := h.NewPerson("ann@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	enrol(ann, now)
	pass(time.Minute)
	a := &passkeytest.Authenticator{Origin: home, Counter: 1}
	ann.Want(http.StatusForbidden, "bad_password", http.MethodPost, "/api/v1/me/passkeys/options", `{"password":"guessed at an open screen"}`)
	ann.Want(http.StatusForbidden, "bad_passkey", http.MethodPost, "/api/v1/me/passkeys", `{"name":"x","credential":{}}`)
	id := newPasskey(ann, a)
	ann.Want(http.StatusOK, `"name":"Phone"`, http.MethodPatch, "/api/v1/me/passkeys/"+id, `{"name":"Phone"}`)
	copied := *a

	there := h.Browser()
	answer := signedIn(there, a)
	there.Learn(there.Want(http.StatusOK, "ann@example.com", http.MethodPost, "/api/v1/login/passkey", answer)) // no code is required
	there.Want(http.StatusUnauthorized, "bad_passkey", http.MethodPost, "/api/v1/login/passkey", answer)
	for _, s := range sessionsOf(there) {
		if s.Current && s.Method != "passkey" {
			t.Errorf("%+v", s)
		}
	}
	there.Want(http.StatusOK, `"available":true,"passkeys":[{"id":"`+id, http.MethodGet, "/api/v1/me/passkeys", "")
	h.Browser().Want(http.StatusUnauthorized, "passkey_copied", http.MethodPost, "/api/v1/login/passkey", signedIn(there, &copied))
	there.Want(http.StatusOK, `"refused":true`, http.MethodGet, "/api/v1/me/passkeys", "")
	there.Want(http.StatusOK, `"name":"the old phone"`, http.MethodPatch, "/api/v1/me/passkeys/"+id, `{"name":"the old phone"}`)
	bob := h.NewPerson("bob@example.com", nil)
	bob.Want(http.StatusNotFound, "not_found", http.MethodDelete, "/api/v1/me/passkeys/"+id, "")
	there.Want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/me/passkeys/"+id, "")
	h.Browser().Want(http.StatusUnauthorized, "bad_passkey", http.MethodPost, "/api/v1/login/passkey", signedIn(there, a))
	trail := ann.Want(http.StatusOK, "user.passkey_remove", http.MethodGet, "/api/v1/audit", "")
	for _, action := range []string{"user.passkey", "user.passkey_rename", "user.passkey_copied", "session.login"} {
		if !strings.Contains(trail, `"`+action+`"`) {
			t.Errorf("the record lacks %s", action)
		}
	}
}

func TestPasskeysNeedAPublicURL(t *testing.T) {
	h := servertest.New(t, nil)
	ann := h.NewPerson("ann@example.com", nil)
	ann.Want(http.StatusOK, `"available":false,"passkeys":[]`, http.MethodGet, "/api/v1/me/passkeys", "")
	ann.Want(http.StatusConflict, "no_public_url", http.MethodPost, "/api/v1/me/passkeys/options", proof)
	h.Browser().Want(http.StatusConflict, "--public-url", http.MethodPost, "/api/v1/login/passkey/options", "")
	h.Browser().Want(http.StatusOK, `"passkeys":false`, http.MethodGet, "/api/v1/setup", "")
	if _, err := server.New(server.Options{Table: h.Table, Worker: h.Worker, PublicURL: "http://192.0.2.1"}); err == nil || !strings.Contains(err.Error(), "https://") {
		t.Errorf("a public URL without TLS: %v", err)
	}
}

// An owner with an unknown browser can log in with a passkey, while somebody guesses passwords from
// the same network.
func TestGuessingDoesNotLimitPasskeys(t *testing.T) {
	h, _, _ := lateServer(t, atHome)
	ann, eve := h.NewPerson("ann@example.com", nil), h.Browser()
	a := &passkeytest.Authenticator{Origin: home}
	newPasskey(ann, a)
	for i := range 40 {
		eve.Do(http.MethodPost, "/api/v1/login", `{"email":"ann@example.com","password":"guessed"}`)
		eve.Do(http.MethodPost, "/api/v1/login", fmt.Sprintf(`{"email":"p%d@example.com","password":"guessed"}`, i))
	}
	fresh := h.Browser()
	fresh.Want(http.StatusTooManyRequests, "too_many_attempts", http.MethodPost, "/api/v1/login", login("ann@example.com"))
	fresh.Want(http.StatusOK, "ann@example.com", http.MethodPost, "/api/v1/login/passkey", signedIn(fresh, a))
}

func TestPasskeysAreLimitedByNetwork(t *testing.T) {
	h, _, pass := lateServer(t, atHome)
	stranger := h.Browser()
	for range 100 {
		stranger.Want(http.StatusOK, "challenge", http.MethodPost, "/api/v1/login/passkey/options", "")
	}
	stranger.Want(http.StatusTooManyRequests, "rate_limited", http.MethodPost, "/api/v1/login/passkey/options", "")
	pass(time.Second)
	stranger.Want(http.StatusUnauthorized, "bad_passkey", http.MethodPost, "/api/v1/login/passkey", `{"credential":{"id":"x"}}`)
}
