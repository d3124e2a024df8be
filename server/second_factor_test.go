package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// lateServer is a server with a clock that the test moves.
func lateServer(t *testing.T, change func(*server.Options)) (h *servertest.Server, now func() time.Time, pass func(time.Duration)) {
	t.Helper()
	var passed atomic.Int64
	began := time.Now()
	now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
	db, err := engine.OpenMemory(engine.Options{Clock: now})
	servertest.Must(t, err)
	t.Cleanup(func() { servertest.Must(t, db.Close()) })
	return servertest.On(t, clocked{db, now}, change), now, func(d time.Duration) { passed.Add(int64(d)) }
}

type clocked struct {
	*engine.DB
	now func() time.Time
}

func (c clocked) Now() time.Time { return c.now() }

const proof = `{"password":"` + servertest.Password + `"}`

func login(email string) string {
	return `{"email":"` + email + `","password":"` + servertest.Password + `"}`
}

// enrol sets up an authenticator app over the API.
func enrol(p *servertest.Person, now func() time.Time) (secret string, recovery []string) {
	p.Helper()
	var begun struct{ Secret, URI, QR string }
	servertest.Must(p.T, json.Unmarshal([]byte(p.Want(http.StatusOK, "otpauth://totp/", http.MethodPost, "/api/v1/me/second-factor", proof)), &begun))
	if !strings.HasPrefix(begun.QR, "data:image/svg+xml;base64,") {
		p.Errorf("QR %.60s", begun.QR)
	}
	var confirmed struct{ RecoveryCodes []string }
	servertest.Must(p.T, json.Unmarshal([]byte(p.Want(http.StatusOK, "recoveryCodes", http.MethodPost, "/api/v1/me/second-factor/confirm", `{"code":"`+codeAt(p.T, begun.Secret, now())+`"}`)), &confirmed))
	return begun.Secret, confirmed.RecoveryCodes
}

func codeAt(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, at)
	servertest.Must(t, err)
	return code
}

// challenge logs in with the password, and returns the challenge of the second step.
func challenge(p *servertest.Person, email string) string {
	p.Helper()
	var answer struct{ Type, Challenge string }
	servertest.Must(p.T, json.Unmarshal([]byte(p.Want(http.StatusUnauthorized, "urn:onefold:error:second_factor_required", http.MethodPost, "/api/v1/login", login(email))), &answer))
	if answer.Challenge == "" {
		p.Fatal("no challenge")
	}
	return answer.Challenge
}

func second(challenge, code string) string {
	return `{"challenge":"` + challenge + `","code":"` + code + `"}`
}

