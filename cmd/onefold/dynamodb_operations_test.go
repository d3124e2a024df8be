package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOperationsOfServer looks after the database of a running process: import, export, backup, check, sizes, compact.
func TestOperationsOfServer(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	s := serveDynamodb(t, "--data", at("data"), "--access-key", testKeyID+":"+testKeySecret)
	t.Setenv("AWS_ACCESS_KEY_ID", testKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", testKeySecret)
	t.Setenv("AWS_SESSION_TOKEN", "")
	if code, errs := fails("dynamodb", "check", "--data", at("data")); code != exitFailed || !strings.Contains(errs, "in_use") || !strings.Contains(errs, "--endpoint") {
		t.Errorf("a directory in use: %d %s", code, errs)
	}
	t.Setenv("ONEFOLD_DYNAMODB_ENDPOINT", s.url)
	schema := `{"BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}`
	lines := strings.Repeat(`{"Item":{"pk":{"S":"a"}}}`+"\n", 30) + `{"Item":{"pk":{"S":"b"},"v":{"L":[{"N":"1.50"}]}}}`
	for name, text := range map[string]string{"schema.json": schema, "lines": lines} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says := func(want string, args ...string) {
		t.Helper()
		if out := onefold(t, append([]string{"dynamodb"}, args...)...); !strings.Contains(out, want) {
			t.Errorf("%v: got %s, want %s", args, out, want)
		}
	}
	says("31 lines: 31 items imported, 0 rejected", "import", "orders", "--schema", at("schema.json"), at("lines"))
	says("2 items exported", "export", "orders", at("out.jsonl.gz"))
	says("1 tables: 2 items", "check")
	says(`"findings": []`, "check", "--json")
	says("orders ", "sizes")
	says(`"rows": -1`, "sizes", "--estimate", "--json")
	says("bytes", "compact")
	says("", "backup", at("out.tar"))
	if code, errs := fails("dynamodb", "backup", at("out")); code != exitUsage || !strings.Contains(errs, "bad_output") {
		t.Errorf("a directory: %d %s", code, errs)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	if code, errs := fails("dynamodb", "check"); code != exitFailed || !strings.Contains(errs, "server_refused") {
		t.Errorf("another secret: %d %s", code, errs)
	}
	s.refusesPages(t)
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("stopped: %v", err)
	}
	if code, errs := fails("dynamodb", "sizes"); code != exitFailed || !strings.Contains(errs, "no_server") {
		t.Errorf("no server: %d %s", code, errs)
	}
	t.Setenv("ONEFOLD_DYNAMODB_ENDPOINT", "")
	says("1 tables as of ", "restore", at("out.tar"), at("restored"))
	says("1 tables: 2 items", "check", "--data", at("restored"))
	says("2 lines: 2 items imported", "import", "copy", "--schema", at("out.jsonl.gz.table.json"), at("out.jsonl.gz"), "--data", at("restored"))
}

// fails runs the command in this process and returns its exit code and what it says.
func fails(args ...string) (int, string) {
	var out, errs bytes.Buffer
	code := run(context.Background(), args, streams{in: strings.NewReader(""), out: &out, err: &errs})
	return code, errs.String()
}

// refusesPages asks for a backup as a page of another site could: without the header that it cannot send.
func (s *served) refusesPages(t *testing.T) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+adminPath+"backup", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(testKeyID, testKeySecret)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("without the header: %s", answer.Status)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
}
