package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/servertest"
)

// TestInstallationInABrowser checks pages of a site from its settings: see e2e/installation.mjs.
func TestInstallationInABrowser(t *testing.T) {
	t.Parallel()
	servertest.NeedPage(t)
	h := servertest.New(t, nil)
	h.Settings(func(s *analytics.Site) { s.Domains = []string{"localhost"} })
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := "blog"
		switch r.URL.Path {
		case "/other":
			site = "shop"
		case "/strict":
			w.Header().Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; script-src %[1]s; connect-src %[1]s", h.URL))
			w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		case "/none":
			_, _ = fmt.Fprint(w, `<!doctype html><title>A page without the tag</title>`) // the browser may have left
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><title>A page</title><link rel="icon" href="data:,"><script async src="%s/js/onefold.js" data-site="%s"></script>`, h.URL, site)
	}))
	t.Cleanup(pages.Close)
	drive(h, "installation.mjs", pages.URL, os.Getenv("ONEFOLD_TEST_SHOTS"))
}
