// Package openidtest runs a certified OpenID provider for tests: oidc-provider for Node.js.
package openidtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// onefold's registration with the provider.
const (
	ClientID     = "onefold"
	ClientSecret = "known to the provider and to onefold"
)

// Person is a person with an account at the provider.
type Person struct {
	Email         string `json:"email,omitempty"`
	EmailVerified any    `json:"email_verified,omitempty"`
	Name          string `json:"name,omitempty"`
}

// Start runs a provider until the test ends, and returns its issuer. people are keyed by subject.
// If the provider is not installed, the test is skipped, or fails if ONEFOLD_TEST_OPENID is set.
// The test is also skipped with -short.
func Start(t testing.TB, redirectURL string, people map[string]Person) (issuer string) {
	t.Helper()
	if testing.Short() {
		t.Skip("the time to run an OpenID provider is missing: leave -short out")
	}
	dir := program()
	if dir == "" {
		if os.Getenv("ONEFOLD_TEST_OPENID") == "" {
			t.Skip("the OpenID provider is missing: `make openid` installs it, with Node.js; ONEFOLD_TEST_OPENID=1 makes this an error")
		}
		t.Fatal("the OpenID provider is missing: `make openid` installs it")
	}
	known, err := json.Marshal(people)
	if err != nil {
		t.Fatal(err)
	}
	node, complaints := exec.Command("node", "provider.mjs"), new(bytes.Buffer)
	node.Dir, node.Stderr = dir, complaints
	node.Env = append(os.Environ(), "CLIENT_ID="+ClientID, "CLIENT_SECRET="+ClientSecret, "REDIRECT_URL="+redirectURL, "PEOPLE="+string(known))
	stdin, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatalf("start the OpenID provider: %v; node runs it", err)
	}
	t.Cleanup(func() {
		stdin.Close() //nolint:errcheck // it ends with its input
		if err := node.Wait(); err != nil || t.Failed() {
			t.Logf("the OpenID provider ended: %v\n%s", err, complaints)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the OpenID provider did not start: %q %v", line, err)
	}
	return strings.TrimSpace(line)
}

// program returns the path of the installed provider. Tests run in their package's directory, below
// the root of the repository.
func program() string {
	dir, err := os.Getwd()
	for err == nil {
		path := filepath.Join(dir, "accounts/openid/openidtest/provider")
		if _, err := os.Stat(filepath.Join(path, "node_modules/oidc-provider/package.json")); err == nil {
			return path
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

var action = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)

// LogIn simulates a person at the provider, with a new browser. It follows the URL to which onefold
// redirects the browser, logs in as a subject, consents, and returns the URL to which the provider
// redirects back.
func LogIn(t testing.TB, there, subject string) (back *url.URL) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	provider, err := url.Parse(there)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Host != provider.Host {
			back = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}}
	answer, err := browser.Get(there)
	for step := 0; ; step++ {
		if err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		_, err = page.ReadFrom(answer.Body)
		answer.Body.Close() //nolint:errcheck // it was read
		if err != nil {
			t.Fatal(err)
		}
		if back != nil {
			return back
		}
		form := action.FindSubmatch(page.Bytes())
		if form == nil || step == 5 {
			t.Fatalf("the provider shows no form: %s\n%s", answer.Status, page.Bytes())
		}
		to, parseErr := answer.Request.URL.Parse(string(form[1]))
		if parseErr != nil {
			t.Fatal(parseErr)
		}
		fields := url.Values{"prompt": {"login"}, "login": {subject}, "password": {"any"}}
		if bytes.Contains(page.Bytes(), []byte(`value="consent"`)) {
			fields = url.Values{"prompt": {"consent"}}
		}
		answer, err = browser.PostForm(to.String(), fields)
	}
}
