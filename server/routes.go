package server

import (
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/server/dashboard"
	"github.com/onefold/onefold/server/internal/middleware"
)

// routes registers every operation of the API, and handlers for everything else.
func (s *Server) routes() (http.Handler, error) {
	mux := http.NewServeMux()
	s.intake = newIntake(mux, s.visits.Scripts())
	api := s.api(mux)
	for _, p := range s.products {
		if err := p.Register(api, mux); err != nil {
			return nil, err
		}
	}
	s.signInRoutes(api)
	s.setupRoutes(api)
	s.userRoutes(api)
	s.madeRoutes(api)
	s.memberRoutes(api)
	s.invitationRoutes(api)
	s.keyRoutes(api)
	s.shareRoutes(api)
	s.auditRoutes(api)
	s.healthRoutes(api)
	liveRoutes(api)
	s.readyRoutes(api)
	if err := errors.Join(middleware.CheckGuards(api), middleware.CheckSchemas(api)); err != nil {
		return nil, err
	}
	if err := errors.Join(s.documentRoutes(api, mux), dashboardRoutes(mux)); err != nil {
		return nil, err
	}
	s.wellKnownRoutes(mux)
	if s.o.MetricsApart {
		mux.Handle("GET /metrics", notFound("The metrics are served at a separate address."))
	} else {
		mux.Handle("GET /metrics", s.metrics())
	}
	handler := unknownPaths(mux)
	for _, p := range s.products {
		handler = p.Wrap(handler)
	}
	if err := s.mcpRoutes(mux, handler); err != nil {
		return nil, err
	}
	if s.o.Load != nil {
		handler = s.o.Load.Handler(handler)
	}
	return s.mw.Metrics.CountPanics(s.mw.WithClientAddress(s.securityHeaders(handler))), nil
}

func (s *Server) api(mux *http.ServeMux) huma.API {
	config := huma.DefaultConfig("onefold", s.o.Version)
	config.Info.Description = "Web analytics, telemetry and an event store."
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		middleware.TokenScheme:   {Type: "http", Scheme: "bearer", Description: "An API key, the access token of a shared view, or the token that `onefold serve` was started with."},
		middleware.SessionScheme: {Type: "apiKey", In: "cookie", Name: middleware.SessionCookie, Description: "Cookie set by logging in. Requests that change something must also send X-CSRF-Token, from GET /api/v1/me."},
	}
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	config.DocsPath = ""                            // huma's page would load scripts from elsewhere
	config.OpenAPIPath, config.SchemasPath = "", "" // documentRoutes serves the document
	config.Formats = maps.Clone(config.Formats)     // a copy: huma's map is shared by all servers of the process
	config.Formats["application/json"], config.Formats["json"] = middleware.JSON, middleware.JSON
	// navigator.sendBeacon cannot send application/json without a CORS preflight.
	config.Formats["text/plain"] = middleware.JSON
	config.CreateHooks = nil // no $schema links in responses
	config.Transformers = append(config.Transformers, middleware.WithCode)
	api := huma.NewAPI(config, s.intake.noting(humago.NewAdapter(mux, "")))
	api.UseMiddleware(s.mw.Metrics.Observe, s.mw.Authorize(api))
	return api
}

// schemaName names types in the API document, with the prefix of their product.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	for _, p := range declared {
		if slices.ContainsFunc(p.paths, func(path string) bool { return strings.Contains(t.PkgPath(), path) }) {
			return p.prefix + name
		}
	}
	return name
}

// methods are the HTTP methods of operations.
var methods = [...]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// unknownPaths answers requests that match no operation with a problem, like all other errors. It
// leaves the dashboard's pages to the dashboard.
func unknownPaths(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		below := strings.HasPrefix(r.URL.Path, "/api/")
		switch pattern := patternOf(mux, r, r.Method); {
		case below && isOperation(pattern), !below && pattern != "":
			mux.ServeHTTP(w, r)
			return
		}
		var allowed []string
		for _, method := range methods {
			if pattern := patternOf(mux, r, method); isOperation(pattern) || !below && pattern != "" && (pattern != dashboardPattern || dashboard.IsPage(r.URL.Path)) {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			notFound(noOperation).ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		middleware.WriteProblem(w, middleware.Problem(http.StatusMethodNotAllowed, "method_not_allowed", "This path supports "+strings.Join(allowed, ", ")+"."))
	})
}

// patternOf returns the mux's pattern for the request's path and the given method, "" if none.
func patternOf(mux *http.ServeMux, r *http.Request, method string) string {
	as := *r
	as.Method = method
	_, pattern := mux.Handler(&as)
	return pattern
}

// isOperation reports whether a pattern is that of an operation below /api/.
func isOperation(pattern string) bool { return strings.Contains(pattern, " /api/") }
