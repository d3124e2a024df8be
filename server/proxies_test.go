package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

const proxies = "../examples/proxies"

// proxied is a site whose pages reach onefold through a proxy of the site.
type proxied struct {
	*servertest.Server
	front string // URL of the proxy
	other int    // status of an event of another site
}

// proxyKinds start a proxy in front of a server and return its URL.
var proxyKinds = map[string]func(*testing.T, *servertest.Server) string{
	"nginx": nginx, "caddy": caddy,
	"cloudflare": edge("cloudflare"), "vercel": edge("vercel"), "netlify": edge("netlify"),
}

// TestProxies sends what pages send through each proxy of examples/proxies.
func TestProxies(t *testing.T) {
	t.Parallel()
	for name, start := range proxyKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("the time to run a proxy is missing: leave -short out")
			}
			h := servertest.New(t, func(o *server.Options) { o.TrustProxy = true })
			h.Settings(func(s *analytics.Site) {
				s.Exclude.Addresses = []string{"127.0.0.2"}
				s.RespectDNT = true
			})
			p := &proxied{h, start(t, h), http.StatusNotFound}
			if name != "nginx" && name != "caddy" {
				p.other = http.StatusForbidden // the key is for one site
			}
			p.scripts()
			p.addresses()
			p.answers()
		})
	}
}

// ask sends a request from an address of this machine, and returns the response's status, header and body.
func (p *proxied) ask(from, method, path, body string, headers ...string) (int, http.Header, string) {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, p.front+path, strings.NewReader(body))
	servertest.Must(p.T, err)
	r.Header.Set("User-Agent", servertest.Firefox)
	r.Header.Set("Cookie", "session=of-the-site")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	web := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	answer, err := web.Do(r)
	servertest.Must(p.T, err)
	defer func() { _ = answer.Body.Close() }()
	var text bytes.Buffer
	_, err = text.ReadFrom(answer.Body)
	servertest.Must(p.T, err)
	return answer.StatusCode, answer.Header, text.String()
}

// scripts checks that scripts are passed on unchanged, with what lets browsers cache them, and nothing else.
func (p *proxied) scripts() {
	p.Helper()
	for _, path := range []string{"/js/onefold.js", "/js/onefold.vitals.js"} {
		_, want := p.Get(path)
		status, header, body := p.ask("127.0.0.3", http.MethodGet, path, "")
		if status != http.StatusOK || body != want || !strings.HasPrefix(header.Get("Content-Type"), "text/javascript") || header.Get("Cache-Control") != "public, max-age=3600" {
			p.Errorf("%s: %d, %d bytes, %v", path, status, len(body), header)
		}
		if status, _, _ := p.ask("127.0.0.3", http.MethodGet, path, "", "If-None-Match", header.Get("ETag")); header.Get("ETag") == "" || status != http.StatusNotModified {
			p.Errorf("%s again, with %q: %d", path, header.Get("ETag"), status)
		}
	}
	for _, path := range []string{"/api/v1/sites", "/openapi.json", "/js/other.js", "/api/events"} {
		if status, _, body := p.ask("127.0.0.3", http.MethodGet, path, "", "Authorization", "Bearer "+servertest.Token); strings.Contains(body, "blog") || status == http.StatusOK && body != "the site" {
			p.Errorf("%s is passed on: %d %.80s", path, status, body)
		}
	}
}

// addresses checks that onefold sees the visitor's address, and no address or location that the visitor
// invents.
func (p *proxied) addresses() {
	p.Helper()
	forged := []string{
		"X-Forwarded-For", "127.0.0.2", "CF-Connecting-IP", "127.0.0.2", "X-Real-IP", "127.0.0.2", "Forwarded", "for=127.0.0.2",
		"CF-IPCountry", "PE", "X-Vercel-IP-Country", "PE", "CloudFront-Viewer-Country", "PE", "X-Fastly-Country-Code", "PE",
	}
	for from, want := range map[string]string{"127.0.0.2": `"reason":"excluded"`, "127.0.0.3": `"status":"stored"`, "127.0.0.4": `"status":"stored"`} {
		if status, _, body := p.ask(from, http.MethodPost, "/api/event", `{"site":"blog","url":"https://example.org/a"}`, forged...); status != http.StatusAccepted || !strings.Contains(body, want) {
			p.Errorf("an event from %s: %d %s, want %s", from, status, body, want)
		}
	}
	visitors := map[string]bool{}
	for _, e := range p.Stored() {
		visitors[e.VisitorID] = true
		if e.Browser != "Firefox" || e.Country != "" {
			p.Errorf("the browser is %q, the country %q", e.Browser, e.Country)
		}
	}
	if len(visitors) != 2 {
		p.Errorf("%d visitors, want 2", len(visitors))
	}
}

