package events_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
)

var rewrite = flag.Bool("rewrite", false, "write the TypeScript client's types")

const typescript = "../clients/typescript"

// node prepares a script of the TypeScript client, or skips the test if what it needs is missing.
func node(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("the time to run Node.js is missing: leave -short out")
	}
	program, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is missing: install version 20.3 or newer")
	}
	if _, err := os.Stat(filepath.Join(typescript, "node_modules", "typescript")); err != nil {
		t.Skip("the tools of the TypeScript client are missing: run `make typescript`, which needs Node.js 20.3 or newer")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Dir = typescript
	return cmd
}

// The client's types are those of the server's OpenAPI document.
func TestTypeScriptTypes(t *testing.T) {
	t.Parallel()
	cmd := node(t, "scripts/types.mjs")
	h := servertest.New(t, nil)
	_, document := h.Get("/openapi.json")
	var told bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader([]byte(document)), &told
	types, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &told)
	}
	file := filepath.Join(typescript, "src", "openapi.ts")
	if *rewrite {
		servertest.Must(t, os.WriteFile(file, types, 0o644))
		return
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, types) {
		t.Errorf("%s is not up to date (%v): run go test ./server/events -run TestTypeScriptTypes -rewrite", file, err)
	}
}

// The tests of the TypeScript client, in server/clients/typescript/test, pass with a server.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	build := node(t, filepath.Join("node_modules", "typescript", "bin", "tsc"), "-p", "tsconfig.json", "--outDir", "build")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	s := newShop(t, func(o *server.Options) { o.Events.Keys = keysOf(t, o.Table, newMaster(t)) })
	ctx, stop := context.WithCancel(t.Context())
	folded := make(chan error, 1)
	go func() { folded <- s.Worker.Run(ctx) }()
	defer func() {
		stop()
		<-folded
	}()
	_, key, ok := strings.Cut(s.limitedKey(`"personalData":true`)[1], "Bearer ")
	files, err := filepath.Glob(filepath.Join(typescript, "build", "test", "*.test.js"))
	if !ok || err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	arguments := []string{"--test"}
	for _, f := range files {
		arguments = append(arguments, filepath.Join("build", "test", filepath.Base(f)))
	}
	tests := node(t, arguments...)
	tests.Env = append(os.Environ(), "SERVER="+s.URL, "KEY="+key)
	if out, err := tests.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var tsBlock = regexp.MustCompile("(?s)```ts\n(.*?)```")

// The code of the guide and the README is in a test of the client, word for word.
func TestTypeScriptGuide(t *testing.T) {
	test, err := os.ReadFile(filepath.Join(typescript, "test", "guide.test.ts"))
	servertest.Must(t, err)
	var lines []string
	for line := range strings.Lines(string(test)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	tested := strings.Join(lines, "\n")
	for _, file := range []string{"../../docs/guides/typescript.md", filepath.Join(typescript, "README.md")} {
		text, err := os.ReadFile(file)
		servertest.Must(t, err)
		blocks := tsBlock.FindAllStringSubmatch(string(text), -1)
		if len(blocks) < 2 {
			t.Errorf("%s: %d blocks", file, len(blocks))
		}
		for _, block := range blocks {
			var code []string
			for line := range strings.Lines(block[1]) {
				if !strings.HasPrefix(line, "import ") {
					code = append(code, strings.TrimSpace(line))
				}
			}
			if want := strings.TrimSpace(strings.Join(code, "\n")); !strings.Contains(tested, want) {
				t.Errorf("%s: not in test/guide.test.ts:\n%s", file, block[1])
			}
		}
	}
}
