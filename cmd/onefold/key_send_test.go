package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// withInput runs a command with a text on its standard input, and returns what it prints and its
// error output.
func withInput(t *testing.T, input string, args ...string) (out, errs string, code int) {
	t.Helper()
	var printed, failed bytes.Buffer
	code = run(context.Background(), args, streams{in: strings.NewReader(input), out: &printed, err: &failed})
	return printed.String(), failed.String(), code
}

// A container has no terminal and no browser: the server creates its owner from a file, and a
// command creates the first key while the server runs.
func TestFirstKeyWithoutATerminal(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	data, secret := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "password")
	const password = "correct horse battery"
	write := func(text string) {
		if err := os.WriteFile(secret, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	serve := []string{"--data", data, "serve", "--addr", "127.0.0.1:0", "--token", testToken, "--owner-email", "ops@example.org", "--owner-password-file", secret}
	write("short\n")
	failsWith(t, "bad_owner: ", serve...)
	write("two\nlines of text\n")
	failsWith(t, "bad_owner: --owner-password-file", serve...)
	write(password + "\n")
	s := startServer(t, serve...)
	person := []string{"--server", s.url, "--email", "ops@example.org"}
	key := func(input string, args ...string) (string, string, int) {
		return withInput(t, input, append(append([]string{"key"}, args...), person...)...)
	}
	out, errs, code := key(password+"\n", "create", "--site", "*", "--scope", "write", "--name", "first")
	token := strings.TrimSpace(out)
	if code != exitOK || !strings.HasPrefix(token, "ofk_") {
		t.Fatalf("exit code %d, %q, %s", code, out, errs)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/v1/fleets", strings.NewReader(`{"id":"lab"}`))
	servertest.Must(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.Body.Close() != nil || answer.StatusCode/100 != 2 {
		t.Fatal(answer, err)
	}
	if _, errs, code = key("wrong password\n", "list"); code == exitOK || !strings.Contains(errs, "bad_login") {
		t.Errorf("a wrong password: exit code %d, %s", code, errs)
	}
	servertest.Must(t, s.end(t, syscall.SIGTERM))

	servertest.Must(t, os.Remove(secret)) // it is needed once
	again := startServer(t, serve...)
	person[1] = again.url
	if out, errs, code = key(password, "list", "--json"); code != exitOK || !strings.Contains(out, `"first"`) {
		t.Errorf("after a restart: exit code %d, %s %s", code, out, errs)
	}
	servertest.Must(t, again.end(t, syscall.SIGTERM))
}

// Keys are managed on a running server as a person, whose session ends with the command.
func TestKeysOfARunningServer(t *testing.T) {
	h := servertest.New(t, nil)
	owner := h.NewPerson("ops@example.org", accounts.Grants{accounts.AllSites: accounts.Owner})
	key := func(input string, args ...string) (string, string, int) {
		return withInput(t, input, append(append([]string{"key"}, args...), "--server", h.URL, "--email", "ops@example.org")...)
	}
	must := func(args ...string) string {
		t.Helper()
		out, errs, code := key(servertest.Password, args...)
		if code != exitOK {
			t.Fatalf("%v: exit code %d, %s", args, code, errs)
		}
		return out
	}
	fails := func(code, input string, args ...string) {
		t.Helper()
		if _, errs, exit := key(input, args...); exit == exitOK || !strings.Contains(errs, code) {
			t.Errorf("%v: exit code %d, %s, want %s", args, exit, errs, code)
		}
	}
	made := fromJSON[keyOutput](t, must("create", "--site", "blog", "--scope", "ingest", "--name", "edge", "--expires", "30d", "--json"))
	if left := time.Until(made.Expires); made.Creator == "" || made.Scope != "ingest" || left < 29*24*time.Hour || left > 31*24*time.Hour {
		t.Errorf("made %+v", made)
	}
	if rotated := strings.TrimSpace(must("rotate", made.ID, "--overlap", "0s")); rotated == made.Token || !strings.HasPrefix(rotated, "ofk_"+made.ID) {
		t.Errorf("rotated to %q", rotated)
	}
	if list := must("list"); !strings.Contains(list, made.ID) || !strings.Contains(list, "edge") {
		t.Errorf("list %s", list)
	}
	must("revoke", made.ID)
	fails("no_such_key: there is no key "+made.ID, servertest.Password, "revoke", made.ID)
	fails("no_such_key: there is no key "+made.ID, servertest.Password, "rotate", made.ID)
	fails("unknown_site", servertest.Password, "create", "--site", "nope")
	fails("bad_overlap", servertest.Password, "rotate", made.ID, "--overlap", "90m")
	fails("no_password", "", "list")

	var begun struct{ Secret string }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(200, "secret", "POST", "/api/v1/me/second-factor", `{"password":"`+servertest.Password+`"}`)), &begun))
	code, err := totp.GenerateCode(begun.Secret, time.Now())
	servertest.Must(t, err)
	var confirmed struct{ RecoveryCodes []string }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(200, "recoveryCodes", "POST", "/api/v1/me/second-factor/confirm", `{"code":"`+code+`"}`)), &confirmed))
	fails("second_factor_required", servertest.Password, "list")
	must("list", "--code", confirmed.RecoveryCodes[0])
	fails("bad_code", servertest.Password, "list", "--code", confirmed.RecoveryCodes[0])
	var sessions struct{ Sessions []struct{ Current bool } }
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(200, "", "GET", "/api/v1/me/sessions", "")), &sessions))
	if len(sessions.Sessions) != 1 {
		t.Errorf("%d sessions are left, want that of the person", len(sessions.Sessions))
	}
}
