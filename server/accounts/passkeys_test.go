package accounts_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/accounts/passkey"
	"github.com/onefold/onefold/server/accounts/passkey/passkeytest"
	"github.com/onefold/onefold/table"
)

const home = "https://onefold.example.com"

func party(t *testing.T, publicURL string) *passkey.Party {
	t.Helper()
	p, err := passkey.NewParty(publicURL)
	must(t, err)
	return p
}

// asked returns the JSON of options that a browser gets.
func asked(t *testing.T, options any, err error) []byte {
	t.Helper()
	must(t, err)
	text, err := json.Marshal(options)
	must(t, err)
	return text
}

func (w *world) toCreate(p *passkey.Party, userID string) []byte {
	w.Helper()
	options, err := w.BeginPasskey(w.Context(), p, userID)
	return asked(w.T, options, err)
}

func (w *world) toSignIn(p *passkey.Party) []byte {
	w.Helper()
	options, err := w.BeginPasskeyLogIn(w.Context(), p)
	return asked(w.T, options, err)
}

func made(t *testing.T, make func([]byte) ([]byte, error), options []byte) []byte {
	t.Helper()
	answer, err := make(options)
	must(t, err)
	return answer
}

// holder gives a user a passkey.
func (w *world) holder(p *passkey.Party, u *accounts.User, counter uint32) *passkeytest.Authenticator {
	w.Helper()
	a := &passkeytest.Authenticator{Origin: home, Counter: counter}
	_, err := w.AddPasskey(w.Context(), p, u.UserID, "key", made(w.T, a.Create, w.toCreate(p, u.UserID)))
	must(w.T, err)
	return a
}

func (w *world) signIn(p *passkey.Party, answer []byte) error {
	_, login, err := w.LogInWithPasskey(w.Context(), p, answer, accounts.Device{})
	if err == nil {
		_, _, err = w.Resume(w.Context(), login.Token)
	}
	return err
}

func TestParties(t *testing.T) {
	for publicURL, good := range map[string]bool{
		"https://onefold.example.com": true, "https://onefold.example.com/": true, "https://onefold.example.com:8443": true, "http://localhost:8090": true, "http://a.localhost": true,
		"": false, "onefold.example.com": false, "http://onefold.example.com": false, "http://127.0.0.1:8090": false, "https://192.0.2.1": false, "https://[::1]": false,
		"https://onefold.example.com/stats": false, "https://ann@onefold.example.com": false, "https://onefold.example.com?x=1": false, "ftp://localhost": false, "https://": false, "%": false,
	} {
		if _, err := passkey.NewParty(publicURL); (err == nil) != good || !good && !errors.Is(err, passkey.ErrAddress) {
			t.Errorf("%q: %v", publicURL, err)
		}
	}
}

func TestPasskeys(t *testing.T) {
	w, ctx, p := newWorld(t), t.Context(), party(t, home)
	ann, bob := w.user("ann@example.com", nil), w.user("bob@example.com", nil)
	first := w.holder(p, &ann, 0)
	w.pass(time.Hour)
	second := w.holder(p, &ann, 7)
	for _, a := range []*passkeytest.Authenticator{first, second, first, second} {
		must(t, w.signIn(p, made(t, a.Get, w.toSignIn(p))))
	}
	keys, err := w.UserPasskeys(ctx, ann.UserID)
	must(t, err)
	if len(keys) != 2 || !keys[0].Used.Equal(w.now()) || keys[1].Counter != second.Counter || keys[0].Created.Equal(keys[1].Created) {
		t.Fatalf("%+v", keys)
	}
	id := keys[0].PasskeyID
	_, err = w.RenamePasskey(ctx, bob.UserID, id, "mine")
	wantErr(t, "somebody else renames it", err, table.ErrNotFound)
	wantErr(t, "somebody else removes it", w.RemovePasskey(ctx, bob.UserID, id), table.ErrNotFound)
	for _, bad := range []string{"", "  ", strings.Repeat("x", 101), "\xff"} {
		_, err = w.RenamePasskey(ctx, ann.UserID, id, bad)
		wantErr(t, fmt.Sprintf("the name %q", bad), err, accounts.ErrInvalid)
	}
	renamed, err := w.RenamePasskey(ctx, ann.UserID, id, " Laptop ")
	must(t, err)
	if renamed.Name != "Laptop" {
		t.Errorf("%+v", renamed)
	}
	must(t, w.RemovePasskey(ctx, ann.UserID, id))
	wantErr(t, "remove it again", w.RemovePasskey(ctx, ann.UserID, id), table.ErrNotFound)
	wantErr(t, "sign in with one that was removed", w.signIn(p, made(t, first.Get, w.toSignIn(p))), accounts.ErrDenied)
	_, err = w.UpdateUser(ctx, ann.UserID, func(u *accounts.User) { u.Disabled = true })
	must(t, err)
	wantErr(t, "sign in to a disabled account", w.signIn(p, made(t, second.Get, w.toSignIn(p))), accounts.ErrDenied)
	must(t, w.DeleteUser(ctx, ann.UserID))
	if keys, err = w.UserPasskeys(ctx, ann.UserID); err != nil || len(keys) != 0 {
		t.Errorf("passkeys outlive the account: %v %v", keys, err)
	}
}

