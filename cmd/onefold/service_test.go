package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/internal/storeurl"
)

// startDatabase starts `onefold dynamodb` in its own process, which requires signatures.
func startDatabase(t *testing.T, args ...string) *served {
	t.Helper()
	return startServer(t, append([]string{"dynamodb", "serve", "--addr", "127.0.0.1:0", "--access-key", testKeyID + ":" + testKeySecret}, args...)...)
}

// storeAt returns the store URL of a table.
func storeAt(url, table string) string {
	return "dynamodb+http://" + strings.TrimPrefix(url, "http://") + "/" + table
}

// makeTable creates the table of a store.
func makeTable(t testing.TB, store string) {
	t.Helper()
	where, err := storeurl.Parse(store, "")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := where.Clients(t.Context())
	if err == nil {
		err = products.Schema.Ensure(t.Context(), opened.API, opened.Table)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Commands behave on a service exactly as on a directory: the same sessions, each on its own table.
func TestScriptsOnAService(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	ofDirectories := []string{ // these concern directories, or no table
		"backup", "backups", "cost", "design", "dynamodb", "dynamodb_operations", "heat", "infra", "lint", "serve_flags",
	}
	dir := t.TempDir()
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(all) <= len(ofDirectories) {
		t.Fatalf("%d scripts, %v", len(all), err)
	}
	for _, path := range all {
		name := filepath.Base(path)
		if slices.Contains(ofDirectories, strings.TrimSuffix(name, ".txtar")) {
			continue
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	database := startDatabase(t, "--memory", "--stream-shards", "3", "--roll-shards", "500")
	var tables atomic.Int32
	t.Run("session", func(t *testing.T) {
		testscript.Run(t, scripts(dir, false, func(env *testscript.Env) error {
			store := storeAt(database.url, fmt.Sprintf("onefold-%d", tables.Add(1)))
			makeTable(t, store)
			env.Setenv("ONEFOLD_STORE", store)
			env.Setenv("AWS_ACCESS_KEY_ID", testKeyID)
			env.Setenv("AWS_SECRET_ACCESS_KEY", testKeySecret)
			return nil
		}))
	})
	_ = database.end(t, os.Interrupt) // no client is connected any more
}
