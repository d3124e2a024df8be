package dashboard

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/onefold/onefold/server/internal/webfile"
)

// Limits on the size of gzipped scripts: of those that a first view waits for, and of all pages
// together, which nobody loads at once.
const (
	maxFirst  = 100 << 10
	maxScript = 192 << 10
)

func get(p *Page, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

func madeUp(t *testing.T) *Page {
	t.Helper()
	p, err := load(fstest.MapFS{
		"index.html":         {Data: []byte("<!doctype html>")},
		"assets/app-1.js":    {Data: []byte("plain")},
		"assets/app-1.js.br": {Data: []byte("brotli")},
		"assets/app-1.js.gz": {Data: []byte("gzip")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFilesAreKeptForEver(t *testing.T) {
	p := madeUp(t)
	for accept, want := range map[string]string{"gzip, br": "brotli", "gzip": "gzip", "br;q=0, gzip": "gzip", "": "plain"} {
		w := get(p, "/assets/app-1.js", "Accept-Encoding", accept)
		if w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("Accept-Encoding %q: %d %q, want %q", accept, w.Code, w.Body, want)
		}
		if c := w.Header().Get("Cache-Control"); !strings.Contains(c, "immutable") {
			t.Errorf("Cache-Control %q", c)
		}
		if again := get(p, "/assets/app-1.js", "Accept-Encoding", accept, "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
			t.Errorf("Accept-Encoding %q, asked again: %d", accept, again.Code)
		}
	}
}

func TestEveryOtherPathIsThePage(t *testing.T) {
	p := madeUp(t)
	for _, target := range []string{"/", "/sites/blog/goals", "/share/abc", "/setup"} {
		w := get(p, target)
		if w.Code != http.StatusOK || w.Body.String() != "<!doctype html>" || w.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %q %q", target, w.Code, w.Body, w.Header())
		}
	}
	if w := get(p, "/assets/app-0.js"); w.Code != http.StatusNotFound {
		t.Errorf("a file that is gone: %d, want 404", w.Code)
	}
}

// known matches the tests for the first segment of a path in the script.
var known = regexp.MustCompile(`page === '([^']*)'`)

func TestKnownPathsAreThoseOfTheScript(t *testing.T) {
	text, err := os.ReadFile("src/App.svelte")
	if err != nil {
		t.Fatal(err)
	}
	var script []string
	for _, m := range known.FindAllSubmatch(text, -1) {
		script = append(script, string(m[1]))
	}
	slices.Sort(script)
	if script = slices.Compact(script); !slices.Equal(script, pages) {
		t.Errorf("App.svelte has pages at %q, but dashboard.go lists %q", script, pages)
	}
	p := madeUp(t)
	for path, want := range map[string]bool{
		"/": true, "/sites/blog/goals": true, "/login": true, "/assets/app-1.js": true, "/assets/app-0.js": true, "/index.html": true,
		"/query": false, "/v1/metrics": false, "/api": false, "/sitesx": false, "/robots.txt": false,
	} {
		if p.Has(path) != want {
			t.Errorf("%s: known %v, want %v", path, !want, want)
		}
	}
}

func TestWithoutThePage(t *testing.T) {
	p, err := load(fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	if w := get(p, "/"); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "make build") {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

// built returns the built dashboard, or skips the test.
func built(t *testing.T) *Page {
	t.Helper()
	p, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if !p.Built() {
		t.Skip("the page is not built; run `make web`, which needs Node.js")
	}
	return p
}

// imports matches static imports, which a script waits for; import("…") loads on demand.
var imports = regexp.MustCompile(`(?:from|import)\s*"\./([^"]+\.js)"`)

// sent returns the size of a file as sent to clients that accept gzip. The smallest files are not
// compressed.
func sent(f *webfile.File) int {
	if zipped := f.Encoded("gzip"); zipped != nil {
		return len(zipped)
	}
	return len(f.Text)
}

// needs adds a script and its static imports to loaded.
func needs(p *Page, script string, loaded map[string]int) {
	f := p.files[script]
	if _, there := loaded[script]; there || f == nil {
		return
	}
	loaded[script] = sent(f)
	for _, m := range imports.FindAllSubmatch(f.Text, -1) {
		needs(p, path.Join(path.Dir(script), string(m[1])), loaded)
	}
}

func TestThePageIsSmall(t *testing.T) {
	p := built(t)
	entry := regexp.MustCompile(`src="(/[^"]+\.js)"`).FindSubmatch(p.files[index].Text)
	if entry == nil {
		t.Fatal("the page loads no script")
	}
	total := 0
	for name, f := range p.files {
		if path.Ext(name) != ".js" {
			continue
		}
		if f.Encoded("gzip") == nil && len(f.Text) >= 512 {
			t.Errorf("%s is not compressed", name)
		}
		total += sent(f)
		loaded, first := make(map[string]int), 0
		needs(p, string(entry[1]), loaded)
		needs(p, name, loaded)
		for _, size := range loaded {
			first += size
		}
		t.Logf("a page that begins with %s: %d bytes gzipped", name, first)
		if first > maxFirst {
			t.Errorf("a page that begins with %s loads %d bytes of script gzipped, want at most %d", name, first, maxFirst)
		}
	}
	t.Logf("all script: %d bytes gzipped", total)
	if total > maxScript {
		t.Errorf("all script is %d bytes gzipped, want at most %d", total, maxScript)
	}
}

// TestThePageLoadsNothingElse looks for what a content security policy would block.
func TestThePageLoadsNothingElse(t *testing.T) {
	page := built(t).files[index].Text
	if elsewhere := regexp.MustCompile(`(src|href)="(https?:)?//[^"]*"`).Find(page); elsewhere != nil {
		t.Errorf("the page loads %s", elsewhere)
	}
	if inline := regexp.MustCompile(`<script>|<style| style=| on[a-z]+="`).Find(page); inline != nil {
		t.Errorf("the page has %s inline", inline)
	}
	for name, f := range built(t).files {
		if path.Ext(name) == ".css" && bytes.Contains(f.Text, []byte("url(http")) {
			t.Errorf("%s loads something from elsewhere", name)
		}
	}
}