// TestWhatNoPasskeyMay logs in and adds passkeys in ways that must be rejected.
func TestWhatNoPasskeyMay(t *testing.T) {
	w, p := newWorld(t), party(t, home)
	ann, bob := w.user("ann@example.com", nil), w.user("bob@example.com", nil)
	good := w.holder(p, &ann, 0)
	of := func(change func(*passkeytest.Authenticator)) *passkeytest.Authenticator {
		a := *good
		change(&a)
		return &a
	}
	for name, a := range map[string]*passkeytest.Authenticator{
		"another page":           of(func(a *passkeytest.Authenticator) { a.Origin = "https://evil.example" }),
		"another port":           of(func(a *passkeytest.Authenticator) { a.Origin = home + ":8443" }),
		"another host":           of(func(a *passkeytest.Authenticator) { a.Host = "evil.example" }),
		"nobody verified":        of(func(a *passkeytest.Authenticator) { a.Absent = true }),
		"another account":        of(func(a *passkeytest.Authenticator) { a.Handle = []byte(bob.UserID) }),
		"no account":             of(func(a *passkeytest.Authenticator) { a.Handle = []byte("x#y") }),
		"another passkey's name": of(func(a *passkeytest.Authenticator) { a.ID = []byte("0123456789abcdef0123456789abcdef") }),
	} {
		err := w.signIn(p, made(t, a.Get, w.toSignIn(p)))
		if !errors.Is(err, passkey.ErrRefused) && !errors.Is(err, accounts.ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
		if a.Handle != nil && !strings.Contains(name, "account") && !strings.Contains(name, "name") {
			_, err = w.AddPasskey(t.Context(), p, bob.UserID, "key", made(t, a.Create, w.toCreate(p, bob.UserID)))
			wantErr(t, "add: "+name, err, passkey.ErrRefused)
		}
	}
	for _, text := range []string{"", "{}", "null", `{"id":"x"}`, strings.Repeat("[", 10000)} {
		wantErr(t, "sign in by "+text[:min(9, len(text))], w.signIn(p, []byte(text)), passkey.ErrRefused)
		_, err := w.AddPasskey(t.Context(), p, ann.UserID, "key", []byte(text))
		wantErr(t, "add "+text[:min(9, len(text))], err, passkey.ErrRefused)
	}
	must(t, w.signIn(p, made(t, good.Get, w.toSignIn(p))))
}

// TestChallengesHoldOnce answers challenges twice, late, concurrently, for another purpose and for
// another person.
func TestChallengesHoldOnce(t *testing.T) {
	w, ctx, p := newWorld(t), t.Context(), party(t, home)
	ann, bob := w.user("ann@example.com", nil), w.user("bob@example.com", nil)
	a := w.holder(p, &ann, 0)
	answer := made(t, a.Get, w.toSignIn(p))
	must(t, w.signIn(p, answer))
	wantErr(t, "the same answer again", w.signIn(p, answer), accounts.ErrDenied)
	late := made(t, a.Get, w.toSignIn(p))
	w.pass(5 * time.Minute)
	wantErr(t, "after five minutes", w.signIn(p, late), accounts.ErrDenied)
	wantErr(t, "the same answer later", w.signIn(p, answer), accounts.ErrDenied)

	create := w.toCreate(p, ann.UserID)
	wantErr(t, "sign in with a challenge for adding", w.signIn(p, made(t, a.Get, create)), accounts.ErrDenied)
	other := &passkeytest.Authenticator{Origin: home}
	_, err := w.AddPasskey(ctx, p, bob.UserID, "key", made(t, other.Create, create))
	wantErr(t, "add with somebody else's challenge", err, accounts.ErrDenied)
	_, err = w.AddPasskey(ctx, p, ann.UserID, "key", made(t, other.Create, w.toSignIn(p)))
	wantErr(t, "add with a challenge for signing in", err, accounts.ErrDenied)
	forged := []byte(strings.Replace(string(create), `"challenge":"`, `"challenge":"AAAA`, 1))
	_, err = w.AddPasskey(ctx, p, ann.UserID, "key", made(t, other.Create, forged))
	wantErr(t, "a challenge of one's own making", err, accounts.ErrDenied)

	answer = made(t, a.Get, w.toSignIn(p))
	var wait sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wait.Go(func() { errs[i] = w.signIn(p, answer) })
	}
	wait.Wait()
	accepted := 0
	for _, err := range errs {
		if err == nil {
			accepted++
		} else if !errors.Is(err, accounts.ErrDenied) {
			t.Error(err)
		}
	}
	if accepted != 1 {
		t.Errorf("one answer was accepted %d times", accepted)
	}
}

// A copied passkey is detected when the older of the two is used, because its counter is behind.
func TestCopiedPasskeys(t *testing.T) {
	w, p := newWorld(t), party(t, home)
	ann := w.user("ann@example.com", nil)
	a := w.holder(p, &ann, 7)
	thief := *a
	must(t, w.signIn(p, made(t, a.Get, w.toSignIn(p))))
	wantErr(t, "the copy", w.signIn(p, made(t, thief.Get, w.toSignIn(p))), accounts.ErrCopied)
	wantErr(t, "either from then on", w.signIn(p, made(t, a.Get, w.toSignIn(p))), accounts.ErrCopied)
	keys, err := w.UserPasskeys(t.Context(), ann.UserID)
	must(t, err)
	if len(keys) != 1 || keys[0].Copied.IsZero() {
		t.Errorf("%+v", keys)
	}
}

func TestPasskeysAreBounded(t *testing.T) {
	w, ctx, p := newWorld(t), t.Context(), party(t, home)
	ann := w.user("ann@example.com", nil)
	w.enrol(&ann)
	for range 20 {
		w.holder(p, &ann, 0)
	}
	_, err := w.BeginPasskey(ctx, p, ann.UserID)
	wantErr(t, "one more", err, accounts.ErrInvalid)
	had, err := w.ResetFactors(ctx, ann.UserID)
	must(t, err)
	if had != (accounts.Factors{App: true, Passkeys: 20}) {
		t.Errorf("%+v", had)
	}
	_, _, err = w.LogIn(ctx, ann.Email, password, accounts.Device{})
	must(t, err)
}
