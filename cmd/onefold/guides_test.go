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

	"github.com/onefold/onefold/server/servertest"
)

// said is code in a guide: a line of a block, or text between backquotes.
type said struct {
	file  string
	line  int
	text  string
	block bool
}

var inline = regexp.MustCompile("`([^`]+)`")

// guidesSay returns all code in README and the guides. It skips blocks of languages other than the
// shell's.
func guidesSay(t *testing.T) (all []said) {
	t.Helper()
	files, err := filepath.Glob("../../docs/guides/*.md")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d guides, %v", len(files), err)
	}
	for _, file := range append(files, "../../README.md", "../../docs/upgrading.md", "../../docs/measured.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fence := ""
		for i, line := range strings.Split(string(text), "\n") {
			switch at := (said{filepath.Base(file), i + 1, line, true}); {
			case strings.HasPrefix(line, "```"):
				if fence == "" {
					fence = line
				} else {
					fence = ""
				}
			case strings.HasPrefix(fence, "```sh"), fence == "" && strings.HasPrefix(line, "    "):
				all = append(all, at)
			case fence == "":
				for _, m := range inline.FindAllStringSubmatch(line, -1) {
					all = append(all, said{at.file, at.line, m[1], false})
				}
			}
		}
	}
	return joined(all)
}

// joined joins lines of a block that are continued with a backslash.
func joined(all []said) (out []said) {
	for _, s := range all {
		if n := len(out); n > 0 && s.block && strings.HasSuffix(out[n-1].text, `\`) {
			out[n-1].text = strings.TrimSuffix(out[n-1].text, `\`) + " " + strings.TrimSpace(s.text)
			continue
		}
		out = append(out, s)
	}
	return out
}

var (
	set     = regexp.MustCompile(`^[A-Z_]+=`)
	comment = regexp.MustCompile(`\s#\s.*$`)
	word    = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
)

// commandsIn returns the arguments of each call of onefold in a text: a plain call, one with
// variables before it, or one by another program.
func commandsIn(text string) (all [][]string) {
	text = strings.ReplaceAll(comment.ReplaceAllString(text, ""), "$(", " && ")
	for _, part := range regexp.MustCompile(` \|+ | && |; |\)| & `).Split(text, -1) {
		words := word.FindAllString(part, -1)
		if redirect := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, ">") || w == "&" || w == "→" }); redirect >= 0 {
			words = words[:redirect]
		}
		words = words[max(slices.IndexFunc(words, func(w string) bool { return !set.MatchString(w) }), 0):]
		if len(words) > 1 && words[0] == "docker" && words[1] == "exec" {
			words = words[max(slices.Index(words, "/onefold"), 0):]
		} else if len(words) > 1 && words[0] == "systemd-run" {
			words = words[max(slices.Index(words, "onefold"), 0):]
		}
		if len(words) > 1 && isProgram(words[0]) {
			all = append(all, words[1:])
		}
	}
	return all
}

func isProgram(w string) bool { return w == "onefold" || w == "bin/onefold" || w == "/onefold" }

// Every onefold command in the guides exists, and has the flags that the guide uses.
func TestGuidesNameCommandsAndFlagsThatThereAre(t *testing.T) {
	var cli commands
	parser, err := grammar(&cli, kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, s := range guidesSay(t) {
		for _, words := range commandsIn(s.text) {
			checked++
			if wrong := unknownIn(parser.Model.Node, words); wrong != "" {
				t.Errorf("%s:%d: onefold %s: %s", s.file, s.line, strings.Join(words, " "), wrong)
			}
		}
	}
	if t.Logf("%d commands", checked); checked < 200 {
		t.Errorf("only %d commands were found", checked)
	}
}

// unknownIn follows words through the grammar, and describes the first unknown one.
func unknownIn(at *kong.Node, words []string) string {
	for i := 0; i < len(words); i++ {
		w := strings.Trim(words[i], `,.`)
		switch {
		case strings.HasPrefix(w, "-") && len(w) > 1:
			name, _, _ := strings.Cut(w, "=")
			if !hasFlag(at, name) {
				return "there is no flag " + name
			}
		case len(at.Children) == 0 || strings.ContainsAny(w, "[<…(") || w == "COMMAND":
		default:
			var next *kong.Node
			for _, one := range strings.Split(w, "|") {
				j := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return n.Name == one || slices.Contains(n.Aliases, one) })
				if j >= 0 {
					next = at.Children[j]
				} else if !isFlagValue(at, words, i) && !at.Passthrough && at.DefaultCmd == nil {
					return "there is no command " + one
				}
			}
			if next != nil {
				at = next
			}
		}
	}
	return ""
}

// isFlagValue reports whether a word is the value of the flag before it.
func isFlagValue(at *kong.Node, words []string, i int) bool {
	if i == 0 || !strings.HasPrefix(words[i-1], "--") || strings.Contains(words[i-1], "=") {
		return false
	}
	for _, f := range flagsOf(at) {
		if "--"+f.Name == words[i-1] {
			return !f.IsBool()
		}
	}
	return false
}

func flagsOf(at *kong.Node) (all []*kong.Flag) {
	for ; at != nil; at = at.DefaultCmd {
		for _, group := range at.AllFlags(false) {
			all = append(all, group...)
		}
	}
	return all
}

// hasFlag reports whether a command has a flag; --flag… stands for all flags with that prefix.
func hasFlag(at *kong.Node, name string) bool {
	prefix, open := strings.CutSuffix(name, "…")
	return slices.ContainsFunc(flagsOf(at), func(f *kong.Flag) bool {
		long := "--" + f.Name
		return long == name || open && strings.HasPrefix(long, prefix) || f.Short != 0 && "-"+string(f.Short) == name ||
			f.Tag.Negatable != "" && "--no-"+f.Name == name
	})
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
		for _, name := range setting.FindAllString(s.text, -1) {
			if checked++; !strings.Contains(source, name) {
				t.Errorf("%s:%d: there is no variable %s", s.file, s.line, name)
			}
		}
		for _, name := range metric.FindAllString(s.text, -1) {
			if notMetrics[name] {
				continue
			}
			if checked++; !namedInParts(source, name) {
				t.Errorf("%s:%d: there is no metric %s", s.file, s.line, name)
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
		for _, m := range route.FindAllStringSubmatch(s.text, -1) {
			path := strings.TrimPrefix(strings.TrimRight(m[2]+m[3], "."), "$api")
			if checked++; !isRoute(doc.Paths, strings.ToLower(m[1]), path) && !(m[1] == "" && h.answers(path)) {
				t.Errorf("%s:%d: there is no route %s %s", s.file, s.line, m[1], path)
			}
		}
	}
	if t.Logf("%d routes", checked); checked < 40 {
		t.Errorf("only %d routes were found", checked)
	}
}

// guideServer is a server with the routes of the guides.
type guideServer struct{ *servertest.House }

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
