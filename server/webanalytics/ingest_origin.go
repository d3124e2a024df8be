package webanalytics

import "net/http"

// allowIngestFromAnywhere lets pages of any origin send events, without credentials. Everything
// else stays same-origin.
func (s *Service) allowIngestFromAnywhere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; p != eventPath && p != eventsPath && (p != s.o.EventPath || p == "") {
			next.ServeHTTP(w, r)
			return
		}
		w.Header()["Access-Control-Allow-Origin"] = anyOrigin
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

// anyOrigin is a header value. Nothing may write to it.
var anyOrigin = []string{"*"}
