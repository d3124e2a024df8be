package usercli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/cmd/onefold/internal/usercli"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/accounts/passkey"
	"github.com/onefold/onefold/server/accounts/passkey/passkeytest"
	"github.com/onefold/onefold/table"
)

const (
	password = "correct horse battery"
	home     = "https://onefold.example.com"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// office is a table with one user, and the output of the last command.
type office struct {
	*testing.T
	env  *cmdenv.Env
	out  bytes.Buffer
	all  *accounts.Store
	user accounts.User
}

func newOffice(t *testing.T) *office {
	t.Helper()
	db, err := engine.OpenMemory(engine.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	must(t, accounts.Schema.Ensure(t.Context(), db, "onefold"))
	tbl := table.New(db, "onefold", table.Options{})
	o := &office{T: t, all: accounts.New(tbl, accounts.Options{Cost: accounts.Cost{KiB: 64, Passes: 1}})}
	o.env = &cmdenv.Env{Out: &o.out, Open: func(_ context.Context, work func(*cmdenv.Store) error) error {
		return work(&cmdenv.Store{Table: tbl})
	}}
	o.user, err = o.all.AddUser(t.Context(), accounts.NewUser{Email: "ann@example.com", Password: password})
	must(t, err)
	return o
}

func (o *office) run(c interface {
	Run(context.Context, *cmdenv.Env) error
}) (string, error) {
	o.out.Reset()
	err := c.Run(o.Context(), o.env)
	return o.out.String(), err
}

func (o *office) logIn() (accounts.Login, error) {
	_, login, err := o.all.LogIn(o.Context(), "ann@example.com", password, accounts.Device{Browser: "Firefox 138", System: "Linux"})
	return login, err
}

func (o *office) recorded(want ...string) {
	o.Helper()
	page, err := o.all.Audit(o.Context(), "", "", 100)
	must(o.T, err)
	var got []string
	for _, e := range page.Items {
		if e.Actor != "command" {
			o.Errorf("%+v", e)
		}
		got = append(got, e.Action)
	}
	slices.Reverse(got)
	if !slices.Equal(got, want) {
		o.Errorf("recorded %v, want %v", got, want)
	}
}

func TestSessions(t *testing.T) {
	o := newOffice(t)
	_, err := o.run(&usercli.Sessions{Email: "nobody@example.com"})
	if err == nil || !strings.Contains(err.Error(), "no_such_user") {
		t.Error(err)
	}
	var logins []accounts.Login
	for range 3 {
		login, err := o.logIn()
		must(t, err)
		logins = append(logins, login)
	}
	sessions, err := o.all.UserSessions(t.Context(), o.user.UserID)
	must(t, err)
	out, err := o.run(&usercli.Sessions{Email: "Ann@example.com"})
	must(t, err)
	if strings.Count(out, "Firefox 138  Linux   password") != 3 || !strings.Contains(out, sessions[0].ID()) {
		t.Error(out)
	}
	if _, err = o.run(&usercli.Sessions{Email: "ann@example.com", End: "guessed"}); err == nil || !strings.Contains(err.Error(), "no_such_session") {
		t.Error(err)
	}
	_, err = o.run(&usercli.Sessions{Email: "ann@example.com", End: sessions[0].ID()})
	must(t, err)
	o.env.JSON = true
	out, err = o.run(&usercli.Sessions{Email: "ann@example.com"})
	must(t, err)
	if strings.Count(out, `"method": "password"`) != 2 || strings.Contains(out, sessions[0].ID()) || strings.Contains(out, logins[1].Token) {
		t.Error(out)
	}
	_, err = o.run(&usercli.Sessions{Email: "ann@example.com", EndAll: true})
	must(t, err)
	for _, login := range logins {
		if _, _, err := o.all.Resume(t.Context(), login.Token); err == nil {
			t.Error("a session goes on")
		}
	}
	o.recorded("session.end", "session.end_all")
}

// TestResetFactors lets a user log in who has lost phone and recovery codes.
func TestResetFactors(t *testing.T) {
	o := newOffice(t)
	ctx := t.Context()
	open, err := o.logIn()
	must(t, err)
	e, err := o.all.BeginSecondFactor(ctx, o.user.UserID)
	must(t, err)
	code, err := totp.GenerateCode(e.Secret, time.Now())
	must(t, err)
	_, err = o.all.ConfirmSecondFactor(ctx, o.user.UserID, code)
	must(t, err)
	party, err := passkey.NewParty(home)
	must(t, err)
	options, err := o.all.BeginPasskey(ctx, party, o.user.UserID)
	must(t, err)
	asked, err := json.Marshal(options)
	must(t, err)
	a := &passkeytest.Authenticator{Origin: home}
	made, err := a.Create(asked)
	must(t, err)
	_, err = o.all.AddPasskey(ctx, party, o.user.UserID, "phone", made)
	must(t, err)
	out, err := o.run(&usercli.ResetFactors{Email: "ann@example.com"})
	must(t, err)
	if out != "Removed the authenticator app and 1 passkey of ann@example.com, and ended all sessions. Logging in now needs only the password.\n" {
		t.Error(out)
	}
	if _, _, err := o.all.Resume(ctx, open.Token); err == nil {
		t.Error("a session goes on")
	}
	_, err = o.logIn()
	must(t, err)
	out, err = o.run(&usercli.ResetFactors{Email: "ann@example.com"})
	must(t, err)
	if !strings.HasPrefix(out, "Removed no authenticator app and 0 passkeys") {
		t.Error(out)
	}
	o.recorded("user.reset_factors", "user.reset_factors")
}
