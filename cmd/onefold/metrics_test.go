package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Metrics can have their own address and token. A server does not start with two tokens, or with an
// empty or short one.
func TestMetricsHaveAnAddressAndAToken(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte("a token for Prometheus\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := process(t, "--data", filepath.Join(dir, "data"), "serve", "--addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0", "--metrics-token-file", file)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // that it was killed
	}()
	said := regexp.MustCompile(`^metrics: (http://\S+)$`)
	where, lines := "", bufio.NewScanner(errs)
	for where == "" && lines.Scan() {
		if found := said.FindStringSubmatch(lines.Text()); found != nil {
			where = found[1]
		}
	}
	for header, want := range map[string]int{"": http.StatusUnauthorized, "Bearer a token for Prometheus": http.StatusOK} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, where, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", header)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != want || strings.Contains(string(text), "onefold_fold_total") != (want == http.StatusOK) {
			t.Errorf("with %q: %d %v %.100s", header, answer.StatusCode, err, text)
		}
	}
}

func TestBadMetricsTokens(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"omit one of them":              {"--metrics-token", "sixteen characters", "--metrics-token-file", empty},
		"contains no token":             {"--metrics-token-file", empty},
		"no such file":                  {"--metrics-token-file", filepath.Join(dir, "none")},
		"at least 16 characters":        {"--metrics-token", "short"},
		"bad_security_contact":          {"--security-contact", "javascript:alert(1)"},
		"give --metrics-addr HOST:PORT": {"--metrics-addr", "nowhere"},
	} {
		out, err := process(t, append([]string{"--data", filepath.Join(dir, "data"), "serve", "--addr", "127.0.0.1:0"}, args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, want %q:\n%s", args, err, want, out)
		}
	}
}
