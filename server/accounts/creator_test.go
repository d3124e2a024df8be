package accounts_test

import (
	"testing"
	"time"

	"github.com/onefold/onefold/server/accounts"
)

// Whatever takes away a person's rights disables what the person created at once, and restoring the
// rights enables it again.
func TestWhatAPersonMadeEndsWithTheirRights(t *testing.T) {
	for name, end := range map[string]func(w *world, id string) (back func() error, err error){
		"disabled": func(w *world, id string) (func() error, error) {
			set := func(to bool) error {
				_, err := w.UpdateUser(w.Context(), id, func(u *accounts.User) { u.Disabled = to })
				return err
			}
			return func() error { return set(false) }, set(true)
		},
		"viewer only": func(w *world, id string) (func() error, error) {
			set := func(to accounts.Role) error {
				_, err := w.UpdateUser(w.Context(), id, func(u *accounts.User) { u.Grants = accounts.Grants{"blog": to} })
				return err
			}
			return func() error { return set(accounts.Owner) }, set(accounts.Viewer)
		},
		"of another site": func(w *world, id string) (func() error, error) {
			_, err := w.UpdateUser(w.Context(), id, func(u *accounts.User) { u.Grants = accounts.Grants{"shop": accounts.Owner} })
			return nil, err
		},
		"deleted": func(w *world, id string) (func() error, error) { return nil, w.DeleteUser(w.Context(), id) },
	} {
		t.Run(name, func(t *testing.T) {
			w, ctx := newWorld(t), t.Context()
			ann := w.user("ann@example.com", accounts.Grants{"blog": accounts.Owner})
			_, key, err := w.AddKey(ctx, accounts.NewKey{Site: "blog", Scope: accounts.Write, Creator: ann.UserID})
			must(t, err)
			_, share, err := w.AddShare(ctx, accounts.NewShare{Site: "blog", Creator: ann.UserID})
			must(t, err)
			_, opened, err := w.OpenShare(ctx, share, "")
			must(t, err)
			_, invitation, err := w.Invite(ctx, accounts.NewInvitation{Email: "bob@example.com", Site: "blog", Role: accounts.Admin, Creator: ann.UserID})
			must(t, err)
			uses := map[string]func() error{
				"key":        func() error { _, err := w.UseKey(ctx, key); return err },
				"share":      func() error { _, err := w.FindShare(ctx, share); return err },
				"open share": func() error { _, err := w.ResumeShare(ctx, opened.Token); return err },
				"invitation": func() error { _, err := w.FindInvitation(ctx, invitation); return err },
			}
			for what, use := range uses {
				if err := use(); err != nil {
					t.Errorf("%s before: %v", what, err)
				}
			}
			back, err := end(w, ann.UserID)
			must(t, err)
			for what, use := range uses {
				wantErr(t, what, use(), accounts.ErrDenied)
			}
			if back == nil {
				return
			}
			must(t, back())
			for what, use := range uses {
				if err := use(); err != nil {
					t.Errorf("%s when the rights are back: %v", what, err)
				}
			}
		})
	}
}

func TestKeysExpire(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	_, _, err := w.AddKey(ctx, accounts.NewKey{Site: "blog", Scope: accounts.Read, Expires: w.now()})
	wantErr(t, "expired when made", err, accounts.ErrInvalid)
	_, token, err := w.AddKey(ctx, accounts.NewKey{Site: "blog", Scope: accounts.Read, Expires: w.now().Add(time.Hour)})
	must(t, err)
	w.pass(time.Hour - time.Second)
	_, err = w.UseKey(ctx, token)
	must(t, err)
	w.pass(2 * time.Second)
	_, err = w.UseKey(ctx, token)
	wantErr(t, "expired", err, accounts.ErrDenied)
}

func TestKeysRotate(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	ann := w.user("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	bob := w.user("bob@example.com", accounts.Grants{"blog": accounts.Admin})
	k, first, err := w.AddKey(ctx, accounts.NewKey{Site: "blog", Scope: accounts.Read, Creator: ann.UserID})
	must(t, err)
	use := func(what, token string, want error) {
		t.Helper()
		if _, err := w.UseKey(ctx, token); want == nil {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		} else {
			wantErr(t, what, err, want)
		}
	}
	_, second, err := w.RotateKey(ctx, k.KeyID, bob.UserID, time.Hour)
	must(t, err)
	use("the former secret in its hour", first, nil)
	use("the new one", second, nil)
	must(t, w.DeleteUser(ctx, ann.UserID))
	use("after its first creator is gone", second, nil)
	w.pass(time.Hour)
	use("the former secret after its hour", first, accounts.ErrDenied)
	use("the new one later", second, nil)
	_, third, err := w.RotateKey(ctx, k.KeyID, "", 0)
	must(t, err)
	use("replaced without overlap", second, accounts.ErrDenied)
	use("the third", third, nil)
	_, _, err = w.RotateKey(ctx, k.KeyID, "", accounts.MaxOverlap+1)
	wantErr(t, "too long", err, accounts.ErrInvalid)
	w.noSecrets(first, second, third)
}
