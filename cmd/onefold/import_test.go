package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/onefold/onefold/cmd/internal/clitest"
)

// An import through a server has the same numbers as an import into the table, and counts once.
func TestImportThroughAServer(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	dir := t.TempDir()
	log, here, there := filepath.Join(dir, "access.log"), filepath.Join(dir, "here"), filepath.Join(dir, "there")
	generatedLog(t, log, 3_000)
	onefold(t, "--data", here, "import", "--site", "s", log)
	onefold(t, "--data", there, "site", "create", "s")
	key := fromJSON[struct{ Token string }](t, onefold(t, "--data", there, "key", "create", "--site", "s", "--scope", "write", "--json")).Token
	s := serve(t, there)
	send := func(more ...string) importSummary {
		args := append([]string{"import", "--site", "s", "--server", s.url, "--key", key, "--json", log}, more...)
		return fromJSON[importSummary](t, onefold(t, args...))
	}
	rehearsed, first, second := send("--dry-run"), send(), send()
	if first.Imported == 0 || rehearsed.Imported != first.Imported || first.Duplicates != 0 || second.Imported != 0 || second.Duplicates != first.Imported {
		t.Errorf("rehearsed %+v\nfirst %+v\nsecond %+v", rehearsed.Summary, first.Summary, second.Summary)
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	mustBeTheSame(t, "through a server", numbers(t, "--data", there), numbers(t, "--data", here))
}
