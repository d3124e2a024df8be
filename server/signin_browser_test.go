package server_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
)

// TestLoggingInInABrowser sets up an authenticator app and a passkey, and logs in with both, in Chromium: see e2e/signin.mjs. Passkeys
// need a host with a name, so the server is at localhost.
func TestLoggingInInABrowser(t *testing.T) {
	servertest.NeedPage(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	servertest.Must(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	servertest.Must(t, err)
	url := "http://localhost:" + port
	h := servertest.New(t, func(o *server.Options) { o.PublicURL = url })
	web, served := &http.Server{Handler: h.Server.Handler()}, make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	t.Cleanup(func() {
		servertest.Must(t, web.Close())
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	h.URL = url
	drive(h, "signin.mjs", os.Getenv("ONEFOLD_TEST_SHOTS"))
}
