package server

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/apidocs"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/internal/webfile"
)

// documentRoutes serves the OpenAPI document for programs and for people. Both are built and
// compressed once, so requests are cheap. Networks are rate-limited as for everything else that is
// public.
func (s *Server) documentRoutes(api huma.API, mux *http.ServeMux) error {
	text, err := json.Marshal(api.OpenAPI())
	if err != nil {
		return fmt.Errorf("server: encode the API's document: %w", err)
	}
	html, policy, err := apidocs.Page(api, middleware.NeedsOf)
	if err != nil {
		return err
	}
	for _, d := range []struct {
		path, contentType, policy string
		text                      []byte
	}{
		{"/openapi.json", "application/openapi+json", "default-src 'none'; frame-ancestors 'none'", text},
		{"/docs", "text/html; charset=utf-8", policy, html},
	} {
		file, err := webfile.Gzipped(d.contentType, d.text)
		if err != nil {
			return fmt.Errorf("server: compress %s: %w", d.path, err)
		}
		mux.Handle("GET "+d.path, s.mw.LimitAnonymous(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "public, max-age=300")
			w.Header().Set("Content-Security-Policy", d.policy)
			file.ServeHTTP(w, r)
		})))
	}
	return nil
}

// notFound returns a handler that answers 404 with a reason.
func notFound(detail string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		middleware.WriteProblem(w, middleware.Problem(http.StatusNotFound, "not_found", detail))
	})
}