func TestLoginInTwoSteps(t *testing.T) {
	h, now, pass := lateServer(t, nil)
	ann := h.NewPerson("ann@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	ann.Want(http.StatusForbidden, "bad_password", http.MethodPost, "/api/v1/me/second-factor", `{"password":"guessed at an open screen"}`)
	ann.Want(http.StatusForbidden, "bad_code", http.MethodPost, "/api/v1/me/second-factor", `{"code":"123456"}`)
	secret, recovery := enrol(ann, now)
	ann.Want(http.StatusConflict, "second_factor_exists", http.MethodPost, "/api/v1/me/second-factor", proof)
	ann.Want(http.StatusOK, `"recoveryCodes":10`, http.MethodGet, "/api/v1/me/second-factor", "")

	there := h.Browser()
	token := challenge(there, "ann@example.com")
	if cookies := there.Web.Jar.Cookies(mustURL(t, h.URL)); len(cookies) != 0 {
		t.Errorf("cookies after the first step: %v", cookies)
	}
	for _, header := range [][]string{{"Authorization", "Bearer " + token}, {"Cookie", "onefold_session=" + token}, {"Cookie", "onefold_share=" + token}} {
		there.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/me", "", header...)
	}
	there.Want(http.StatusUnauthorized, "bad_code", http.MethodPost, "/api/v1/login/code", second(token, codeAt(t, secret, now()))) // it confirmed the app
	there.Want(http.StatusUnauthorized, "challenge_expired", http.MethodPost, "/api/v1/login/code", second("guessed", recovery[0]))
	pass(time.Minute)
	there.Learn(there.Want(http.StatusOK, "ann@example.com", http.MethodPost, "/api/v1/login/code", second(token, codeAt(t, secret, now()))))
	there.Want(http.StatusOK, "ann@example.com", http.MethodGet, "/api/v1/me", "")
	h.Browser().Want(http.StatusUnauthorized, "challenge_expired", http.MethodPost, "/api/v1/login/code", second(token, recovery[0]))

	lost := h.Browser()
	lost.Learn(lost.Want(http.StatusOK, "ann@example.com", http.MethodPost, "/api/v1/login/code", second(challenge(lost, "ann@example.com"), recovery[0])))
	if s := sessionsOf(lost); s[0].Method != "recovery_code" && s[1].Method != "recovery_code" {
		t.Errorf("sessions %+v", s)
	}
	lost.Want(http.StatusOK, `"recoveryCodes":9`, http.MethodGet, "/api/v1/me/second-factor", "")
	lost.Want(http.StatusForbidden, "bad_code", http.MethodPost, "/api/v1/me/second-factor/remove", `{"code":"`+recovery[0]+`"}`)
	lost.Want(http.StatusNoContent, "", http.MethodPost, "/api/v1/me/second-factor/remove", `{"code":"`+recovery[1]+`"}`)
	h.Browser().Want(http.StatusOK, "ann@example.com", http.MethodPost, "/api/v1/login", login("ann@example.com"))
	trail := lost.Want(http.StatusOK, "user.second_factor_remove", http.MethodGet, "/api/v1/audit", "")
	for _, action := range []string{"user.second_factor", "user.recovery_code", "session.refuse", "session.login"} {
		if !strings.Contains(trail, `"`+action+`"`) {
			t.Errorf("the record lacks %s", action)
		}
	}
}

// A new password begins a session without a code only where it was set.
func TestNewPasswordStillNeedsCode(t *testing.T) {
	h, now, _ := lateServer(t, nil)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	ann := h.NewPerson("ann@example.com", nil)
	enrol(ann, now)
	ann.Learn(ann.Want(http.StatusOK, "ann@example.com", http.MethodPatch, "/api/v1/me", `{"currentPassword":"`+servertest.Password+`","password":"another good one"}`))
	ann.Want(http.StatusOK, "ann@example.com", http.MethodGet, "/api/v1/me", "")
	u, err := h.Accounts.UserByEmail(t.Context(), "ann@example.com")
	servertest.Must(t, err)
	owner.Want(http.StatusOK, "", http.MethodPatch, "/api/v1/users/"+u.UserID, proof)
	challenge(h.Browser(), "ann@example.com")
}

// TestCodeAttemptsAreLimited guesses codes with the correct password; knowing only the address slows
// nobody down.
func TestCodeAttemptsAreLimited(t *testing.T) {
	h, now, pass := lateServer(t, nil)
	ann, thief, stranger := h.NewPerson("ann@example.com", nil), h.Browser(), h.Browser()
	secret, _ := enrol(ann, now)
	pass(time.Minute)
	for range 5 {
		thief.Want(http.StatusUnauthorized, "bad_code", http.MethodPost, "/api/v1/login/code", second(challenge(thief, "ann@example.com"), "000000"))
	}
	thief.Want(http.StatusTooManyRequests, "too_many_attempts", http.MethodPost, "/api/v1/login/code", second(challenge(thief, "ann@example.com"), "000000"))
	for i := range 40 { // until their common network has to wait, too
		stranger.Do(http.MethodPost, "/api/v1/login", `{"email":"ann@example.com","password":"guessed"}`)
		stranger.Do(http.MethodPost, "/api/v1/login", fmt.Sprintf(`{"email":"p%d@example.com","password":"guessed"}`, i))
	}
	stranger.Want(http.StatusTooManyRequests, "too_many_attempts", http.MethodPost, "/api/v1/login", login("fresh@example.com"))
	ann.Want(http.StatusNoContent, "", http.MethodPost, "/api/v1/logout", "")
	ann.CSRF = ""
	ann.Learn(ann.Want(http.StatusOK, "ann@example.com", http.MethodPost, "/api/v1/login/code", second(challenge(ann, "ann@example.com"), codeAt(t, secret, now()))))
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	servertest.Must(t, err)
	return u
}
