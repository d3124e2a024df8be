package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Only a server that reports that it is healthy passes.
func TestHealth(t *testing.T) {
	for _, c := range []struct{ path, body, want string }{
		{"/healthz", `{"status":"ok"}`, ""}, {"/healthz", `{"status":"behind"}`, "unhealthy: "}, {"/healthz", "<html>Welcome</html>", "unhealthy: "}, {"/healthz", `{}`, "unhealthy: "},
		{"/livez", `{"status":"alive"}`, ""}, {"/livez", `{"status":"ok"}`, "unhealthy: "},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != c.path {
				t.Errorf("asked for %s", r.URL.Path)
			}
			io.WriteString(w, c.body) //nolint:errcheck // whoever asks will tell
		}))
		args := []string{"health", s.URL + "/"}
		if c.path == "/livez" {
			args = append(args, "--live")
		}
		if c.want == "" {
			onefold(t, args...)
		} else if code, errs := fails(args...); code != exitFailed || !strings.Contains(errs, c.want) {
			t.Errorf("%s: %d %s", c.body, code, errs)
		}
		s.Close()
	}
	for _, url := range []string{"nonsense", "127.0.0.1:8090", "ftp://a", "http://"} {
		if code, errs := fails("health", url); code != exitUsage || !strings.Contains(errs, "bad_url: ") {
			t.Errorf("%s: %d %s", url, code, errs)
		}
	}
}
