package dynamotest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// StartDynalite runs dynalite, a third-party implementation, until the test ends, and returns its
// URL. It skips the test with -short, or if dynalite is not installed, unless ONEFOLD_TEST_DYNALITE
// requires it.
func StartDynalite(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the time to run dynalite is missing: leave -short out")
	}
	program := dynaliteProgram()
	if program == "" && os.Getenv("ONEFOLD_TEST_DYNALITE") == "" {
		t.Skip("dynalite is missing: `make dynalite` installs it, with Node.js; ONEFOLD_TEST_DYNALITE=1 makes this an error")
	}
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("node", program, "--host", "127.0.0.1", "--port", port,
		"--createTableMs", "1", "--deleteTableMs", "1", "--updateTableMs", "1")
	var complaints strings.Builder
	server.Stderr = &complaints
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatalf("start dynalite: %v; node runs it", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // it may have crashed
		_ = server.Wait()
		if t.Failed() && complaints.Len() > 0 {
			t.Logf("dynalite says: %s", complaints.String())
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "listening") {
		t.Fatalf("dynalite did not start: %q %v", line, err)
	}
	return fmt.Sprintf("http://%s", address)
}

// dynaliteProgram returns the path of dynalite, which is installed alongside this file, or "" if it is
// not. It searches for the repository's root, the first parent folder with a go.mod.
func dynaliteProgram() string {
	for dir := "."; len(dir) < 64; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			program := filepath.Join(dir, "dynamo/dynamotest/dynalite/node_modules/dynalite/cli.js")
			if _, err := os.Stat(program); err != nil {
				return ""
			}
			return program
		}
	}
	return ""
}

// freeAddress returns an unused loopback address.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	return l.Addr().String()
}
