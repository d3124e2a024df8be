package crawlers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/examples/crawlers"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// agents are user agents by the name under which onefold counts them.
var agents = []string{
	"GPTBot", "ChatGPT-User", "OAI-SearchBot", "ClaudeBot", "Claude-User", "Claude-SearchBot", "PerplexityBot", "Perplexity-User", "Bytespider", "CCBot",
	"meta-externalagent", "MistralAI-User", "DuckAssistBot",
}

func newKey(t *testing.T, h *servertest.Server) string {
	t.Helper()
	_, key, err := h.Accounts.AddKey(t.Context(), accounts.NewKey{Site: "blog", Scope: accounts.Ingest})
	servertest.Must(t, err)
	return key
}

// counted returns how many requests of AI crawlers and how many page views onefold has counted.
func counted(t *testing.T, h *servertest.Server) (crawled, views int64) {
	t.Helper()
	servertest.Must(t, h.Worker.Drain(t.Context()))
	reader := h.NewPerson("viewer@example.com", accounts.Grants{"blog": accounts.Viewer})
	var bots struct{ AICrawlers []struct{ Events int64 } }
	servertest.Must(t, json.Unmarshal([]byte(reader.Want(http.StatusOK, "aiCrawlers", http.MethodGet, "/api/v1/sites/blog/bots", "")), &bots))
	for _, c := range bots.AICrawlers {
		crawled += c.Events
	}
	var stats struct{ Totals struct{ PageViews int64 } }
	servertest.Must(t, json.Unmarshal([]byte(reader.Want(http.StatusOK, "totals", http.MethodGet, "/api/v1/sites/blog/stats", "")), &stats))
	return crawled, stats.Totals.PageViews
}

// Each crawler is counted by onefold as one; people and other bots are not sent.
func TestMiddleware(t *testing.T) {
	h := servertest.New(t, nil)
	c := crawlers.New(crawlers.Options{Server: h.URL, Site: "blog", Key: newKey(t, h), Failed: func(err error) { t.Error(err) }})
	site := httptest.NewServer(c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })))
	for _, agent := range slices.Concat(agents, []string{servertest.Firefox, "Googlebot/2.1", ""}) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL+"/a?secret=1", nil)
		servertest.Must(t, err)
		r.Header.Set("User-Agent", agent)
		answer, err := http.DefaultClient.Do(r)
		servertest.Must(t, err)
		servertest.Must(t, answer.Body.Close())
		if answer.StatusCode != http.StatusNoContent {
			t.Error(answer.Status)
		}
	}
	site.Close()
	c.Close()
	if crawled, views := counted(t, h); crawled != int64(len(agents)) || views != 0 {
		t.Errorf("%d requests of crawlers and %d page views, want %d and 0", crawled, views, len(agents))
	}
}

// Requests of any size are served. Those that onefold would refuse are not sent, because it refuses a
// whole batch.
func TestLargeRequests(t *testing.T) {
	h := servertest.New(t, nil)
	c := crawlers.New(crawlers.Options{Server: h.URL, Site: "blog", Key: newKey(t, h), Failed: func(err error) { t.Error(err) }})
	served := 0
	site := c.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	for _, size := range []int{10, 5000, 1 << 20} {
		for _, at := range []string{"path", "agent"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/a", nil)
			r.Header.Set("User-Agent", "GPTBot/1.2")
			if at == "path" {
				r.URL.Path += strings.Repeat("a", size)
			} else {
				r.Header.Set("User-Agent", "GPTBot/1.2 "+strings.Repeat("a", size))
			}
			site.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	c.Close()
	if crawled, _ := counted(t, h); crawled != 2 || served != 6 {
		t.Errorf("%d requests are counted and %d served, want 2 and 6", crawled, served)
	}
}

// A site goes on when onefold refuses or is away.
func TestMiddlewareWithoutOnefold(t *testing.T) {
	h := servertest.New(t, nil)
	for _, o := range []crawlers.Options{{Server: h.URL, Site: "blog", Key: "wrong"}, {Server: "http://127.0.0.1:1", Site: "blog"}} {
		failed := 0
		o.Failed = func(error) { failed++ }
		c := crawlers.New(o)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/a", nil)
		r.Header.Set("User-Agent", "GPTBot/1.2")
		c.Wrap(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
		c.Close()
		if failed != 1 {
			t.Errorf("%d failures are reported", failed)
		}
	}
}

// crawlers.mjs counts the same in Node.js, as middleware and as at the edge.
func TestScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil || testing.Short() {
		t.Skip("node is missing: install Node.js 20.3 or newer")
	}
	h := servertest.New(t, nil)
	names, err := json.Marshal(append(agents, servertest.Firefox))
	servertest.Must(t, err)
	const script = `
import http from 'node:http'
import { edge, middleware } from './crawlers.mjs'
const [server, key, names] = process.argv.slice(1)
const options = { server, site: 'blog', key }
const failed = (e) => { console.error(e); process.exitCode = 1 }
for (const userAgent of JSON.parse(names)) {
  const sent = []
  edge(options, new Request('https://blog.example.com/a?secret=1', { headers: { 'user-agent': userAgent, 'x-real-ip': '192.0.2.1' } }), { waitUntil: (p) => sent.push(p) })
  await Promise.all(sent)
}
await edge(options, new Request('https://blog.example.com/a', { headers: { 'user-agent': 'GPTBot' } }), {}) // Deno.serve has no waitUntil
const count = middleware(options, failed)
const site = http.createServer((request, response) => count(request, response, () => response.end('ok'))).listen(0, '127.0.0.1', async () => {
  for (const userAgent of JSON.parse(names)) {
    const response = await fetch('http://127.0.0.1:' + site.address().port + '/b?secret=1', { headers: { 'user-agent': userAgent } })
    if (await response.text() !== 'ok') failed(response.status)
  }
  site.close()
})
`
	if out, err := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", script, h.URL, newKey(t, h), string(names)).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	if crawled, views := counted(t, h); crawled != int64(2*len(agents)+1) || views != 0 {
		t.Errorf("%d requests of crawlers and %d page views, want %d and 0", crawled, views, 2*len(agents)+1)
	}
}
