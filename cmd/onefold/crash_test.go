package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/internal/traffic"
)

// process prepares onefold as a separate process.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	clitest.NeedProcesses(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "ONEFOLD_LINGER=5ms") // tests send single events, each of which would wait 250 ms by default
	return cmd
}

// generatedLog writes a log of the given length and returns its lines.
func generatedLog(t *testing.T, path string, lines int) [][]byte {
	t.Helper()
	generator, err := traffic.New(traffic.Options{Seed: 7, Days: 3})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	if err := generator.WriteLog(&log, lines); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, log.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(bytes.TrimSuffix(log.Bytes(), []byte("\n")), []byte("\n"))
}

// numbers returns all reports for the generated days: by hour and by day, and by several
// dimensions.
func numbers(t *testing.T, flag, of string) string {
	t.Helper()
	var all strings.Builder
	for _, period := range []string{"hour", "day", "month"} {
		for _, by := range []string{"page", "entry_page", "source", "browser", "country"} {
			all.WriteString(onefold(t, flag, of, "report", "--site", "s", "--from", "2026-01-01", "--to", "2026-01-03", "--period", period, "--by", by, "--limit", "0", "--json"))
		}
	}
	return all.String()
}

func mustBeTheSame(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s: line %d of the reports is %q, want %q", what, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s: reports have %d lines, want %d", what, len(g), len(w))
}

// An import that is killed at any moment and restarted ends with the same numbers as an
// uninterrupted one.
func TestKilledImport(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	const lines = 30_000
	dir := t.TempDir()
	log := filepath.Join(dir, "access.log")
	generatedLog(t, log, lines)
	undisturbed := filepath.Join(dir, "undisturbed")
	start := time.Now()
	onefold(t, "--data", undisturbed, "import", "--site", "s", log)
	takes := time.Since(start)
	want := numbers(t, "--data", undisturbed)
	if !strings.Contains(want, `"pageViews"`) {
		t.Fatalf("nothing was imported: %s", want)
	}

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	killed := filepath.Join(dir, "killed")
	for range 8 {
		cmd := process(t, "--data", killed, "import", "--site", "s", log)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(random.Int64N(int64(takes))), func() {
			_ = cmd.Process.Kill() // it may have finished before
		})
		err := cmd.Wait()
		kill.Stop()
		t.Logf("import ended with: %v", err)
	}
	onefold(t, "--data", killed, "import", "--site", "s", log)
	mustBeTheSame(t, "killed and started again", numbers(t, "--data", killed), want)
	onefold(t, "--data", killed, "verify", "--site", "s", "--from", "2026-01-01", "--to", "2026-01-03")
}

// A log imported twice, or in two halves in either order, counts once.
func TestImportInParts(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	dir := t.TempDir()
	log := filepath.Join(dir, "access.log")
	lines := generatedLog(t, log, 5_000)
	half := len(lines) / 2
	first, second := filepath.Join(dir, "first.log"), filepath.Join(dir, "second.log")
	for path, part := range map[string][][]byte{first: lines[:half], second: lines[half:]} {
		if err := os.WriteFile(path, bytes.Join(part, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var want string
	for i, files := range [][]string{{log}, {log, log}, {first, second}, {second, first}, {second, log, first}} {
		data := filepath.Join(dir, fmt.Sprint(i))
		onefold(t, slices.Concat([]string{"--data", data, "import", "--site", "s"}, files)...)
		got := numbers(t, "--data", data)
		if want == "" {
			want = got
		}
		mustBeTheSame(t, fmt.Sprint(files), got, want)
	}
}
