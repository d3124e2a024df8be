package server

import (
	"net/http"

	"github.com/onefold/onefold/server/dashboard"
)

// dashboardRoutes serves the dashboard at every path that has no other route. securityHeaders
// limits what it may load.
func dashboardRoutes(mux *http.ServeMux) error {
	page, err := dashboard.Load()
	if err != nil {
		return err
	}
	mux.Handle("GET /", page)
	return nil
}
