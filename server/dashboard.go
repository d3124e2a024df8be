package server

import (
	"net/http"

	"github.com/onefold/onefold/server/dashboard"
)

// dashboardRoutes serve the page wherever nothing else is. securityHeaders says what it may load.
func dashboardRoutes(mux *http.ServeMux) error {
	page, err := dashboard.Load()
	if err != nil {
		return err
	}
	mux.Handle("GET /", page)
	return nil
}
