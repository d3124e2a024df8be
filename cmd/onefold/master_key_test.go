package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/onefold/onefold/cmd/internal/clitest"
)

// failsWith runs a command that must fail with a code.
func failsWith(t *testing.T, code string, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if exit := run(context.Background(), args, streams{in: strings.NewReader(""), out: &out, err: &errs}); exit == 0 || !strings.Contains(errs.String(), code) {
		t.Errorf("%v: exit code %d, %s, want %s", args, exit, &errs, code)
	}
}

// A server with a master key stores personal data encrypted, through crashes and changes of the key.
// One with a wrong key does not start, and one without shows placeholders.
func TestMasterKey(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	data := filepath.Join(t.TempDir(), "data")
	file := func(name string, lines ...string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first, second := onefold(t, "events", "master-key"), onefold(t, "events", "master-key")
	right, wrong, both, later := file("right", first), file("wrong", second), file("both", second, first), file("later", second)
	key := fromJSON[struct{ Token string }](t, onefold(t, "--data", data, "key", "create", "--site", "events:main", "--scope", "write", "--personal-data", "--json")).Token
	s := startServer(t, "--data", data, "serve", "--addr", "127.0.0.1:0", "--master-key-file", right)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.url+"/api/v1/events/event-types/Registered/schema", strings.NewReader(`{"schema":{"properties":{"who":{},"name":{"x-personal-data":"who"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	appending := func(who string) []string {
		return []string{"events", "append", "customer/" + who, "--type", "Registered", "--payload", `{"who":"` + who + `","name":"Ada"}`}
	}
	onefold(t, slices.Concat(appending("7"), []string{"--server", s.url, "--key", key})...)
	_ = s.end(t, syscall.SIGKILL)

	failsWith(t, "wrong_master_key", "serve", "--data", data, "--addr", "127.0.0.1:0", "--master-key-file", wrong)
	failsWith(t, "bad_master_key", "serve", "--data", data, "--addr", "127.0.0.1:0", "--master-key-file", file("none", "# nothing\n"))
	failsWith(t, "bad_master_key", "serve", "--data", data, "--addr", "127.0.0.1:0", "--master-key-file", filepath.Join(data, "missing"))
	failsWith(t, "wrong_master_key", slices.Concat(appending("8"), []string{"--data", data, "--master-key-file", wrong})...)
	failsWith(t, "personal_fields", slices.Concat(appending("8"), []string{"--data", data})...)
	reads := func(want string, flags ...string) {
		t.Helper()
		if got := onefold(t, slices.Concat([]string{"events", "read", "customer/7", "--json"}, flags)...); !strings.Contains(got, `"name":"`+want+`"`) {
			t.Errorf("%v: %s, want %s", flags, got, want)
		}
	}
	reads("[redacted]", "--data", data)
	reads("Ada", "--data", data, "--master-key-file", right)
	s = serve(t, data)
	reads("[redacted]", "--server", s.url, "--key", key)
	failsWith(t, "personal_fields", slices.Concat(appending("8"), []string{"--server", s.url, "--key", key})...)
	_ = s.end(t, syscall.SIGKILL)

	reads("Ada", "--data", data, "--master-key-file", both)
	failsWith(t, "wrong_master_key", "events", "read", "customer/7", "--data", data, "--master-key-file", right) // the other one is in use, too
	if told := onefold(t, "events", "rewrap", "--data", data, "--master-key-file", both); !strings.Contains(told, "Encrypted 1 key again") {
		t.Error(told)
	}
	reads("Ada", "--data", data, "--master-key-file", later)
	failsWith(t, "no_such_subject", "events", "erase", "nobody", "--data", data, "--master-key-file", later)
	failsWith(t, "no_master_key", "events", "erase", "7", "--data", data)
	s = startServer(t, "--data", data, "serve", "--addr", "127.0.0.1:0", "--master-key-file", later)
	if told := onefold(t, "events", "erase", "7", "--server", s.url, "--key", key); !strings.Contains(told, "The person is in 1 aggregate; deleted 0 snapshots, released 0 values.\nThe change stream") {
		t.Error(told)
	}
	reads("[forgotten]", "--server", s.url, "--key", key)
	_ = s.end(t, syscall.SIGKILL)
	type receipt struct{ AggregateCount int }
	if got := fromJSON[receipt](t, onefold(t, "events", "erase", "7", "--json", "--data", data, "--master-key-file", later)); got.AggregateCount != 1 {
		t.Errorf("%+v", got)
	}
	if told := onefold(t, "audit", "list", "--data", data); strings.Count(told, "subject.erase") != 2 {
		t.Error(told)
	}
}
