package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestServeWithoutItsParts starts a server without its bucket, GeoIP database and mail server. It
// serves, and reports the failed parts. An invalid location is an error at startup.
func TestServeWithoutItsParts(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	run := func(args ...string) []string {
		return append([]string{"--data", data, "serve", "--addr", "127.0.0.1:0", "--token", testToken}, args...)
	}
	s := startServer(t, run("--geo", filepath.Join(dir, "places.mmdb"), "--warehouse", "s3://nowhere/facts?region=eu-central-1&endpoint=http://127.0.0.1:1")...)
	for _, part := range []string{"geo", "warehouse"} {
		soon(t, part+" is told to fail", func() bool { return s.metric(t, `onefold_part_up{part="`+part+`"}`) == "0" })
	}
	if status, _, text := s.ask(t, http.MethodGet, "/healthz", ""); status != http.StatusOK || !strings.Contains(text, `"name":"geo"`) || !strings.Contains(text, `"name":"warehouse"`) {
		t.Errorf("health: %d %s", status, text)
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("stopped: %v", err)
	}
	full := filepath.Join(dir, "full")
	if err := os.MkdirAll(filepath.Join(full, "photos"), 0o700); err != nil {
		t.Fatal(err)
	}
	for what, place := range map[string]string{"other files": full, "no place": "s3://nowhere?color=red"} {
		if err := process(t, run("--warehouse", place)...).Run(); err == nil {
			t.Errorf("%s: it serves", what)
		}
	}
}
