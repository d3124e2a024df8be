package servertest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/onefold/onefold/server/dashboard"
)

// scripts returns the path of the browser scripts, relative to the test's directory.
func scripts(t *testing.T) string {
	t.Helper()
	root, err := os.Getwd()
	Must(t, err)
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, "server", "e2e")
		}
		if root == filepath.Dir(root) {
			t.Fatal("the test does not run in the project")
		}
		root = filepath.Dir(root)
	}
}

// NeedBrowser finds Chromium and Node.js, or skips the test with a message that names the missing
// one.
func NeedBrowser(t *testing.T) (browser, node string) {
	t.Helper()
	if testing.Short() {
		t.Skip("the time to drive a browser is missing: leave -short out")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			browser = found
			break
		}
	}
	if browser == "" {
		t.Skip("Chromium is missing: `make browser` installs it where it may, else use your package manager")
	}
	if _, err := os.Stat(filepath.Join(scripts(t), "node_modules", "playwright-core")); err != nil {
		t.Skip("playwright-core is missing: run `make browser`, which needs Node.js 20 or newer")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is missing: install version 20 or newer")
	}
	return browser, node
}

// NeedPage skips a test of the dashboard if the browser or the built dashboard is missing.
func NeedPage(t *testing.T) {
	t.Helper()
	NeedBrowser(t)
	page, err := dashboard.Load()
	Must(t, err)
	if !page.Built() {
		t.Skip("the page is not built; run `make web`, which needs Node.js")
	}
}

// Script prepares a browser script of e2e. It gets half an hour, because the machine may be busy.
func Script(t *testing.T, script string, arguments ...string) *exec.Cmd {
	t.Helper()
	browser, node := NeedBrowser(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, node, append([]string{filepath.Join(scripts(t), script)}, arguments...)...)
	cmd.Env = append(os.Environ(), "CHROMIUM="+browser)
	return cmd
}
