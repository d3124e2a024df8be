package server

import (
	"net/http"
	"strings"
)

// pagePolicy lets our pages load what this server serves and nothing from other hosts. Scripts and
// style sheets are files; only single elements may have a style attribute, such as the width of a
// bar.
const pagePolicy = "default-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors "

// always holds header values that all responses share, in the form that http.Header stores. Nothing
// may write to these slices: Set and Add replace them.
var always = struct{ noSniff, noReferrer, sameOrigin, noDevices, noStore, noContent, noFrames []string }{
	noSniff:    []string{"nosniff"},
	noReferrer: []string{"no-referrer"},
	sameOrigin: []string{"same-origin"},
	noDevices:  []string{"camera=(), geolocation=(), microphone=(), payment=(), usb=()"},
	noStore:    []string{"no-store"},
	noContent:  []string{"default-src 'none'; frame-ancestors 'none'"},
	noFrames:   []string{"DENY"},
}

// securityHeaders adds the headers that restrict what browsers do with our responses.
func (s *Server) securityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["X-Content-Type-Options"], h["Referrer-Policy"] = always.noSniff, always.noReferrer
		h["Cross-Origin-Opener-Policy"], h["Permissions-Policy"] = always.sameOrigin, always.noDevices
		if s.mw.OverTLS(r) {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		frames := "'none'"
		switch {
		case strings.HasPrefix(r.URL.Path, "/api/"):
			h["Cache-Control"], h["Content-Security-Policy"] = always.noStore, always.noContent
		case strings.HasPrefix(r.URL.Path, sharePrefix):
			if origins := s.embedders(r); origins != "" {
				frames = origins
			}
			fallthrough
		default:
			h.Set("Content-Security-Policy", pagePolicy+frames)
		}
		if frames == "'none'" { // for browsers without frame-ancestors
			h["X-Frame-Options"] = always.noFrames
		}
		next.ServeHTTP(w, r)
	})
}

// sharePrefix is the path of the pages of shared views.
const sharePrefix = "/share/"

// embedders returns the origins whose pages may show a shared view in a frame, in the syntax of a
// content security policy.
func (s *Server) embedders(r *http.Request) string {
	share, err := s.o.Accounts.FindShare(r.Context(), strings.TrimPrefix(r.URL.Path, sharePrefix))
	if err != nil { // the page reports the problem itself
		return ""
	}
	return strings.Join(share.Embed, " ")
}
