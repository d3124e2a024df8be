package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// securityExpiry is how long a copy of security.txt is valid. RFC 9116, section 2.5.5, recommends
// less than a year.
const securityExpiry = 180 * 24 * time.Hour

// wellKnownRoutes serves files at well-known paths (RFC 8615). Other well-known paths are 404,
// because the dashboard's page is not for programs.
func (s *Server) wellKnownRoutes(mux *http.ServeMux) {
	mux.Handle("GET /.well-known/", notFound("There is nothing at this well-known path."))
	if s.o.SecurityContact == "" {
		return
	}
	mux.HandleFunc("GET /.well-known/security.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "public, max-age=3600")
		expires := s.o.Clock().UTC().Truncate(24 * time.Hour).Add(securityExpiry)
		fmt.Fprintf(w, "Contact: %s\nExpires: %s\n", s.o.SecurityContact, expires.Format(time.RFC3339)) // the reader may be gone; ignore the error
	})
}

// checkContact rejects contacts that RFC 9116 does not allow.
func checkContact(contact string) error {
	u, err := url.Parse(contact)
	if contact == "" || err == nil && contact == u.String() && (u.Scheme == "https" && u.Host != "" || (u.Scheme == "mailto" || u.Scheme == "tel") && u.Opaque != "") &&
		!strings.ContainsFunc(contact, func(r rune) bool { return r <= ' ' }) {
		return nil
	}
	return errors.New("bad_security_contact: a security contact is a URI that begins with https://, mailto: or tel:, such as mailto:security@example.com")
}
