package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/onefold/onefold/server/dashboard"
)

// dashboardPattern is the pattern of every path that has no other route.
const dashboardPattern = "GET /"

// apiSegments are the first segments of paths at which clients look for APIs: ours, InfluxDB's and
// that of OpenTelemetry. None of them is ever answered with the dashboard's page.
var apiSegments = []string{"api", "v1", "query", "write"}

// dashboardRoutes serves the dashboard's files and pages. securityHeaders limits what they may
// load. At an unknown path a browser gets the page, which says so, and a program gets a problem: it
// would take a page for success.
func dashboardRoutes(mux *http.ServeMux) error {
	page, err := dashboard.Load()
	if err != nil {
		return err
	}
	unknown := notFound(noOperation)
	mux.HandleFunc(dashboardPattern, func(w http.ResponseWriter, r *http.Request) {
		if page.Has(r.URL.Path) || acceptsHTML(r) && !slices.Contains(apiSegments, dashboard.FirstSegment(r.URL.Path)) {
			page.ServeHTTP(w, r)
			return
		}
		unknown.ServeHTTP(w, r)
	})
	return nil
}

// acceptsHTML reports whether a request is for a page, as from the address bar of a browser.
func acceptsHTML(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Accept"), func(accept string) bool { return strings.Contains(accept, "text/html") })
}

// noOperation tells programs where the operations are.
const noOperation = "There is no such operation. See /docs."
