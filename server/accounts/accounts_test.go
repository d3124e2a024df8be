package accounts_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

const password = "correct horse battery"

// world is a store on a table in memory, with a clock that tests move.
type world struct {
	*testing.T
	*accounts.Store
	db    *engine.DB
	table *table.Table
	mu    sync.Mutex
	at    time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, at: time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC)}
	db, err := engine.OpenMemory(engine.Options{Clock: w.now})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	must(t, accounts.Schema.Ensure(t.Context(), db, "onefold"))
	w.db, w.table = db, table.New(db, "onefold", table.Options{Clock: w.now})
	w.Store = accounts.New(w.table, accounts.Options{Cost: accounts.Cost{KiB: 64, Passes: 1}})
	return w
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func (w *world) user(email string, grants accounts.Grants) accounts.User {
	w.Helper()
	u, err := w.AddUser(w.Context(), accounts.NewUser{Email: email, Name: "A Person", Password: password, Grants: grants})
	must(w.T, err)
	return u
}

func TestLogIn(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	w.user("Ann@Example.com ", accounts.Grants{"blog": accounts.Viewer})
	for _, c := range []struct{ email, password string }{
		{"ann@example.com", "wrong"}, {"ann@example.com", ""}, {"bob@example.com", password}, {"", ""}, {"a#b", password},
		{"ann@example.com", password + strings.Repeat("x", 1000)},
	} {
		_, _, err := w.LogIn(ctx, c.email, c.password, accounts.Device{})
		wantErr(t, c.email, err, accounts.ErrDenied)
	}
	u, login, err := w.LogIn(ctx, " ANN@example.com", password, accounts.Device{})
	must(t, err)
	if u.Email != "ann@example.com" {
		t.Errorf("address %q", u.Email)
	}
	got, _, err := w.Resume(ctx, login.Token)
	must(t, err)
	if got.UserID != u.UserID || got.Grants.On("blog") != accounts.Viewer || got.Grants.On("shop") != "" {
		t.Errorf("resumed %+v", got)
	}
	must(t, w.LogOut(ctx, login.Token))
	must(t, w.LogOut(ctx, login.Token))
	for _, token := range []string{login.Token, "", "a#b", "x"} {
		_, _, err = w.Resume(ctx, token)
		wantErr(t, "token "+token, err, accounts.ErrDenied)
	}
}

// TestSessionsSlide uses a session every day, and leaves another alone.
func TestSessionsSlide(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	w.user("ann@example.com", nil)
	_, used, err := w.LogIn(ctx, "ann@example.com", password, accounts.Device{})
	must(t, err)
	_, idle, err := w.LogIn(ctx, "ann@example.com", password, accounts.Device{})
	must(t, err)
	for day := 1; day < 30; day++ {
		w.pass(24 * time.Hour)
		if _, _, err := w.Resume(ctx, used.Token); err != nil {
			t.Fatalf("day %d: %v", day, err)
		}
	}
	_, _, err = w.Resume(ctx, idle.Token)
	wantErr(t, "a session that was not used", err, accounts.ErrDenied)
	w.pass(24 * time.Hour)
	_, _, err = w.Resume(ctx, used.Token)
	wantErr(t, "a session of thirty days", err, accounts.ErrDenied)
}

func TestSessionsEnd(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	u := w.user("ann@example.com", nil)
	for name, end := range map[string]func() error{
		"password":   func() error { return w.SetPassword(ctx, u.UserID, password) },
		"everywhere": func() error { return w.LogOutEverywhere(ctx, u.UserID) },
		"disabled": func() error {
			_, err := w.UpdateUser(ctx, u.UserID, func(u *accounts.User) { u.Disabled = true })
			return err
		},
	} {
		_, err := w.UpdateUser(ctx, u.UserID, func(u *accounts.User) { u.Disabled = false })
		must(t, err)
		_, login, err := w.LogIn(ctx, u.Email, password, accounts.Device{})
		must(t, err)
		must(t, end())
		_, err = w.UpdateUser(ctx, u.UserID, func(u *accounts.User) { u.Disabled = false })
		must(t, err)
		_, _, err = w.Resume(ctx, login.Token)
		wantErr(t, name, err, accounts.ErrDenied)
	}
	_, login, err := w.LogIn(ctx, u.Email, password, accounts.Device{})
	must(t, err)
	other := w.user("bob@example.com", nil)
	must(t, w.DeleteUser(ctx, u.UserID))
	_, _, err = w.Resume(ctx, login.Token)
	wantErr(t, "deleted", err, accounts.ErrDenied)
	_, _, err = w.LogIn(ctx, u.Email, password, accounts.Device{})
	wantErr(t, "log in when deleted", err, accounts.ErrDenied)
	wantErr(t, "delete again", w.DeleteUser(ctx, u.UserID), table.ErrNotFound)
	w.user(u.Email, nil) // the address is free again
	must(t, w.DeleteUser(ctx, other.UserID))
}

