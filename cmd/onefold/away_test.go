package main

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/onefold/onefold/cmd/internal/clitest"
)

// saysWaits finds the address of a process that waits for its table.
var saysWaits = regexp.MustCompile(`waits for its table; status at (http://[^/]+)/readyz`)

// waiting starts a command whose table is unreachable, and returns once the command prints that it
// waits. It returns the address and the rest of its output.
func waiting(t *testing.T, args ...string) (cmd *exec.Cmd, url string, lines *bufio.Scanner) {
	t.Helper()
	cmd = process(t, args...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	lines = bufio.NewScanner(stderr)
	for lines.Scan() {
		if found := saysWaits.FindStringSubmatch(lines.Text()); found != nil {
			return cmd, found[1], lines
		}
		t.Log(lines.Text())
	}
	t.Fatalf("it does not wait: %v", cmd.Wait())
	return nil, "", nil
}

// asked returns the status and body of a response.
func asked(t *testing.T, method, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(`{"site":"s","url":"/"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", browser)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// Servers and workers started while their table is unreachable wait, report it, and stop cleanly.
// When the table is back they continue. A table that does not match the schema is still an error.
func TestStoreAwayAtStart(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	f := &far{T: t, dir: t.TempDir(), addr: "127.0.0.1:0"}
	f.startStore()
	onefold(t, "--store", f.url(), "infra", "apply")
	onefold(t, "--store", f.url(), "site", "create", "s")
	_ = f.store.end(t, syscall.SIGKILL)

	serve := []string{"--data", f.dir + "/near", "--store", f.url(), "serve", "--addr", "127.0.0.1:0", "--token", testToken}
	work := []string{"--store", f.url(), "work", "--metrics", "127.0.0.1:0"}
	for _, args := range [][]string{serve, work} {
		cmd, url, lines := waiting(t, args...)
		if status, text := asked(t, http.MethodGet, url+"/livez"); status != http.StatusOK {
			t.Errorf("livez: %d %s", status, text)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			t.Log(lines.Text())
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v was told to stop while it waited: %v", args, err)
		}
	}

	cmd, url, lines := waiting(t, serve...)
	for path, want := range map[string]string{"/readyz": "unreachable", "/healthz": "unreachable", "/api/event": "store_unreachable"} {
		if status, text := asked(t, http.MethodPost, url+path); status != http.StatusServiceUnavailable || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	f.startStore()
	at := ""
	for at == "" && lines.Scan() {
		if found := saysWhere.FindStringSubmatch(lines.Text()); found != nil {
			at = found[1]
		}
	}
	if status, text := asked(t, http.MethodPost, at+"/api/event"); status != http.StatusAccepted {
		t.Errorf("an event when the table is back: %d %s", status, text)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		t.Log(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("stopped: %v", err)
	}
	for _, command := range []string{"serve", "work"} {
		if code, errs := fails("--data", f.dir+"/other", "--store", strings.TrimSuffix(f.url(), "onefold")+"other", command); code != exitFailed || !strings.Contains(errs, "no_table: ") {
			t.Errorf("%s, a table that is not there: %d %s", command, code, errs)
		}
	}
	_ = f.store.end(t, syscall.SIGKILL)
}
