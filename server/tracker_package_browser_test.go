package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/server/servertest"
)

const trackerPackage = "clients/tracker"

// packageTool prepares a program of the npm package of the tracker, or skips the test if what it needs is missing.
func packageTool(t *testing.T, program string, arguments ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("the time to run Node.js is missing: leave -short out")
	}
	found, err := exec.LookPath(program)
	if err != nil {
		t.Skip("Node.js is missing: install version 20.3 or newer, with npm")
	}
	for tools, target := range map[string]string{trackerPackage + "/node_modules/typescript": "typescript", "tracker/node_modules/esbuild": "web"} {
		if _, err := os.Stat(tools); err != nil {
			t.Skipf("%s is missing: run `make %s`, which needs Node.js 20.3 or newer", tools, target)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, found, arguments...)
	cmd.Dir = trackerPackage
	return cmd
}

// run runs a program of the package and returns its standard output.
func run(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		var told []byte
		if exit, ok := err.(*exec.ExitError); ok {
			told = exit.Stderr
		}
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, told)
	}
	return out
}

// packagedEvents are the events of e2e/package.mjs, as formatted by line.
var packagedEvents = []string{
	"view /plain by user-7", "early /plain by user-7 step=1", "purchase /plain by user-7 for 12.5 plan=pro seats=3 trial=false",
	"404 /plain", "engagement /plain", "view /plain/next", "engagement /plain/next", "view /plain/next",
	"again /plain by user-7", "engagement /plain by user-7", "view /plain/again by user-7", "engagement /plain/again by user-7",
	"view /both", "once /both", "engagement /both",
	"view /react by ada", "signup /react by ada plan=pro", "engagement /react by ada", "view /react/out", "vitals /react/out", "engagement /react/out",
	"view /vue", "signup /vue plan=pro", "change /vue", "signup /vue plan=max", "engagement /vue", "view /vue/next", "engagement /vue/next",
	"view /svelte", "signup /svelte plan=pro", "change /svelte", "signup /svelte plan=max", "engagement /svelte", "view /svelte/next", "engagement /svelte/next",
}

// packaged are the files that the npm package consists of.
var packaged = []string{
	"README.md", "dist/check.js", "dist/core.js", "dist/index.d.ts", "dist/index.js", "dist/react.d.ts", "dist/react.js", "dist/svelte.d.ts", "dist/svelte.js",
	"dist/tracked.d.ts", "dist/tracked.js", "dist/vitals.js", "dist/vue.d.ts", "dist/vue.js", "package.json",
}

// TestTheTrackerPackage builds the npm package, checks its types and what npm would publish, renders it on
// a server, and visits applications that use it in Chromium.
func TestTheTrackerPackage(t *testing.T) {
	t.Parallel()
	var packs []struct{ Files []struct{ Path string } }
	servertest.Must(t, json.Unmarshal(run(t, packageTool(t, "npm", "pack", "--dry-run", "--json", "--silent", "--foreground-scripts=false")), &packs))
	var files []string
	for _, f := range packs[0].Files {
		files = append(files, f.Path)
	}
	if slices.Sort(files); !slices.Equal(files, packaged) {
		t.Errorf("npm would publish %q", files)
	}
	run(t, packageTool(t, "npm", "run", "--silent", "check"))
	run(t, packageTool(t, "node", "--test", "test/server.test.mjs"))
	v := newFront(t, len(packagedEvents))
	scripts := t.TempDir()
	run(t, packageTool(t, "node", "scripts/pages.mjs", scripts))
	mux := http.NewServeMux()
	mux.Handle("GET /scripts/", http.StripPrefix("/scripts", http.FileServer(http.Dir(scripts))))
	mux.HandleFunc("GET /{page}", func(w http.ResponseWriter, r *http.Request) {
		more := ""
		if r.PathValue("page") == "both" {
			more = fmt.Sprintf(`<script async src="%s/js/onefold.js" data-site="blog"></script>`, v.front.URL)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang="en" data-endpoint="%s/api/event"><title>%[2]s</title><link rel="icon" href="data:,">
			<body><script type="module" src="/scripts/%[2]s.js"></script>%s`, v.front.URL, filepath.Base(r.URL.Path), more)
	})
	v.serve(mux)
	if out, err := servertest.Script(t, "package.mjs", v.pages.URL).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	v.wantStored(packagedEvents)
}