// A change of several fields of a user is made as a whole or not at all.
func TestChangesAreWhole(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	u := w.user("ann@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	const next = "another sentence that nobody guesses"
	rename := func(u *accounts.User) { u.Name = "Anna" }
	for _, c := range []struct {
		name, password string
		change         func(*accounts.User)
		want           error
	}{
		{"short password", "123456789", rename, accounts.ErrInvalid},
		{"long name", next, func(u *accounts.User) { u.Name = strings.Repeat("a", 101) }, accounts.ErrInvalid},
		{"last owner", next, func(u *accounts.User) { rename(u); u.Disabled = true }, accounts.ErrLastOwner},
	} {
		_, err := w.UpdateUserAndPassword(ctx, u.UserID, c.password, c.change)
		wantErr(t, c.name, err, c.want)
		got, _, err := w.LogIn(ctx, u.Email, password, accounts.Device{})
		if err != nil || got.Name != u.Name || got.Disabled {
			t.Errorf("%s: changed to %+v, %v", c.name, got, err)
		}
	}
	_, login, err := w.LogIn(ctx, u.Email, password, accounts.Device{})
	must(t, err)
	_, err = w.UpdateUserAndPassword(ctx, u.UserID, next, rename)
	must(t, err)
	_, _, err = w.Resume(ctx, login.Token)
	wantErr(t, "a session of before", err, accounts.ErrDenied)
	if got, _, err := w.LogIn(ctx, u.Email, next, accounts.Device{}); err != nil || got.Name != "Anna" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	good := accounts.NewUser{Email: "ann@example.com", Password: password}
	for name, change := range map[string]func(*accounts.NewUser){
		"no address":      func(n *accounts.NewUser) { n.Email = "" },
		"named address":   func(n *accounts.NewUser) { n.Email = "Ann <ann@example.com>" },
		"long address":    func(n *accounts.NewUser) { n.Email = strings.Repeat("a", 250) + "@example.com" },
		"short password":  func(n *accounts.NewUser) { n.Password = "123456789" },
		"long password":   func(n *accounts.NewUser) { n.Password = strings.Repeat("a", 257) },
		"own address":     func(n *accounts.NewUser) { n.Password = "Ann@example.com" },
		"long name":       func(n *accounts.NewUser) { n.Name = strings.Repeat("a", 101) },
		"unknown role":    func(n *accounts.NewUser) { n.Grants = accounts.Grants{"blog": "king"} },
		"a site with a #": func(n *accounts.NewUser) { n.Grants = accounts.Grants{"a#b": accounts.Viewer} },
	} {
		n := good
		change(&n)
		_, err := w.AddUser(ctx, n)
		wantErr(t, name, err, accounts.ErrInvalid)
		if err != nil && strings.Contains(err.Error(), n.Password) {
			t.Errorf("%s: the error repeats the password", name)
		}
	}
	users, err := w.Users(ctx)
	must(t, err)
	if len(users) != 0 {
		t.Errorf("%d users of refused ones", len(users))
	}
}

func TestRoles(t *testing.T) {
	order := []accounts.Role{"", accounts.Viewer, accounts.Admin, accounts.Owner}
	for i, a := range order {
		for j, b := range order {
			if want := i >= j && j > 0; a.Includes(b) != want {
				t.Errorf("%q includes %q: want %v", a, b, want)
			}
		}
	}
	if accounts.Owner.Includes("king") || accounts.Role("king").Includes(accounts.Viewer) {
		t.Error("an unknown role counts")
	}
	g := accounts.Grants{accounts.AllSites: accounts.Viewer, "blog": accounts.Owner}
	if g.On("blog") != accounts.Owner || g.On("shop") != accounts.Viewer {
		t.Errorf("%v", g)
	}
}

// TestOneAddressOneAccount creates the same account many times concurrently.
func TestOneAddressOneAccount(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	var wait sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		wait.Go(func() {
			email := "ann@example.com"
			if i%2 == 1 {
				email = "ANN@EXAMPLE.COM"
			}
			_, errs[i] = w.AddUser(ctx, accounts.NewUser{Email: email, Password: password})
		})
	}
	wait.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else {
			wantErr(t, "the others", err, accounts.ErrEmailTaken)
		}
	}
	users, err := w.Users(ctx)
	must(t, err)
	if made != 1 || len(users) != 1 {
		t.Errorf("%d succeeded, %d users", made, len(users))
	}
	same := accounts.NewUser{Email: "Ann@example.com", Password: password}
	again, err := w.AddedBefore(ctx, same)
	must(t, err)
	if again.UserID != users[0].UserID {
		t.Errorf("%+v", again)
	}
	for _, other := range []accounts.NewUser{
		{Email: same.Email, Password: "another good one"}, {Email: same.Email, Password: password, Name: "Ann"},
		{Email: same.Email, Password: password, Grants: accounts.Grants{"blog": accounts.Viewer}},
	} {
		_, err := w.AddedBefore(ctx, other)
		wantErr(t, fmt.Sprintf("%+v", other), err, accounts.ErrEmailTaken)
	}
	w.pass(11 * time.Minute)
	_, err = w.AddedBefore(ctx, same)
	wantErr(t, "later", err, accounts.ErrEmailTaken)
}