// answers checks that bodies, statuses and signals arrive, and that no answer is kept for the next event.
func (p *proxied) answers() {
	p.Helper()
	event := fmt.Sprintf(`{"site":"blog","id":%q,"url":"https://example.org/b","props":{"plan":"pro \u00e4 €"},"name":"signup"}`, ulid.Make())
	for _, c := range []struct {
		want    int
		says    string
		body    string
		headers []string
	}{
		{202, `"status":"stored"`, event, nil},
		{202, `"status":"duplicate"`, `{"retry":true,` + event[1:], nil},
		{202, `"reason":"opted_out"`, `{"site":"blog","url":"https://example.org/c"}`, []string{"DNT", "1"}},
		{422, "", `{"site":"blog"}`, nil},
		{p.other, "", `{"site":"nobody","url":"https://example.org/c"}`, nil},
		{400, "", `{"site":`, nil},
		{413, "", `{"site":"blog","url":"` + strings.Repeat("a", 70_000) + `"}`, nil},
	} {
		status, header, body := p.ask("127.0.0.3", http.MethodPost, "/api/event", c.body, append([]string{"Content-Type", "text/plain;charset=UTF-8"}, c.headers...)...)
		if status != c.want || !strings.Contains(body, c.says) {
			p.Errorf("%.60s: %d %s, want %d %s", c.body, status, body, c.want, c.says)
		}
		if kept := header.Get("Cache-Control"); strings.Contains(kept, "max-age") {
			p.Errorf("%.60s: Cache-Control: %s", c.body, kept)
		}
	}
	for _, e := range p.Stored() {
		if e.Name == "signup" && e.Properties["plan"] != "pro ä €" {
			p.Errorf("the property is %q", e.Properties["plan"])
		}
	}
}

// started runs a program until the test ends.
func started(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var told bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &told
	}
	cmd.Stderr = &told
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	servertest.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Wait() // interrupted, as the test's context has ended
		if t.Failed() {
			t.Logf("%s: %s", cmd.Path, &told)
		}
	})
}

// command prepares a program that runs until the test ends, or skips the test if the program is missing.
func command(t *testing.T, program string, arguments ...string) *exec.Cmd {
	t.Helper()
	found, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is missing: run `make webservers`, or install Debian's package of that name", program)
	}
	return exec.CommandContext(t.Context(), found, arguments...)
}

// freePort returns a port of loopback that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	servertest.Must(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// listening waits until a server accepts connections.
func listening(t *testing.T, address string) string {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			servertest.Must(t, c.Close())
			return "http://" + address
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // another process has no event to wait for
	}
}

// configured writes a file of examples/proxies with other addresses.
func configured(t *testing.T, file, before, after string, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(proxies, file))
	servertest.Must(t, err)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			t.Fatalf("%s lacks %q", file, replace[i])
		}
	}
	out := filepath.Join(t.TempDir(), filepath.Base(file))
	servertest.Must(t, os.WriteFile(out, []byte(before+strings.NewReplacer(replace...).Replace(string(text))+after), 0o644))
	return out
}

func nginx(t *testing.T, h *servertest.Server) string {
	t.Helper()
	address, work := freePort(t), t.TempDir()
	before := fmt.Sprintf(`daemon off; worker_processes 1; pid %[1]s/pid; error_log stderr; user root;
		events {}
		http {
			access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
			server { listen %[2]s; location / { return 200 "the site"; }`, work, address)
	file := configured(t, "nginx.conf", before, "}}", "http://127.0.0.1:8090", h.URL)
	started(t, command(t, "nginx", "-e", "stderr", "-p", work, "-c", file))
	return listening(t, address)
}

func caddy(t *testing.T, h *servertest.Server) string {
	t.Helper()
	address := freePort(t)
	file := configured(t, "Caddyfile", "{\n\tadmin off\n\tauto_https off\n}\n", "", "127.0.0.1:8090", strings.TrimPrefix(h.URL, "http://"), "example.com {", "http://"+address+" {")
	cmd := command(t, "caddy", "run", "--adapter", "caddyfile", "--config", file)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home)
	started(t, cmd)
	return listening(t, address)
}

// edge runs the handler of an edge network in Node.js.
func edge(network string) func(*testing.T, *servertest.Server) string {
	return func(t *testing.T, h *servertest.Server) string {
		t.Helper()
		_, key, err := h.Accounts.AddKey(t.Context(), accounts.NewKey{Site: "blog", Scope: accounts.Ingest})
		servertest.Must(t, err)
		cmd := command(t, "node", "e2e/edge.mjs", network, h.URL, key)
		out, err := cmd.StdoutPipe()
		servertest.Must(t, err)
		started(t, cmd)
		port, err := bufio.NewReader(out).ReadString('\n')
		servertest.Must(t, err)
		return "http://127.0.0.1:" + strings.TrimSpace(port)
	}
}

var fileOfGuide = regexp.MustCompile("(?s)`([\\w./-]+)`:\n\n```\\w*\n(.*?)```")

// The guide shows the files of the examples as they are.
func TestTheGuideOfProxies(t *testing.T) {
	guide, err := os.ReadFile("../docs/guides/tracker-proxies.md")
	servertest.Must(t, err)
	shown := map[string]bool{}
	for _, m := range fileOfGuide.FindAllSubmatch(guide, -1) {
		shown[string(m[1])] = true
		if file, err := os.ReadFile(filepath.Join(proxies, string(m[1]))); err != nil || string(file) != string(m[2]) {
			t.Errorf("%s is not as the guide shows it (%v)", m[1], err)
		}
	}
	servertest.Must(t, filepath.WalkDir(proxies, func(path string, d os.DirEntry, err error) error {
		if name, _ := filepath.Rel(proxies, path); err == nil && !d.IsDir() && !shown[name] {
			t.Errorf("the guide does not show %s", name)
		}
		return err
	}))
}
