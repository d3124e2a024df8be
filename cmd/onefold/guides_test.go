package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/server/servertest"
)

// guidesSay returns all code in README and the guides.
func guidesSay(t *testing.T) []clitest.Code {
	t.Helper()
	return clitest.Read(t, root)
}

// Every onefold command in the guides exists, and has the flags that the guide uses.
func TestGuidesNameCommandsAndFlagsThatThereAre(t *testing.T) {
	parser, err := grammar(new(commands), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	clitest.Check(t, root, "onefold", parser.Model.Node, 200)
}

var trackerTag = regexp.MustCompile(`<script\b[^>]*/onefold\.js[^>]*`)

// The tracker's tag, wherever it is shown, does not block the page while it loads.
func TestSnippetsAreAsync(t *testing.T) {
	found := 0
	for _, root := range []string{"../../README.md", "../../docs", "../../server/dashboard/src"} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, tag := range trackerTag.FindAllString(string(text), -1) {
				if found++; !slices.Contains(strings.Fields(tag), "async") {
					t.Errorf("%s: %s is not async", path, tag)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 2 {
		t.Errorf("%d tags were found, want those of the guide and of the dashboard", found)
	}
}

var (
	setting = regexp.MustCompile(`ONEFOLD_[A-Z0-9_]*[A-Z0-9]`)
	metric  = regexp.MustCompile(`\bonefold_[a-z0-9]+_[a-z0-9_]*[a-z0-9]`)
	route   = regexp.MustCompile(`(?:^|[\s"(=:,])(?:(GET|POST|PUT|PATCH|DELETE) ([^\s"'?,;|)]+)|(?:\$SERVER|https?://[\w.:]+)?(/(?:api|write|livez|readyz|healthz|metrics|docs|openapi)[^\s"'?,;|)]*))`)
)

// Every environment variable and metric in the guides exists in the program.
func TestGuidesNameVariablesAndMetricsThatThereAre(t *testing.T) {
	source := programText(t)
	checked := 0
	for _, s := range guidesSay(t) {
		for _, name := range setting.FindAllString(s.Text, -1) {
			if checked++; !strings.Contains(source, name) {
				t.Errorf("%s:%d: there is no variable %s", s.File, s.Line, name)
			}
		}
		for _, name := range metric.FindAllString(s.Text, -1) {
			if notMetrics[name] {
				continue
			}
			if checked++; !namedInParts(source, name) {
				t.Errorf("%s:%d: there is no metric %s", s.File, s.Line, name)
			}
		}
	}
	if t.Logf("%d names", checked); checked < 50 {
		t.Errorf("only %d names were found", checked)
	}
}

// notMetrics are names of files.
var notMetrics = map[string]bool{"onefold_version_linux_amd64": true}

// namedInParts reports whether the source contains a name as a literal, or as a literal prefix and
// the rest.
func namedInParts(source, name string) bool {
	for i := len(name); i > len("onefold_"); i-- {
		if i == len(name) && strings.Contains(source, `"`+name+`"`) {
			return true
		}
		if name[i-1] == '_' && strings.Contains(source, `"`+name[:i]+`"`) && strings.Contains(source, `"`+name[i:]+`"`) {
			return true
		}
	}
	return false
}

// programText returns the source of everything except tests, and of the files installed with it.
func programText(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "docs"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// Every API route in the guides is in the API description, with its method.
func TestGuidesNameRoutesThatThereAre(t *testing.T) {
	h := guideServer{servertest.New(t, nil)}
	_, body := h.Get("/openapi.json")
	var doc struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	servertest.Must(t, json.Unmarshal([]byte(body), &doc))
	checked := 0
	for _, s := range guidesSay(t) {
		for _, m := range route.FindAllStringSubmatch(s.Text, -1) {
			path := strings.TrimPrefix(strings.TrimRight(m[2]+m[3], "."), "$api")
			if checked++; !isRoute(doc.Paths, strings.ToLower(m[1]), path) && !(m[1] == "" && h.answers(path)) {
				t.Errorf("%s:%d: there is no route %s %s", s.File, s.Line, m[1], path)
			}
		}
	}
	if t.Logf("%d routes", checked); checked < 40 {
		t.Errorf("only %d routes were found", checked)
	}
}

// guideServer is a server with the routes of the guides.
type guideServer struct{ *servertest.Server }

// answers reports whether the server responds at a path that the API description omits, such as the
// description itself.
func (h guideServer) answers(path string) bool {
	got, _ := h.Get(path)
	posted, _ := h.Post(path, "")
	return got != http.StatusNotFound || posted != http.StatusNotFound && posted != http.StatusMethodNotAllowed
}

// isRoute reports whether a path, with values or names in braces, is a path of the API. A path that
// does not begin with /api may be the end of one; a path that ends in … or has no method may be the
// beginning of one.
func isRoute(paths map[string]map[string]any, method, path string) bool {
	path, open := strings.CutSuffix(path, "/…")
	want := strings.Split(strings.Trim(path, "/"), "/")
	for p, methods := range paths {
		have := strings.Split(strings.Trim(p, "/"), "/")
		switch n := len(have) - len(want); {
		case n > 0 && want[0] != "api":
			have = have[n:]
		case n > 0 && (open || method == ""):
			have = have[:len(want)]
		}
		same := slices.EqualFunc(have, want, func(a, b string) bool { return a == b || strings.HasPrefix(a, "{") && b != "" })
		if _, is := methods[method]; same && (is || method == "") {
			return true
		}
	}
	return false
}