// TestAnOwnerIsAlwaysLeft lets owners demote, disable and delete each other concurrently, in random
// order.
func TestAnOwnerIsAlwaysLeft(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 5 {
		w, ctx := newWorld(t), t.Context()
		var ids []string
		for i := range 4 {
			ids = append(ids, w.user(fmt.Sprintf("p%d@example.com", i), accounts.Grants{accounts.AllSites: accounts.Owner}).UserID)
		}
		var wait sync.WaitGroup
		for _, id := range ids {
			act := removal(w, random.IntN(3))
			wait.Go(func() {
				err := act(ctx, id)
				if err != nil && !errors.Is(err, accounts.ErrLastOwner) && !errors.Is(err, table.ErrCondition) && !errors.Is(err, table.ErrConflict) {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		users, err := w.Users(ctx)
		must(t, err)
		left := 0
		for _, u := range users {
			if !u.Disabled && u.Grants[accounts.AllSites] == accounts.Owner {
				left++
				wantErr(t, "the last", removal(w, 0)(ctx, u.UserID), accounts.ErrLastOwner)
			}
		}
		if left == 0 {
			t.Error("nobody is left to look after accounts")
		}
	}
}

// removal returns one of the ways to take the role of owner of all sites from a user.
func removal(w *world, way int) func(context.Context, string) error {
	if way == 0 {
		return w.DeleteUser
	}
	return func(ctx context.Context, id string) error {
		_, err := w.UpdateUser(ctx, id, func(u *accounts.User) {
			if way == 1 {
				u.Disabled = true
				return
			}
			u.Grants = accounts.Grants{accounts.AllSites: accounts.Admin}
		})
		return err
	}
}

func TestKeys(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	k, token, err := w.AddKey(ctx, accounts.NewKey{Name: "CI", Site: "blog", Scope: accounts.Read})
	must(t, err)
	got, err := w.UseKey(ctx, token)
	must(t, err)
	if got.KeyID != k.KeyID || got.Site != "blog" || got.LastUsed != "2026-05-12" {
		t.Errorf("%+v", got)
	}
	_, other, err := w.AddKey(ctx, accounts.NewKey{Site: accounts.AllSites, Scope: accounts.Write})
	must(t, err)
	mixed := strings.TrimSuffix(token, secretOf(token)) + secretOf(other)
	for _, bad := range []string{"", "ofk_", "ofk_a_b", token + "x", token[:len(token)-1], mixed, strings.ToUpper(token)} {
		_, err := w.UseKey(ctx, bad)
		wantErr(t, bad, err, accounts.ErrDenied)
	}
	must(t, w.RevokeKey(ctx, k.KeyID))
	_, err = w.UseKey(ctx, token)
	wantErr(t, "revoked", err, accounts.ErrDenied)
	wantErr(t, "revoke again", w.RevokeKey(ctx, k.KeyID), table.ErrNotFound)
	_, _, err = w.AddKey(ctx, accounts.NewKey{Site: "blog", Scope: "all"})
	wantErr(t, "scope", err, accounts.ErrInvalid)
	w.noSecrets(token, other)
}

func TestShares(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	sh, token, err := w.AddShare(ctx, accounts.NewShare{Site: "blog", Password: password, Expires: w.now().Add(3 * time.Hour), Embed: []string{"https://example.com"}})
	must(t, err)
	_, _, err = w.OpenShare(ctx, token, "something else")
	wantErr(t, "wrong password", err, accounts.ErrDenied)
	_, login, err := w.OpenShare(ctx, token, password)
	must(t, err)
	got, err := w.ResumeShare(ctx, login.Token)
	must(t, err)
	if got.Site != "blog" {
		t.Errorf("%+v", got)
	}
	_, _, err = w.Resume(ctx, login.Token)
	wantErr(t, "a share is no login", err, accounts.ErrDenied)
	w.pass(4 * time.Hour)
	_, err = w.ResumeShare(ctx, login.Token)
	wantErr(t, "expired session", err, accounts.ErrDenied)
	_, _, err = w.OpenShare(ctx, token, password)
	wantErr(t, "expired share", err, accounts.ErrDenied)
	_, token, err = w.AddShare(ctx, accounts.NewShare{Site: "blog"})
	must(t, err)
	sh, login, err = w.OpenShare(ctx, token, "")
	must(t, err)
	_, err = w.RevokeShare(ctx, "shop", sh.ShareID)
	wantErr(t, "revoke from another site", err, table.ErrNotFound)
	_, err = w.RevokeShare(ctx, "blog", sh.ShareID)
	must(t, err)
	_, err = w.ResumeShare(ctx, login.Token)
	wantErr(t, "revoked share", err, accounts.ErrDenied)
	for _, origin := range []string{"example.com", "https://example.com/", "https://a.com; script-src *", "https://*", "'self'", "javascript:alert(1)"} {
		_, _, err := w.AddShare(ctx, accounts.NewShare{Site: "blog", Embed: []string{origin}})
		wantErr(t, origin, err, accounts.ErrInvalid)
	}
	w.noSecrets(token, login.Token)
}

// noSecrets fails if the table contains a secret in plain text, or a password.
func (w *world) noSecrets(secrets ...string) {
	w.Helper()
	out, err := w.db.Scan(w.Context(), &dynamodb.ScanInput{TableName: aws.String("onefold")})
	must(w.T, err)
	var all strings.Builder
	for _, it := range out.Items {
		for name, value := range it {
			fmt.Fprintf(&all, "%s=%+v ", name, value)
		}
	}
	for _, s := range append(secrets, password) {
		if strings.Contains(all.String(), secretOf(s)) {
			w.Errorf("the table holds a secret")
		}
	}
}

// named matches a token that begins with the ID under which it is looked up. Both alphabets contain
// the underscore.
var named = regexp.MustCompile(`^of[a-z]_[^_]+_(.+)$`)

// secretOf returns the part of a token that must not be stored; for a password or a login token,
// all of it.
func secretOf(token string) string {
	if m := named.FindStringSubmatch(token); m != nil {
		return m[1]
	}
	return token
}

// TestAnInvitationHoldsOnce accepts an invitation many times concurrently, and tries expired and
// replaced ones and ones for several sites.
func TestAnInvitationHoldsOnce(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	invite := func() string {
		_, token, err := w.Invite(ctx, accounts.NewInvitation{Email: " Bob@example.com", Site: "blog", Role: accounts.Admin})
		must(t, err)
		return token
	}
	first := invite()
	token := invite()
	_, err := w.Join(ctx, first, "Bob", password)
	wantErr(t, "replaced", err, accounts.ErrDenied)
	joined := make(chan error, 8)
	for range cap(joined) {
		go func() {
			_, err := w.Join(ctx, token, "Bob", password)
			joined <- err
		}()
	}
	successes := 0
	for range cap(joined) {
		if err := <-joined; err == nil {
			successes++
		} else if !errors.Is(err, accounts.ErrDenied) && !errors.Is(err, accounts.ErrEmailTaken) && !errors.Is(err, table.ErrConflict) {
			t.Error(err)
		}
	}
	u, err := w.UserByEmail(ctx, "bob@example.com")
	must(t, err)
	if successes != 1 || len(u.Grants) != 1 || u.Grants["blog"] != accounts.Admin {
		t.Errorf("%d accounts, %+v", successes, u)
	}
	late := invite()
	w.pass(7*24*time.Hour + time.Second)
	_, err = w.FindInvitation(ctx, late)
	wantErr(t, "late", err, accounts.ErrDenied)
	for _, bad := range []accounts.NewInvitation{
		{Email: "eve@example.com", Site: accounts.AllSites, Role: accounts.Owner}, {Email: "eve", Site: "blog", Role: accounts.Owner},
		{Email: "eve@example.com", Site: "a#b", Role: accounts.Owner}, {Email: "eve@example.com", Site: "blog"},
	} {
		_, _, err := w.Invite(ctx, bad)
		wantErr(t, fmt.Sprintf("%+v", bad), err, accounts.ErrInvalid)
	}
	w.noSecrets(first, token, late)
}

func TestSetUpHoldsOnce(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	first, err := w.SetupToken(ctx)
	must(t, err)
	tokens := make([]string, 16) // as many servers as may start at once
	var starting sync.WaitGroup
	for i := range tokens {
		starting.Go(func() {
			var err error
			if tokens[i], err = w.SetupToken(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	owner := func(i int) accounts.NewUser {
		return accounts.NewUser{Email: fmt.Sprintf("p%d@example.com", i), Password: password}
	}
	for _, bad := range []string{"", "x", first} {
		_, err := w.SetUp(ctx, bad, owner(0))
		wantErr(t, "a link that does not hold", err, accounts.ErrSetUp)
	}
	errs := make([]error, 6)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() { _, errs[i] = w.SetUp(ctx, tokens[3*i], owner(i)) })
	}
	wait.Wait()
	users, err := w.Users(ctx)
	must(t, err)
	if len(users) != 1 || users[0].Grants.On("any") != accounts.Owner {
		t.Errorf("%d users: %v", len(users), errs)
	}
	again, err := w.SetupToken(ctx)
	must(t, err)
	needed, err := w.SetupNeeded(ctx)
	must(t, err)
	if again != "" || needed {
		t.Error("set-up can be done again")
	}
}

func TestForgetSite(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	u := w.user("ann@example.com", accounts.Grants{"blog": accounts.Owner, "shop": accounts.Viewer})
	_, key, err := w.AddKey(ctx, accounts.NewKey{Site: "blog", Scope: accounts.Read})
	must(t, err)
	_, kept, err := w.AddKey(ctx, accounts.NewKey{Site: "shop", Scope: accounts.Read})
	must(t, err)
	_, share, err := w.AddShare(ctx, accounts.NewShare{Site: "blog"})
	must(t, err)
	_, invitation, err := w.Invite(ctx, accounts.NewInvitation{Email: "bob@example.com", Site: "blog", Role: accounts.Viewer})
	must(t, err)
	must(t, w.RemoveSite(ctx, "blog"))
	must(t, w.RemoveSite(ctx, "blog"))
	u, err = w.User(ctx, u.UserID)
	must(t, err)
	if u.Grants.On("blog") != "" || u.Grants.On("shop") != accounts.Viewer {
		t.Errorf("%v", u.Grants)
	}
	_, err = w.UseKey(ctx, key)
	wantErr(t, "key", err, accounts.ErrDenied)
	_, err = w.FindShare(ctx, share)
	wantErr(t, "share", err, accounts.ErrDenied)
	_, err = w.FindInvitation(ctx, invitation)
	wantErr(t, "invitation", err, accounts.ErrDenied)
	_, err = w.UseKey(ctx, kept)
	must(t, err)
}

func TestAudit(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	for i := range 5 {
		must(t, w.Record(ctx, accounts.Entry{Actor: "user:a", Action: "site.update", Subject: fmt.Sprint(i)}))
		w.pass(time.Minute)
	}
	page, err := w.Audit(ctx, "", "", 3)
	must(t, err)
	rest, err := w.Audit(ctx, "2026-05", page.Next, 3)
	must(t, err)
	if len(page.Items) != 3 || len(rest.Items) != 2 || page.Items[0].Subject != "4" || !page.Items[0].At().Equal(w.now().Add(-time.Minute)) {
		t.Errorf("%+v, then %+v", page, rest)
	}
	_, err = w.Audit(ctx, "May", "", 3)
	wantErr(t, "month", err, accounts.ErrInvalid)
}

// All servers get the same secret, whoever asks first, and each name has its own.
func TestSharedSecret(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	secrets := make([][]byte, 6)
	var wait sync.WaitGroup
	for i := range secrets {
		wait.Go(func() {
			var err error
			if secrets[i], err = accounts.SharedSecret(ctx, w.table, "cursors"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, secret := range secrets {
		if len(secret) != 32 || !bytes.Equal(secret, secrets[0]) {
			t.Errorf("%x, %x", secret, secrets[0])
		}
	}
	other, err := accounts.SharedSecret(ctx, w.table, "other")
	must(t, err)
	if bytes.Equal(other, secrets[0]) {
		t.Error("two names have one secret")
	}
}
