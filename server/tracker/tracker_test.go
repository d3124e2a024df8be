package tracker

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"testing"
)

// maxZipped is the maximum size of the tracker in bytes on the wire.
const maxZipped = 2048

// all returns the names of all scripts.
func all() []string {
	names := []string{Main}
	for _, part := range Parts {
		names = append(names, Further(Main, part))
	}
	return names
}

func TestTheTrackerIsSmall(t *testing.T) {
	for _, name := range all() {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if !s.Built {
			t.Skipf("%s is not built: run `make web`, which needs Node.js 20 or newer", name)
		}
		if len(s.file.Encoded("gzip")) > maxZipped {
			t.Errorf("%s has %d bytes gzipped, at most %d are allowed", name, len(s.file.Encoded("gzip")), maxZipped)
		}
		t.Logf("%s: %d bytes, %d gzipped", name, len(s.file.Text), len(s.file.Encoded("gzip")))
	}
}

func TestAScriptIsServed(t *testing.T) {
	s, err := Load(Main)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(headers ...string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, "/js/onefold.js", nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Result()
	}
	plain := ask("Accept-Encoding", "br, gzip;q=0")
	if body := read(t, plain.Body); body != string(s.file.Text) || plain.Header.Get("Content-Encoding") != "" {
		t.Errorf("%d bytes, %q", len(body), plain.Header.Get("Content-Encoding"))
	}
	zipped := ask("Accept-Encoding", "br, gzip")
	unzipped, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body := read(t, unzipped); body != string(s.file.Text) {
		t.Errorf("%d bytes unzipped", len(body))
	}
	if again := ask("Accept-Encoding", "gzip", "If-None-Match", zipped.Header.Get("ETag")); again.StatusCode != http.StatusNotModified || again.Header.Get("Content-Encoding") != "" {
		t.Errorf("asked again: %d", again.StatusCode)
	}
	if plain.Header.Get("ETag") == zipped.Header.Get("ETag") {
		t.Error("two representations have one tag")
	}
	if _, err := Load("../tracker.go"); err == nil {
		t.Error("another file was loaded")
	}
}

// The sources are served when the scripts were not built, so they are plain scripts.
func TestTheSourceIsAPlainScript(t *testing.T) {
	for _, name := range all() {
		text, err := source(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`(?m)^(import|export) .*`).Find(text); found != nil {
			t.Errorf("%s has %q", name, found)
		}
		node, err := exec.LookPath("node")
		if err != nil {
			t.Skip("Node.js is missing: install version 20 or newer")
		}
		parse := exec.CommandContext(t.Context(), node, "-e", "new vm.Script(fs.readFileSync(0, 'utf8'))")
		parse.Stdin = bytes.NewReader(text)
		if out, err := parse.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func read(t *testing.T, r io.Reader) string {
	t.Helper()
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
