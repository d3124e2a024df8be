package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

const tokenScheme = "token"

// needsToken marks an operation that only a bearer of the token may call.
var needsToken = []map[string][]string{{tokenScheme: {}}}

// authenticate refuses operations that need the token to those who do not have it.
func (s *Server) authenticate(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if len(ctx.Operation().Security) == 0 || s.authorized(ctx.Header("Authorization")) {
			next(ctx)
			return
		}
		ctx.SetHeader("WWW-Authenticate", `Bearer realm="onefold"`)
		const hint = "Send the token that onefold serve was started with: Authorization: Bearer <token>."
		if err := huma.WriteErr(api, ctx, http.StatusUnauthorized, hint); err != nil {
			s.o.Logger.Warn("answer not written", "error", err)
		}
	}
}

func (s *Server) authorized(header string) bool {
	token, ok := strings.CutPrefix(header, "Bearer ")
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1 && ok
}

// securityHeaders says what no browser should do with an answer of ours.
func securityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		if strings.HasPrefix(r.URL.Path, "/api/") {
			h.Set("Cache-Control", "no-store")
		}
		next.ServeHTTP(w, r)
	})
}

// allowIngestFromAnywhere lets pages of any origin send events, without credentials. Everything else stays same-origin.
func allowIngestFromAnywhere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != eventPath && r.URL.Path != eventsPath {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if r.Method == http.MethodOptions {
			w.Header().Set("Access-Control-Allow-Methods", "POST")
			w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
			w.Header().Set("Access-Control-Max-Age", "86400")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}
