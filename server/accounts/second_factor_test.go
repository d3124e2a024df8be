package accounts_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

// code returns the code of an app at a time, with an implementation independent of the store's.
func (w *world) code(secret string, at time.Duration) string {
	w.Helper()
	code, err := totp.GenerateCode(secret, w.now().Add(at))
	must(w.T, err)
	return code
}

// enrol gives a user an authenticator app, and waits until the step of the confirming code has
// passed.
func (w *world) enrol(u *accounts.User) (secret string, recovery []string) {
	w.Helper()
	e, err := w.BeginSecondFactor(w.Context(), u.UserID)
	must(w.T, err)
	recovery, err = w.ConfirmSecondFactor(w.Context(), u.UserID, w.code(e.Secret, 0))
	must(w.T, err)
	w.pass(time.Minute)
	return e.Secret, recovery
}

func (w *world) challenged(u *accounts.User) string {
	w.Helper()
	_, login, err := w.LogIn(w.Context(), u.Email, password, accounts.Device{})
	wantErr(w.T, "log in with the password", err, accounts.ErrSecondFactor)
	return login.Token
}

func TestEnrolment(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	u := w.user("ann@example.com", nil)
	_, err := w.ConfirmSecondFactor(ctx, u.UserID, "000000")
	wantErr(t, "confirm what was not begun", err, accounts.ErrInvalid)
	wantErr(t, "remove what is not there", w.RemoveSecondFactor(ctx, u.UserID), table.ErrNotFound)
	abandoned, err := w.BeginSecondFactor(ctx, u.UserID)
	must(t, err)
	if !strings.HasPrefix(abandoned.URI, "otpauth://totp/onefold:ann@example.com?") || !strings.Contains(abandoned.URI, "secret="+abandoned.Secret) {
		t.Errorf("URI %q", abandoned.URI)
	}
	_, _, err = w.LogIn(ctx, u.Email, password, accounts.Device{})
	must(t, err) // it is not confirmed yet
	e, err := w.BeginSecondFactor(ctx, u.UserID)
	must(t, err)
	for name, code := range map[string]string{"the former secret": w.code(abandoned.Secret, 0), "nothing": "", "letters": "abcdef", "long": strings.Repeat("1", 500)} {
		_, err := w.ConfirmSecondFactor(ctx, u.UserID, code)
		wantErr(t, name, err, accounts.ErrCode)
	}
	late := w.code(e.Secret, 61*time.Minute)
	w.pass(61 * time.Minute)
	_, err = w.ConfirmSecondFactor(ctx, u.UserID, late)
	wantErr(t, "an hour later", err, accounts.ErrInvalid)
	_, recovery := w.enrol(&u)
	if len(recovery) != 10 {
		t.Errorf("%d recovery codes", len(recovery))
	}
	_, err = w.BeginSecondFactor(ctx, u.UserID)
	wantErr(t, "a second app", err, accounts.ErrFactorSet)
	must(t, w.RemoveSecondFactor(ctx, u.UserID))
	_, _, err = w.LogIn(ctx, u.Email, password, accounts.Device{})
	must(t, err)
}

// TestCodesHoldOnce tries codes of steps around the current one, each as often as possible.
func TestCodesHoldOnce(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	u := w.user("ann@example.com", nil)
	secret, _ := w.enrol(&u)
	for _, c := range []struct {
		name string
		at   time.Duration
		want error
	}{
		{"two steps ago", -time.Minute, accounts.ErrCode},
		{"in two steps", time.Minute, accounts.ErrCode},
		{"a step ago", -30 * time.Second, nil},
		{"a step ago, again", -30 * time.Second, accounts.ErrCode},
		{"now", 0, nil},
		{"now, again", 0, accounts.ErrCode},
		{"a step ahead", 30 * time.Second, nil},
		{"now, after a later one", 0, accounts.ErrCode},
	} {
		_, err := w.UseCode(ctx, u.UserID, w.code(secret, c.at))
		wantErr(t, c.name, err, c.want)
	}
	w.pass(10 * time.Minute)
	spaced := w.code(secret, 0)
	by, err := w.UseCode(ctx, u.UserID, " "+spaced[:3]+" "+spaced[3:])
	must(t, err)
	if by != accounts.ByCode {
		t.Errorf("by %q", by)
	}
}

