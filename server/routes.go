package server

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/server/apidocs"
)

// routes wires every operation. What is not an operation of the API is served beside it.
func (s *Server) routes() (http.Handler, error) {
	mux := http.NewServeMux()
	api := s.api(mux)
	s.ingestRoutes(api)
	s.siteRoutes(api)
	s.statisticsRoutes(api)
	s.statsRoutes(api)
	s.exploreSessionRoutes(api)
	s.exploreFunnelRoutes(api)
	s.exploreJourneyRoutes(api)
	s.exploreExportRoutes(api)
	s.realtimeRoutes(api)
	s.goalRoutes(api)
	s.erasureRoutes(api)
	s.verifyRoutes(api)
	s.sessionRoutes(api)
	s.setupRoutes(api)
	s.userRoutes(api)
	s.keyRoutes(api)
	s.shareRoutes(api)
	s.auditRoutes(api)
	s.healthRoutes(api)
	if err := checkGuards(api); err != nil {
		return nil, err
	}
	docs, err := apidocs.Handler(api, needsOf)
	if err != nil {
		return nil, err
	}
	mux.Handle("GET /docs", docs)
	mux.HandleFunc("GET /badge/{file}", s.badge)
	mux.Handle("GET /metrics", s.metricsHandler())
	if err := s.trackerRoutes(mux); err != nil {
		return nil, err
	}
	if err := dashboardRoutes(mux); err != nil {
		return nil, err
	}
	return s.withClientAddress(s.securityHeaders(s.allowIngestFromAnywhere(s.quickIngest(unknownPaths(mux))))), nil
}

func (s *Server) api(mux *http.ServeMux) huma.API {
	config := huma.DefaultConfig("onefold", s.o.Version)
	config.Info.Description = "Events in, statistics out."
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		tokenScheme:   {Type: "http", Scheme: "bearer", Description: "An API key, the access of a shared view, or the token that `onefold serve` was started with."},
		sessionScheme: {Type: "apiKey", In: "cookie", Name: sessionCookie, Description: "What logging in sets. Requests that change something also send X-CSRF-Token, which GET /api/v1/me tells."},
	}
	config.DocsPath = "" // the package's page loads from elsewhere
	// navigator.sendBeacon cannot say application/json without asking the server first.
	config.Formats["text/plain"] = huma.DefaultJSONFormat
	config.CreateHooks = nil // no $schema links in answers
	config.Transformers = append(config.Transformers, withCode)
	api := humago.New(mux, config)
	api.UseMiddleware(s.metrics.observe, s.authorize(api))
	return api
}

// methods are those that operations have.
var methods = [...]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// unknownPaths answers requests below /api/ that no operation is for with a problem, like all other errors there.
func unknownPaths(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/") || isOperation(mux, r, r.Method) {
			mux.ServeHTTP(w, r)
			return
		}
		var allowed []string
		for _, method := range methods {
			if isOperation(mux, r, method) {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			writeProblem(w, problem(http.StatusNotFound, "not_found", "There is no such operation. /docs lists them."))
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		writeProblem(w, problem(http.StatusMethodNotAllowed, "method_not_allowed", "This path knows "+strings.Join(allowed, ", ")+"."))
	})
}

// isOperation reports whether the mux has a pattern below /api/ for a request, were it of a method.
func isOperation(mux *http.ServeMux, r *http.Request, method string) bool {
	as := *r
	as.Method = method
	_, pattern := mux.Handler(&as)
	return strings.Contains(pattern, " /api/")
}

// needs says for people what an operation asks of its caller.
var needs = map[permission]string{
	forAnyone: "For anyone.", forSomebody: "For people and keys.", forPerson: "For people who logged in.",
	forStatistics: "For whoever may see the site's statistics, shared and public views too.",
	forRead:       "For viewers of the site, and keys that read.", forWrite: "For admins of the site, and keys that write.",
	forOwner: "For owners of the site.", forNewSites: "For admins of all sites, and keys that write to all.", forAccounts: "For owners of all sites.",
}

func needsOf(op *huma.Operation) string {
	need, _ := op.Metadata[permissionKey].(permission)
	return needs[need]
}
