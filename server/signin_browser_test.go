package server_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// TestLoggingInInABrowser sets up an authenticator app and a passkey, and logs in with both, in
// Chromium: see e2e/signin.mjs.
func TestLoggingInInABrowser(t *testing.T) {
	t.Parallel()
	servertest.NeedPage(t)
	h := atLocalhost(t, func(url string) func(*server.Options) { return func(o *server.Options) { o.PublicURL = url } })
	drive(h, "signin.mjs", os.Getenv("ONEFOLD_TEST_SHOTS"))
}

// TestAnOpenIDProviderInABrowser logs in with an independent provider, in Chromium: see
// e2e/openid.mjs.
func TestAnOpenIDProviderInABrowser(t *testing.T) {
	t.Parallel()
	servertest.NeedPage(t)
	h := atLocalhost(t, func(url string) func(*server.Options) {
		return withProvider(t, url, accounts.Admission{})
	})
	drive(h, "openid.mjs", os.Getenv("ONEFOLD_TEST_SHOTS"))
}

// atLocalhost serves at a host with a name, which passkeys and providers need. change makes options
// from its URL.
func atLocalhost(t *testing.T, change func(url string) func(*server.Options)) *servertest.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	servertest.Must(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	servertest.Must(t, err)
	url := "http://localhost:" + port
	h := servertest.New(t, change(url))
	web, served := &http.Server{Handler: h.Server.Handler()}, make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	t.Cleanup(func() {
		servertest.Must(t, web.Close())
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	h.URL = url
	return h
}
