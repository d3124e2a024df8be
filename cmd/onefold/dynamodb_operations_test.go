package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/cmd/onefold/internal/protocol"
	"github.com/onefold/onefold/dynamo"
)

// TestOperationsOfServer maintains the database of a running process: import, export, backup,
// check, sizes, compact.
func TestOperationsOfServer(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	s := serveDynamodb(t, "--data", at("data"), "--access-key", testKeyID+":"+testKeySecret, "--region", "eu-west-1")
	t.Setenv("AWS_REGION", "eu-west-1")
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
	says("1 table: 2 items", "check")
	says(`"findings": []`, "check", "--json")
	says("orders ", "sizes")
	says(`"rows": -1`, "sizes", "--estimate", "--json")
	says("bytes", "compact")
	says(at("out.tar")+": 1 table, ", "backup", at("out.tar"))
	says(`"crc32c"`, "backup", at("another.tar"), "--json")
	if code, errs := fails("dynamodb", "backup", at("out")); code != exitUsage || !strings.Contains(errs, "bad_output") {
		t.Errorf("a directory: %d %s", code, errs)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	if code, errs := fails("dynamodb", "check"); code != exitFailed || !strings.Contains(errs, "server_refused") {
		t.Errorf("another secret: %d %s", code, errs)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", testKeySecret)
	if code, errs := fails("dynamodb", "check", "--region", "eu-west-2"); code != exitFailed || !strings.Contains(errs, "valid region") {
		t.Errorf("another Region: %d %s", code, errs)
	}
	s.refusesPages(t)
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("stopped: %v", err)
	}
	if code, errs := fails("dynamodb", "sizes"); code != exitFailed || !strings.Contains(errs, "no_server") {
		t.Errorf("no server: %d %s", code, errs)
	}
	t.Setenv("ONEFOLD_DYNAMODB_ENDPOINT", "")
	says("1 table as of ", "restore", at("out.tar"), at("restored"))
	says("1 table: 2 items", "check", "--data", at("restored"))
	says("2 lines: 2 items imported", "import", "copy", "--schema", at("out.jsonl.gz.table.json"), at("out.jsonl.gz"), "--data", at("restored"))
	if err := os.Truncate(at("out.jsonl.gz"), 60); err != nil {
		t.Fatal(err)
	}
	if code, errs := fails("dynamodb", "import", "copy", at("out.jsonl.gz"), "--data", at("restored")); code != exitFailed || !strings.Contains(errs, "unreadable") || strings.Contains(errs, "Fix the line") {
		t.Errorf("a file that is cut off: %d %s", code, errs)
	}
}

// fails runs a command in this process, and returns its exit code and error output.
func fails(args ...string) (int, string) {
	var out, errs bytes.Buffer
	code := run(context.Background(), args, streams{in: strings.NewReader(""), out: &out, err: &errs})
	return code, errs.String()
}

// refusesPages requests a backup like a page of another site, without the header that such a page
// cannot send, and like a page that passes as same-site.
func (s *served) refusesPages(t *testing.T) {
	t.Helper()
	for name, headers := range map[string]map[string]string{"no header": {}, "a page": {protocol.AdminHeader: "1", "Origin": s.url}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+protocol.AdminPath+"backup", nil)
		if err != nil {
			t.Fatal(err)
		}
		for header, value := range headers {
			r.Header.Set(header, value)
		}
		target := dynamodbTarget{Endpoint: s.url, Region: "eu-west-1"}
		if err := target.sign(r); err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", name, answer.Status)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSecretStaysHere checks that a request contains a signature, and nothing from which the secret
// could be derived.
func TestSecretStaysHere(t *testing.T) {
	sent := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		dump, err := httputil.DumpRequest(r, true)
		if err != nil {
			t.Error(err)
		}
		sent <- string(dump)
	}))
	defer server.Close()
	fails("dynamodb", "check", "--endpoint", server.URL)
	got := <-sent
	if !strings.Contains(got, "Authorization: AWS4-HMAC-SHA256 Credential="+testKeyID+"/") || strings.Contains(got, "Basic ") || strings.Contains(got, testKeySecret) {
		t.Errorf("sent %s", got)
	}
}

// TestMetricsByName checks that a web page cannot read metrics under its own host name.
func TestMetricsByName(t *testing.T) {
	registry := prometheus.NewRegistry()
	for _, c := range []struct {
		host string
		all  bool
		want int
	}{
		{"127.0.0.1:8000", false, 200}, {"[::1]:8000", false, 200}, {"192.168.1.2", false, 200}, {"localhost:8000", false, 200},
		{"db", false, 200}, {"Host.Docker.Internal:8000", false, 200}, {"evil.example.org:8000", false, 403}, {"127.0.0.1.nip.io", false, 403},
		{"localhost.example.org.", false, 403}, {"db.example.org", true, 200},
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		protocol.Metrics(registry, nil, c.all).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: got %d, want %d", c.host, w.Code, c.want)
		}
	}
}

func TestEmptyAccessKey(t *testing.T) {
	if code, errs := fails("dynamodb", "--memory", "--access-key", " "); code != exitUsage || !strings.Contains(errs, "bad_access_key") {
		t.Errorf("got %d %s", code, errs)
	}
}

// TestDamagedDatabase damages a file of a served database. Every client gets an error without a
// stack trace.
func TestDamagedDatabase(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	args := []string{"--data", dir, "dynamodb"}
	lines := filepath.Join(t.TempDir(), "lines")
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, `{"Item":{"pk":{"S":"%d"},"v":{"S":"%s"}}}`+"\n", i, strings.Repeat("x", i%100))
	}
	schema := lines + descriptionSuffix
	for name, text := range map[string]string{lines: text.String(), schema: `{"BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	onefold(t, append(args, "import", "orders", "--create", lines)...)
	onefold(t, append(args, "compact")...)
	overwrite(t, dir)
	tells := func(code int, want string, args ...string) {
		t.Helper()
		got, errs := fails(args...)
		if got != code || !strings.Contains(errs, want) || strings.Contains(errs, "goroutine") || strings.Count(errs, "\n") > 3 {
			t.Errorf("%v: got %d %s", args, got, errs)
		}
	}
	tells(exitDifferences, "damaged:", append(args, "check")...)
	tells(exitFailed, "damaged:", append(args, "sizes")...)
	tells(exitFailed, "damaged:", append(args, "backup", dir+".tar")...)
	tells(exitFailed, "damaged:", append(args, "export", "orders", "-q", dir+".jsonl")...)
	s := serveDynamodb(t, "--data", dir)
	tells(exitDifferences, "damaged:", "dynamodb", "check", "--endpoint", s.url)
	tells(exitFailed, "damaged:", "dynamodb", "sizes", "--endpoint", s.url)
	tells(exitFailed, "damaged:", "dynamodb", "backup", dir+".tar", "--endpoint", s.url)
	if _, err := s.dynamodb("any", "any").Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("orders")}); dynamo.Code(err) != "InternalServerError" {
		t.Errorf("scan: %v", err)
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

// overwrite damages the largest table file in a directory.
func overwrite(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	var largest string
	var size int64
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.Size() > size {
			largest, size = name, info.Size()
		}
	}
	b, err := os.ReadFile(largest)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[size/2:], "\xde\xad\xbe\xef")
	if err := os.WriteFile(largest, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