// TestOneOfManyIsAccepted sends the same code from many places concurrently.
func TestOneOfManyIsAccepted(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	u := w.user("ann@example.com", nil)
	secret, recovery := w.enrol(&u)
	for _, code := range []string{w.code(secret, 0), recovery[3]} {
		var wait sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wait.Go(func() { _, errs[i] = w.UseCode(ctx, u.UserID, code) })
		}
		wait.Wait()
		accepted := 0
		for _, err := range errs {
			if err == nil {
				accepted++
			} else if !errors.Is(err, accounts.ErrCode) {
				t.Error(err)
			}
		}
		if accepted != 1 {
			t.Errorf("accepted %d times", accepted)
		}
	}
}

func TestRecoveryCodes(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	u := w.user("ann@example.com", nil)
	_, err := w.RenewRecoveryCodes(ctx, u.UserID)
	wantErr(t, "renew what is not there", err, table.ErrNotFound)
	_, recovery := w.enrol(&u)
	for i, code := range recovery[:2] {
		by, err := w.UseCode(ctx, u.UserID, strings.ToUpper(strings.ReplaceAll(code, "-", " ")))
		must(t, err)
		f, err := w.SecondFactor(ctx, u.UserID)
		must(t, err)
		if by != accounts.ByRecoveryCode || len(f.Recovery) != 9-i {
			t.Errorf("by %q, %d are left", by, len(f.Recovery))
		}
		_, err = w.UseCode(ctx, u.UserID, code)
		wantErr(t, "again", err, accounts.ErrCode)
	}
	fresh, err := w.RenewRecoveryCodes(ctx, u.UserID)
	must(t, err)
	_, err = w.UseCode(ctx, u.UserID, recovery[5])
	wantErr(t, "one that was replaced", err, accounts.ErrCode)
	_, err = w.UseCode(ctx, u.UserID, fresh[5])
	must(t, err)
	_, err = w.UseCode(ctx, w.user("bob@example.com", nil).UserID, fresh[6])
	wantErr(t, "somebody else's", err, accounts.ErrCode)
}

func TestTheSecondStep(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	u := w.user("ann@example.com", nil)
	secret, recovery := w.enrol(&u)
	finish := func(challenge, code string) error {
		_, login, _, err := w.FinishLogIn(ctx, challenge, code, accounts.Device{Browser: "Firefox 138"})
		if err == nil {
			_, _, err = w.Resume(ctx, login.Token)
		}
		return err
	}
	first := w.challenged(&u)
	_, _, err := w.Resume(ctx, first)
	wantErr(t, "the challenge as a session", err, accounts.ErrDenied)
	wantErr(t, "a guessed challenge", finish("guessed", w.code(secret, 0)), accounts.ErrDenied)
	wantErr(t, "a wrong code", finish(first, "000000"), accounts.ErrCode)
	must(t, finish(first, w.code(secret, 0)))
	wantErr(t, "the challenge again", finish(first, recovery[0]), accounts.ErrDenied)
	w.pass(time.Minute)

	tired := w.challenged(&u)
	for range 5 {
		wantErr(t, "a wrong code", finish(tired, "000000"), accounts.ErrCode)
	}
	wantErr(t, "the sixth code", finish(tired, w.code(secret, 0)), accounts.ErrDenied)

	late := w.challenged(&u)
	w.pass(5*time.Minute + time.Second)
	wantErr(t, "after five minutes", finish(late, w.code(secret, 0)), accounts.ErrDenied)

	ended := w.challenged(&u)
	must(t, w.LogOutEverywhere(ctx, u.UserID))
	wantErr(t, "after all sessions were ended", finish(ended, w.code(secret, 0)), accounts.ErrDenied)

	disabled := w.challenged(&u)
	_, err = w.UpdateUser(ctx, u.UserID, func(u *accounts.User) { u.Disabled = true })
	must(t, err)
	wantErr(t, "of a disabled account", finish(disabled, w.code(secret, 0)), accounts.ErrDenied)
	must(t, w.DeleteUser(ctx, u.UserID))
	if f, err := w.SecondFactor(ctx, u.UserID); err != nil || f.Secret != "" {
		t.Errorf("the secret outlives the account: %v", err)
	}
}
