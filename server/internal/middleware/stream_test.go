package middleware

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

func anonymous(network, site string) *Caller { return &Caller{Network: network, Place: site} }

func person(id string) *Caller {
	return &Caller{Actor: "user:" + id, User: &accounts.User{UserKey: accounts.UserKey{UserID: id}}, Network: "192.0.2.1", Place: "shop"}
}

// A crowd of anonymous callers, from any number of networks and sites, leaves streams for people.
func TestGuestsLeaveStreamsForPeople(t *testing.T) {
	s := newStreams(200)
	open := map[string]int{}
	for i := range 10_000 {
		network, site := fmt.Sprint("n", i%400), fmt.Sprint("s", i%7)
		if _, ok := s.open(anonymous(network, site)); ok {
			open[""]++
			open[network]++
			open[site]++
		}
	}
	for name, n := range open {
		switch {
		case name == "" && n != 100, name != "" && name[0] == 'n' && n > perNetwork, name != "" && name[0] == 's' && n > 50:
			t.Errorf("%q has %d streams", name, n)
		}
	}
	for i := range 100 {
		if _, ok := s.open(person(fmt.Sprint(i % 10))); !ok {
			t.Fatalf("person %d is rejected", i)
		}
	}
	if _, ok := s.open(person("late")); ok {
		t.Error("more streams than there are")
	}
}

// In any order of taking and releasing, no share exceeds its limit, and in the end nothing is left.
func TestSharesOfStreams(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	s := newStreams(40)
	var releases []func()
	for range 20_000 {
		if rng.IntN(3) == 0 && len(releases) > 0 {
			i := rng.IntN(len(releases))
			releases[i]()
			releases[i] = releases[len(releases)-1]
			releases = releases[:len(releases)-1]
			continue
		}
		who := anonymous(fmt.Sprint(rng.IntN(5)), fmt.Sprint(rng.IntN(3)))
		if rng.IntN(2) == 0 {
			who = person(fmt.Sprint(rng.IntN(3)))
		}
		if release, ok := s.open(who); ok {
			releases = append(releases, release)
		}
		if s.total != len(releases) || s.total > 40 || s.shares["anonymous"] > 20 || s.shares["caller user:0"] > perCaller ||
			s.shares["network 0"] > perNetwork || s.shares["anonymous at 0"] > 10 {
			t.Fatalf("%d open, %v", s.total, s.shares)
		}
	}
	for _, release := range releases {
		release()
	}
	if s.total != 0 || len(s.shares) != 0 {
		t.Errorf("left: %d open, %v", s.total, s.shares)
	}
}

// streaming is a Stack with one operation, a stream of a site's statistics that lasts until it is
// cancelled.
func streaming(t *testing.T) (s *Stack, url string, look chan<- time.Time) {
	t.Helper()
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tbl := table.New(db, "onefold", table.Options{})
	if err := accounts.Schema.Ensure(t.Context(), db, "onefold"); err != nil {
		t.Fatal(err)
	}
	s, err = New(Options{
		Accounts: accounts.New(tbl, accounts.Options{}), Clock: time.Now, Logger: slog.New(slog.DiscardHandler),
		Public: func(context.Context, string) (bool, error) { return false, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ticks := make(chan time.Time)
	s.recheck = func() (<-chan time.Time, func()) { return ticks, func() {} }
	mux := http.NewServeMux()
	api := humago.New(mux, huma.DefaultConfig("test", "1"))
	api.UseMiddleware(s.Authorize(api))
	op := Guard(ForStatistics, huma.Operation{OperationID: "stream", Method: http.MethodGet, Path: "/api/v1/sites/{site}/stream"})
	op.Middlewares = huma.Middlewares{s.LimitStreams(api, "test", 200)}
	huma.Register(api, op, func(context.Context, *SitePath) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			_, w := humago.Unwrap(ctx)
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-ctx.Context().Done()
		}}, nil
	})
	server := httptest.NewServer(s.WithClientAddress(mux))
	t.Cleanup(server.Close)
	return s, server.URL, ticks
}

// When a session is ended from another browser, its streams end.
func TestStreamEndsWithItsSession(t *testing.T) {
	s, url, look := streaming(t)
	const password = "correct horse battery"
	u, err := s.Accounts.AddUser(t.Context(), accounts.NewUser{Email: "ann@example.com", Password: password, Grants: accounts.Grants{"shop": accounts.Viewer}})
	if err != nil {
		t.Fatal(err)
	}
	_, login, err := s.Accounts.LogIn(t.Context(), u.Email, password, accounts.Device{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/sites/shop/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: SessionCookie, Value: login.Token})
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d", answer.StatusCode)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = answer.Body.Read(make([]byte, 1)) // returns when the stream ends
		close(ended)
	}()
	look <- time.Time{}
	sessions, err := s.Accounts.UserSessions(t.Context(), u.UserID)
	if err != nil || len(sessions) != 1 {
		t.Fatalf("%v, %v", sessions, err)
	}
	if err := s.Accounts.EndSession(t.Context(), u.UserID, sessions[0].ID()); err != nil {
		t.Fatal(err)
	}
	select {
	case look <- time.Time{}:
	case <-ended: // the previous check was slow, and noticed
	}
	<-ended
}

func TestStreamEndsWithItsPermission(t *testing.T) {
	s, url, look := streaming(t)
	key, token, err := s.Accounts.AddKey(t.Context(), accounts.NewKey{Name: "board", Site: "shop", Scope: accounts.Read})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/sites/shop/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d", answer.StatusCode)
	}
	scrape := httptest.NewRecorder()
	if s.Metrics.Handler().ServeHTTP(scrape, httptest.NewRequest(http.MethodGet, "/metrics", nil)); !strings.Contains(scrape.Body.String(), `onefold_http_streams{stream="test"} 1`) {
		t.Error("metrics do not tell of one open stream")
	}
	ended := make(chan struct{})
	go func() {
		_, _ = answer.Body.Read(make([]byte, 1)) // returns when the stream ends
		close(ended)
	}()
	look <- time.Time{} // still permitted
	look <- time.Time{} // and was not ended by the previous check
	if err := s.Accounts.RevokeKey(t.Context(), key.KeyID); err != nil {
		t.Fatal(err)
	}
	select {
	case look <- time.Time{}:
	case <-ended: // the previous check was slow, and noticed
	}
	<-ended
}
