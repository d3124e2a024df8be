package accounts_test

import (
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/accounts/openid"
)

func somebody(subject, email string) openid.Person {
	return openid.Person{Issuer: "https://login.example.com", Subject: subject, Email: email, EmailVerified: true, Name: "Of " + subject}
}

var (
	nobody  = accounts.Admission{}
	viewers = accounts.Admission{Role: accounts.Viewer, Domains: []string{"example.com"}}
)

func TestIdentitiesOfUsers(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	ann, bob := w.user("ann@example.com", nil), w.user("bob@example.com", nil)
	w.enrol(&ann)
	enter := func(who openid.Person, admit accounts.Admission) (accounts.User, accounts.Admitted, error) {
		u, login, how, err := w.LogInWithIdentity(ctx, who, admit, accounts.Device{Browser: "Firefox 138"})
		if err == nil {
			back, _, err := w.Resume(ctx, login.Token)
			must(t, err)
			if back.UserID != u.UserID {
				t.Errorf("the session is of %s", back.UserID)
			}
		} else if login != (accounts.Login{}) || how != (accounts.Admitted{}) {
			t.Errorf("refused, with %v %v", login, how)
		}
		return u, how, err
	}

	unverified := somebody("a1", "ann@example.com")
	unverified.EmailVerified = false
	_, _, err := enter(unverified, viewers)
	wantErr(t, "an address that anybody can claim", err, accounts.ErrUnverified)
	u, how, err := enter(somebody("a1", "Ann@Example.com"), nobody)
	must(t, err)
	if u.UserID != ann.UserID || how != (accounts.Admitted{Linked: true}) {
		t.Errorf("%+v %+v", u, how)
	}
	moved := somebody("a1", "")
	moved.EmailVerified = false
	u, how, err = enter(moved, nobody) // by the provider's ID, whatever the address is now
	must(t, err)
	if u.UserID != ann.UserID || how != (accounts.Admitted{}) {
		t.Errorf("%+v %+v", u, how)
	}
	u, _, err = enter(somebody("a2", "ann@example.com"), viewers)
	wantErr(t, "another person who got the address", err, accounts.ErrOtherIdentity)
	if u.UserID != ann.UserID {
		t.Errorf("%+v", u)
	}
	sessions, err := w.UserSessions(ctx, ann.UserID)
	must(t, err)
	if len(sessions) != 2 || sessions[0].Method != accounts.ByOpenID || sessions[0].Browser != "Firefox 138" {
		t.Errorf("%+v", sessions)
	}

	had, err := w.ResetFactors(ctx, ann.UserID)
	must(t, err)
	if had != (accounts.Factors{App: true, Identity: true}) {
		t.Errorf("%+v", had)
	}
	u, how, err = enter(somebody("a2", "ann@example.com"), nobody)
	must(t, err)
	if u.UserID != ann.UserID || !how.Linked {
		t.Errorf("after a reset: %+v %+v", u, how)
	}
	other := somebody("a2", "ann@example.com")
	other.Issuer = "https://login.example.org"
	u, how, err = enter(other, nobody) // the installation has another provider now
	must(t, err)
	if u.UserID != ann.UserID || !how.Linked {
		t.Errorf("of another issuer: %+v %+v", u, how)
	}

	_, err = w.UpdateUser(ctx, bob.UserID, func(u *accounts.User) { u.Disabled = true })
	must(t, err)
	_, _, err = enter(somebody("b1", "bob@example.com"), viewers)
	wantErr(t, "disabled", err, accounts.ErrDenied)
	_, err = w.UpdateUser(ctx, ann.UserID, func(u *accounts.User) { u.Disabled = true })
	must(t, err)
	_, _, err = enter(other, viewers)
	wantErr(t, "linked and disabled", err, accounts.ErrDenied)
	must(t, w.DeleteUser(ctx, ann.UserID))
	_, _, err = enter(other, nobody)
	wantErr(t, "deleted", err, accounts.ErrNoAccount)
}

func TestAdmission(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	for email, admit := range map[string]accounts.Admission{
		"ann@example.com": nobody, "ann@example.org": viewers, "ann@sub.example.com": viewers, "ann@badexample.com": viewers,
		`"ann@example.com"@example.org`: viewers, "": viewers, "no address": viewers,
	} {
		if u, _, _, err := w.LogInWithIdentity(ctx, somebody("x", email), admit, accounts.Device{}); !errors.Is(err, accounts.ErrNoAccount) && !errors.Is(err, accounts.ErrInvalid) {
			t.Errorf("%s: %+v %v", email, u, err)
		}
	}
	u, _, how, err := w.LogInWithIdentity(ctx, somebody("c", "Cid@Example.com"), viewers, accounts.Device{})
	must(t, err)
	if u.Email != "cid@example.com" || u.Name != "Of c" || !maps.Equal(u.Grants, accounts.Grants{accounts.AllSites: accounts.Viewer}) || how != (accounts.Admitted{Made: true}) {
		t.Errorf("%+v %+v", u, how)
	}
	again, _, how, err := w.LogInWithIdentity(ctx, somebody("c", "cid@example.com"), viewers, accounts.Device{})
	must(t, err)
	if again.UserID != u.UserID || how != (accounts.Admitted{}) {
		t.Errorf("%+v %+v", again, how)
	}
}

// TestManyLoginsAtOnce checks that concurrent logins of a person without an account create one.
func TestManyLoginsAtOnce(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	var all sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for range 8 {
		all.Go(func() {
			_, _, how, err := w.LogInWithIdentity(ctx, somebody("d", "dan@example.com"), viewers, accounts.Device{})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if how.Made {
				made++
			}
		})
	}
	all.Wait()
	users, err := w.Users(ctx)
	must(t, err)
	if made != 1 || len(users) != 1 {
		t.Errorf("%d made, %d users", made, len(users))
	}
}
