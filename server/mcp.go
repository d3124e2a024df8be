package server

import (
	"net/http"

	"github.com/onefold/onefold/server/mcpserver"
)

// mcpPath is where AI clients connect.
const mcpPath = "/mcp"

// mcpRoutes serves the Model Context Protocol, whose tools ask the API. Each method has a pattern of its
// own, because a pattern for all methods would conflict with that of the dashboard.
func (s *Server) mcpRoutes(mux *http.ServeMux, api http.Handler) error {
	handler, err := mcpserver.Handler(mcpserver.Options{
		API: api, Version: s.o.Version, PublicURL: s.o.PublicURL, BehindProxy: s.o.TrustProxy, Logger: s.o.Logger, Clock: s.o.Clock,
	})
	if err != nil {
		return err
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		mux.Handle(method+" "+mcpPath, handler)
	}
	return nil
}
