package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/cmd/internal/clitest"
)

const plausibleExport = "../../analytics/imported/exports/testdata/plausible"

// countsOf returns all reports of the imported days, and the imports.
func countsOf(t *testing.T, data, from, to string) string {
	t.Helper()
	var all strings.Builder
	for _, period := range []string{"day", "month"} {
		for _, by := range []string{"page", "browser", "country", "source"} {
			all.WriteString(onefold(t, "--data", data, "report", "--site", "s", "--from", from, "--to", to, "--period", period, "--by", by, "--limit", "0", "--json"))
		}
	}
	for _, im := range fromJSON[[]imported.Import](t, onefold(t, "--data", data, "imports", "list", "--site", "s", "--json")) {
		fmt.Fprintf(&all, "%s %s %d\n", im.ImportID, im.State, im.PageViews)
	}
	return all.String()
}

// Daily counts imported through a server equal those imported into the table, and count once.
func TestCountsThroughAServer(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	dir := t.TempDir()
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	onefold(t, "--data", here, "import", "--site", "s", plausibleExport)
	onefold(t, "--data", there, "site", "create", "s")
	key := fromJSON[struct{ Token string }](t, onefold(t, "--data", there, "key", "create", "--site", "s", "--scope", "write", "--json")).Token
	s := serve(t, there)
	send := func(more ...string) imported.Result {
		return fromJSON[imported.Result](t, onefold(t, append([]string{"import", "--site", "s", "--server", s.url, "--key", key, "--json", plausibleExport}, more...)...))
	}
	for i, got := range []imported.Result{send("--dry-run"), send(), send()} {
		if got.PageViews != 862 || got.Days != 3 || got.Dry != (i == 0) || len(got.Tables) != 10 {
			t.Errorf("%d: %+v", i, got)
		}
	}
	junk := filepath.Join(dir, "junk.csv")
	if err := os.WriteFile(junk, []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		"unknown_format": {"--key", key, "--format", "ga4", junk},
		"unauthorized":   {"--key", "ofk_x_y", "--format", "ga4", junk},
		"no_such_file":   {"--key", key, "--format", "ga4", filepath.Join(dir, "nothing.csv")},
	} {
		out, err := process(t, append([]string{"import", "--site", "s", "--server", s.url}, args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), says) {
			t.Errorf("want %s: %v %s", says, err, out)
		}
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	mustBeTheSame(t, "through a server", countsOf(t, there, "2024-01-01", "2024-01-31"), countsOf(t, here, "2024-01-01", "2024-01-31"))
}

// manyCounts writes daily counts of a year of pages.
func manyCounts(t *testing.T, path string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("date,pagePath,sessions,screenPageViews\n")
	for i := range 365 {
		day := time.Date(2024, 1, 1+i, 0, 0, 0, 0, time.UTC).Format("20060102")
		for p := range 400 {
			fmt.Fprintf(&b, "%s,/page/%d,%d,%d\n", day, p, 1+(i*p)%97, 1+(i+p)%211)
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An import of daily counts that is killed at any moment counts completely or not at all. Imported
// again, it counts once.
func TestKilledImportOfCounts(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "pages.csv")
	manyCounts(t, file)
	undisturbed, data := filepath.Join(dir, "undisturbed"), filepath.Join(dir, "killed")
	start := time.Now()
	onefold(t, "--data", undisturbed, "import", "--site", "s", file)
	takes := time.Since(start)
	want := countsOf(t, undisturbed, "2024-01-01", "2024-12-31")
	onefold(t, "--data", data, "site", "create", "s")
	nothing := countsOf(t, data, "2024-01-01", "2024-12-31")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	killed := 0
	for range 5 {
		cmd := process(t, "--data", data, "import", "--site", "s", "--quiet", file)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(random.Int64N(int64(takes)*3/2)), func() { _ = cmd.Process.Kill() }) // it may have ended
		if err := cmd.Wait(); err != nil {
			killed++
		}
		timer.Stop()
		got := countsOf(t, data, "2024-01-01", "2024-12-31")
		if storing, _, found := strings.Cut(got, " storing "); found { // the import exists and is not counted
			got = storing[:strings.LastIndexByte(storing, '}')+2]
			nothing := nothing[:strings.LastIndexByte(nothing, '}')+2]
			mustBeTheSame(t, "killed", got, nothing)
		} else if got != nothing {
			mustBeTheSame(t, "killed", got, want)
		}
	}
	t.Logf("%d of 5 were killed", killed)
	onefold(t, "--data", data, "import", "--site", "s", file)
	mustBeTheSame(t, "killed and imported again", countsOf(t, data, "2024-01-01", "2024-12-31"), want)
	id := fromJSON[[]imported.Import](t, onefold(t, "--data", data, "imports", "list", "--site", "s", "--json"))[0].ImportID
	onefold(t, "--data", data, "imports", "delete", "--site", "s", id)
	mustBeTheSame(t, "deleted", countsOf(t, data, "2024-01-01", "2024-12-31"), nothing)
}
