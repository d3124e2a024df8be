package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Only a server that says of itself that it is well is well.
func TestHealth(t *testing.T) {
	for body, want := range map[string]string{
		`{"status":"ok"}`: "", `{"status":"behind"}`: "unhealthy: ", "<html>Welcome</html>": "unhealthy: ", `{}`: "unhealthy: ",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			io.WriteString(w, body) //nolint:errcheck // whoever asks will tell
		}))
		if want == "" {
			onefold(t, "health", s.URL+"/")
		} else if code, errs := fails("health", s.URL); code != exitFailed || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s", body, code, errs)
		}
		s.Close()
	}
	for _, url := range []string{"nonsense", "127.0.0.1:8090", "ftp://a", "http://"} {
		if code, errs := fails("health", url); code != exitUsage || !strings.Contains(errs, "bad_url: ") {
			t.Errorf("%s: %d %s", url, code, errs)
		}
	}
}
