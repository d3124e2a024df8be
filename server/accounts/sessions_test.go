package accounts_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

// TestSessionsAgainstAModel logs in, ends sessions and changes passwords at random, and compares
// the valid sessions with a set of tokens.
func TestSessionsAgainstAModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w, ctx := newWorld(t), t.Context()
	u := w.user("ann@example.com", nil)
	secret, holds, ended := password, map[string]bool{}, map[string]bool{}
	pick := func() string {
		for token := range holds {
			return token
		}
		return ""
	}
	only := func(token string) {
		for other := range holds {
			ended[other] = true
		}
		holds = map[string]bool{token: true}
	}
	for step := range 150 {
		w.pass(time.Duration(random.IntN(3600)) * time.Second)
		switch token := pick(); {
		case token == "" || random.IntN(3) == 0:
			_, login, err := w.LogIn(ctx, u.Email, secret, accounts.Device{})
			must(t, err)
			holds[login.Token] = true
		case random.IntN(3) == 0:
			sessions, err := w.UserSessions(ctx, u.UserID)
			must(t, err)
			for i := range sessions {
				if sessions[i].HasToken(token) {
					must(t, w.EndSession(ctx, u.UserID, sessions[i].ID()))
				}
			}
			delete(holds, token)
			ended[token] = true
		case random.IntN(4) == 0:
			secret = fmt.Sprintf("the %d. password", step)
			_, login, err := w.ChangePassword(ctx, token, secret)
			must(t, err)
			only(login.Token)
		case random.IntN(4) == 0:
			_, login, err := w.EndOtherSessions(ctx, token)
			must(t, err)
			only(login.Token)
		}
		w.checkSessions(u.UserID, holds, ended)
	}
}

func (w *world) checkSessions(userID string, holds, ended map[string]bool) {
	w.Helper()
	sessions, err := w.UserSessions(w.Context(), userID)
	must(w.T, err)
	if len(sessions) != len(holds) {
		w.Fatalf("%d sessions, want %d", len(sessions), len(holds))
	}
	for token := range holds {
		_, _, err := w.Resume(w.Context(), token)
		must(w.T, err)
	}
	for token := range ended {
		_, _, err := w.Resume(w.Context(), token)
		wantErr(w.T, "an ended session", err, accounts.ErrDenied)
		_, _, err = w.EndOtherSessions(w.Context(), token)
		wantErr(w.T, "an ended session ends others", err, accounts.ErrDenied)
	}
}

func TestSessionsSayWhatTheyAre(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	ann, bob := w.user("ann@example.com", nil), w.user("bob@example.com", nil)
	_, login, err := w.LogIn(ctx, ann.Email, password, accounts.Device{Browser: "Firefox 138", System: "Linux"})
	must(t, err)
	began := w.now()
	for _, c := range []struct{ after, used time.Duration }{{59 * time.Minute, 0}, {time.Minute, time.Hour}, {30 * time.Minute, time.Hour}, {5 * time.Hour, 6*time.Hour + 30*time.Minute}} {
		w.pass(c.after)
		_, _, err := w.Resume(ctx, login.Token)
		must(t, err)
		sessions, err := w.UserSessions(ctx, ann.UserID)
		must(t, err)
		if len(sessions) != 1 || !sessions[0].Used.Equal(began.Add(c.used)) || !sessions[0].Created.Equal(began) || sessions[0].Browser != "Firefox 138" || sessions[0].System != "Linux" || sessions[0].Method != accounts.ByPassword {
			t.Errorf("%v later: %+v, want used %v after it began", c.after, sessions, c.used)
		}
		wantErr(t, "somebody else ends it", w.EndSession(ctx, bob.UserID, sessions[0].ID()), table.ErrNotFound)
	}
	wantErr(t, "of no such id", w.EndSession(ctx, ann.UserID, "guessed"), table.ErrNotFound)
}

// A script that logs in endlessly does not fill the table: new sessions replace the least recently
// used ones.
func TestSessionsAreBounded(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	u := w.user("ann@example.com", nil)
	var tokens []string
	for range 105 {
		w.pass(time.Second)
		_, login, err := w.LogIn(ctx, u.Email, password, accounts.Device{})
		must(t, err)
		tokens = append(tokens, login.Token)
	}
	sessions, err := w.UserSessions(ctx, u.UserID)
	must(t, err)
	if len(sessions) != 100 || !sessions[0].HasToken(tokens[104]) || !sessions[99].HasToken(tokens[5]) {
		t.Errorf("%d sessions", len(sessions))
	}
	_, _, err = w.Resume(ctx, tokens[4])
	wantErr(t, "the least recently used", err, accounts.ErrDenied)
}
