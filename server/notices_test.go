package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/accounts/passkey/passkeytest"
	"github.com/onefold/onefold/server/servertest"
)

// post is where mail about accounts arrives.
type post chan server.Letter

func (p post) options(o *server.Options) {
	o.PublicURL = home
	o.Mail = func(_ context.Context, l server.Letter) error {
		p <- l
		return nil
	}
}

// want waits for the next letter.
func (p post) want(t *testing.T, subject string, says ...string) {
	t.Helper()
	select {
	case l := <-p:
		if l.Subject != subject || l.To != "ann@example.com" || l.ID == "" || l.Date.IsZero() || !strings.Contains(l.Text, home+"/account/security") {
			t.Errorf("%+v, want %q", l, subject)
		}
		for _, text := range says {
			if !strings.Contains(l.Text, text) {
				t.Errorf("%q lacks %q", l.Text, text)
			}
		}
	case <-t.Context().Done():
		t.Fatalf("no letter %q", subject)
	}
}

func TestAccountNotices(t *testing.T) {
	mail := make(post, 10)
	h, now, pass := lateServer(t, mail.options)
	ann := h.NewPerson("ann@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	mail.want(t, "New login to onefold", "an unknown browser")
	ann.Want(http.StatusOK, "", http.MethodPost, "/api/v1/login", login("ann@example.com")) // it is known now
	there := h.Browser()
	there.Want(http.StatusOK, "", http.MethodPost, "/api/v1/login", login("ann@example.com"), "User-Agent", servertest.Firefox)
	mail.want(t, "New login to onefold", "Firefox 138 on Linux", "If it was not you, change your password")
	ann = there
	ann.Learn(ann.Want(http.StatusOK, "csrf", http.MethodGet, "/api/v1/me", ""))
	_, recovery := enrol(ann, now)
	mail.want(t, "Authenticator app added to your onefold account")
	pass(time.Minute)
	a := &passkeytest.Authenticator{Origin: home}
	id := newPasskey(ann, a)
	mail.want(t, "Passkey added to your onefold account", `"Laptop"`)
	fresh := h.Browser()
	fresh.Want(http.StatusOK, "", http.MethodPost, "/api/v1/login/passkey", signedIn(fresh, a), "User-Agent", servertest.Firefox)
	mail.want(t, "New login to onefold", "Firefox 138 on Linux")
	ann.Want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/me/passkeys/"+id, "")
	mail.want(t, "Passkey removed from your onefold account")
	ann.Want(http.StatusOK, "", http.MethodPost, "/api/v1/me/second-factor/recovery-codes", `{"code":"`+recovery[0]+`"}`)
	mail.want(t, "Recovery code used for your onefold account")
	mail.want(t, "New recovery codes for your onefold account")
	ann.Want(http.StatusNoContent, "", http.MethodPost, "/api/v1/me/second-factor/remove", proof)
	mail.want(t, "Authenticator app removed from your onefold account")
	ann.Learn(ann.Want(http.StatusOK, "csrf", http.MethodPatch, "/api/v1/me", `{"currentPassword":"`+servertest.Password+`","password":"another good one"}`))
	mail.want(t, "New password of your onefold account")
	if len(mail) > 0 {
		t.Errorf("one letter more: %+v", <-mail)
	}
}

// TestLimitedAttemptsAreMailedOnceADay guesses for two days. For an unknown address, no mail is sent.
func TestLimitedAttemptsAreMailedOnceADay(t *testing.T) {
	mail := make(post, 100)
	h, now, pass := lateServer(t, mail.options)
	ann, thief := h.NewPerson("ann@example.com", nil), h.Browser()
	mail.want(t, "New login to onefold")
	enrol(ann, now)
	mail.want(t, "Authenticator app added to your onefold account")
	guess := func(email string) {
		for range 8 {
			thief.Do(http.MethodPost, "/api/v1/login", `{"email":"`+email+`","password":"guessed"}`)
		}
	}
	for range 2 {
		for range 3 {
			guess("nobody@example.com")
			guess("ann@example.com")
			pass(2 * time.Hour)
		}
		mail.want(t, "Wrong passwords for your onefold account", "Passkeys, and browsers", "nobody has logged in")
		for range 6 {
			thief.Do(http.MethodPost, "/api/v1/login/code", second(challenge(thief, "ann@example.com"), "000000"))
		}
		mail.want(t, "Wrong codes for your onefold account", "someone else knows your password", "change your password")
		pass(24 * time.Hour)
	}
	h.Server.Close() // nothing is sent after it
	if len(mail) > 0 {
		t.Errorf("one letter more: %+v", <-mail)
	}
}

// Mail that cannot be sent does not block logins, nor the server from stopping.
func TestMailServersFail(t *testing.T) {
	tried := make(chan struct{}, 10)
	h := servertest.New(t, func(o *server.Options) {
		o.Mail = func(context.Context, server.Letter) error {
			tried <- struct{}{}
			return errors.New("the mail server is away")
		}
	})
	ann := h.NewPerson("ann@example.com", nil)
	<-tried
	for range 150 { // more than can wait
		h.Browser().Do(http.MethodPost, "/api/v1/login", login("ann@example.com"))
	}
	ann.Want(http.StatusOK, "ann@example.com", http.MethodPost, "/api/v1/login", login("ann@example.com"))
}
