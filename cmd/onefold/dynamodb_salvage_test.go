package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSalvage damages the log of a closed database. No command opens it, and salvage recovers the
// intact data.
func TestSalvage(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	fails := func(code int, says string, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if got := run(context.Background(), args, streams{in: strings.NewReader(""), out: &out, err: &errs}); got != code || !strings.Contains(errs.String(), says) {
			t.Errorf("onefold %s: exit code %d: %s%s", strings.Join(args, " "), got, out.String(), errs.String())
		}
		return out.String()
	}
	for _, site := range []string{"first", "second", "third"} {
		onefold(t, "--data", at("db"), "site", "create", site)
	}
	if out := onefold(t, "--data", at("db"), "dynamodb", "salvage", "--to", at("whole"), "-q"); !strings.Contains(out, "1 table") {
		t.Errorf("of a database that is whole: %s", out)
	}
	if of, got := onefold(t, "--data", at("db"), "site", "list"), onefold(t, "--data", at("whole"), "site", "list"); of != got {
		t.Errorf("sites %s became %s", of, got)
	}
	logs, err := filepath.Glob(at("db/*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(logs[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(exitFailed, "damaged", "--data", at("db"), "site", "list")
	fails(exitFailed, "dynamodb salvage --to DIR", "--data", at("db"), "dynamodb", "check")
	if out := fails(exitDifferences, "damaged: ", "--data", at("db"), "dynamodb", "salvage", "--to", at("saved"), "-q"); !strings.Contains(out, ".log: bytes ") {
		t.Errorf("losses: %s", out)
	}
	fails(exitDifferences, "damaged: ", "--json", "--data", at("db"), "dynamodb", "salvage", "--to", at("again"), "-q")
	onefold(t, "--data", at("saved"), "dynamodb", "check")
	onefold(t, "--data", at("saved"), "site", "list")
	fails(exitFailed, "not_empty", "--data", at("db"), "dynamodb", "salvage", "--to", at("saved"), "-q")
	fails(exitFailed, "no_database", "--data", at("none"), "dynamodb", "salvage", "--to", at("new"), "-q")
	fails(exitFailed, "no_database", "--data", dir, "dynamodb", "salvage", "--to", at("new"), "-q")
}
