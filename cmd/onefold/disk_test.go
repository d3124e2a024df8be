package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/engine"
)

const mb = 1 << 20

// reserve is the disk reserve of the servers in these tests.
const reserve = "16777216"

// smallDisk returns a directory on its own file system, which a test can fill.
func smallDisk(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("ONEFOLD_TEST_SMALL_DISK"); dir != "" {
		own, err := os.MkdirTemp(dir, "onefold-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(own) }) // leftovers do not fail the test
		return own
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mount of a small disk: %v %s; run this test as root where mounting is allowed, or set ONEFOLD_TEST_SMALL_DISK to a directory on a file system of 64 to 256 MB", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	return dir
}

// room returns the free bytes of a disk.
func room(t *testing.T, disk string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(disk, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize
}

// fill fills a disk with a ballast file so that leave bytes remain free.
func fill(t *testing.T, disk string, leave int64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(disk, "ballast"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		n := min(room(t, disk)-leave, mb)
		if n <= 0 {
			return
		}
		if _, err := f.Write(make([]byte, n)); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func free(t *testing.T, disk string) {
	t.Helper()
	if err := os.Remove(filepath.Join(disk, "ballast")); err != nil {
		t.Fatal(err)
	}
}

// ask sends a request with the reading token, and returns the status, the Retry-After header and
// the body.
func (s *served) ask(t *testing.T, method, path, body string) (status int, retry string, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("User-Agent", browser)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Minute) // a missing response is the failure to detect
	defer cancel()
	answer, err := http.DefaultClient.Do(r.WithContext(ctx))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return answer.StatusCode, answer.Header.Get("Retry-After"), string(b)
}

// mustSay checks a health response of the server.
func (s *served) mustSay(t *testing.T, path string, want int, status string) {
	t.Helper()
	for _, problem := range s.health(t, path, want, status) {
		t.Error(problem)
	}
}

// health returns what is wrong with a health response.
func (s *served) health(t *testing.T, path string, want int, status string) (problems []string) {
	t.Helper()
	code, _, text := s.ask(t, http.MethodGet, path, "")
	var said struct{ Status, Reason string }
	if err := json.Unmarshal([]byte(text), &said); err != nil || code != want || said.Status != status || (code != http.StatusOK) != (said.Reason != "") {
		problems = append(problems, fmt.Sprintf("%s: %d %s, want %d %s with a reason unless it is well", path, code, text, want, status))
	}
	return problems
}

// whileFull fills a disk up to a rest, again and again, until all checks hold at once: a flush of the
// server frees the space of its log at any time, and health checks repeat a result for a second.
func whileFull(t *testing.T, disk string, leave int64, check func() (problems []string)) {
	t.Helper()
	var problems []string
	defer func() {
		if len(problems) > 0 {
			t.Errorf("on a disk with %d bytes: %q", leave, problems)
		}
	}()
	soon(t, "all checks hold on a full disk", func() bool {
		fill(t, disk, leave)
		problems = check()
		return len(problems) == 0
	})
}

// soon polls until is returns true.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !is(); {
		if time.Now().After(end) {
			t.Fatalf("it never came to be: %s", what)
		}
		time.Sleep(5 * time.Millisecond) // leaves the processor to what is waited for
	}
}

// sendUntilFull sends events until one is rejected, and returns how many were acknowledged. The disk
// is filled up to a rest before each of them, because a flush of the server frees space at any time.
func (s *served) sendUntilFull(t *testing.T, disk string, leave int64) (acknowledged int64) {
	t.Helper()
	soon(t, "an event is refused", func() bool {
		fill(t, disk, leave)
		ok := s.send(t.Context(), ulid.Make().String(), 1)
		if ok {
			acknowledged++
		}
		return !ok
	})
	return acknowledged
}

// TestFullDisk fills the disk of a server. Events and readings are rejected, reads continue, health
// checks report the reason, and the server can be stopped. When there is space again, it resumes by
// itself. All acknowledged events are counted once.
func TestFullDisk(t *testing.T) {
	disk := smallDisk(t)
	table := &globals{Data: filepath.Join(disk, "data"), Reserve: 16 * mb}
	t.Setenv("ONEFOLD_DISK_RESERVE", reserve)
	onefold(t, "--data", table.Data, "site", "create", "s")
	m := newMetersIn(t, table, "", "d")
	s := startServer(t, "--data", table.Data, "serve", "--addr", "127.0.0.1:0", "--token", testToken, "--event-rate", "100000")
	acknowledged := s.sendUntilFull(t, disk, 16*mb+mb/4)
	if acknowledged == 0 {
		t.Error("no event was acknowledged with room")
	}
	refuse := func() (problems []string) {
		t.Helper()
		wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
		id := ulid.Make().String()
		status, retry, text := s.ask(t, http.MethodPost, "/api/event", `{"site":"s","id":"`+id+`","url":"/p"}`)
		if status == http.StatusAccepted {
			acknowledged++
		}
		if status != http.StatusInsufficientStorage || !strings.Contains(text, "urn:onefold:error:disk_full") || retry == "" {
			wrong("an event: %d, Retry-After %q, %s", status, retry, text)
		}
		if m.post(t.Context(), s, m.measure("d", 3)) {
			wrong("readings were acknowledged")
		}
		problems = append(problems, s.health(t, "/readyz", http.StatusServiceUnavailable, "full")...)
		problems = append(problems, s.health(t, "/healthz", http.StatusServiceUnavailable, "full")...)
		if s.metric(t, "onefold_disk_full") != "1" {
			wrong("metrics do not say that the disk is full")
		}
		s.mustSay(t, "/livez", http.StatusOK, "alive")
		if status, _, text := s.ask(t, http.MethodGet, "/api/v1/sites/s/report", ""); status != http.StatusOK {
			t.Errorf("a report: %d %s", status, text)
		}
		return problems
	}
	whileFull(t, disk, 8*mb, refuse)
	whileFull(t, disk, 0, refuse)
	free(t, disk)
	soon(t, "an event is taken again", func() bool { return s.send(t.Context(), ulid.Make().String(), 1) })
	soon(t, "health is well again", func() bool {
		status, _, _ := s.ask(t, http.MethodGet, "/healthz", "")
		return status == http.StatusOK
	})
	whileFull(t, disk, 0, func() []string {
		if s.send(t.Context(), ulid.Make().String(), 1) {
			acknowledged++
			return []string{"an event was taken without room"}
		}
		return nil
	})
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("told to stop on a full disk: %v", err)
	}
	if out, err := process(t, "--data", table.Data, "serve", "--addr", "127.0.0.1:0").CombinedOutput(); err == nil || !strings.Contains(string(out), "disk_full") {
		t.Errorf("started on a full disk: %v %s", err, out)
	}
	free(t, disk)
	countsEventually(t, table.Data, acknowledged+1)
	onefold(t, "--data", table.Data, "verify", "--site", "s")
	onefold(t, "--data", table.Data, "dynamodb", "check")
}

// TestFullDiskOverMQTT publishes readings to a server with a full disk, over an existing connection
// and new ones. None is acknowledged; readings sent again later are stored once.
func TestFullDiskOverMQTT(t *testing.T) {
	disk := smallDisk(t)
	table := &globals{Data: filepath.Join(disk, "data"), Reserve: 16 * mb}
	t.Setenv("ONEFOLD_DISK_RESERVE", reserve)
	m := newMetersIn(t, table, "", "d")
	s := m.serve()
	first := m.connect(s, "d")
	if sent := m.measure("d", 5); m.publish(first, sent) != len(sent) {
		t.Fatal("readings were not acknowledged with room")
	}
	fill(t, disk, 0)
	refused := m.measure("d", 20)
	if n := m.publish(first, refused); n != 0 {
		t.Errorf("%d readings were acknowledged on a full disk", n)
	}
	for range 3 {
		again := m.connect(s, "d") // a login writes nothing, so it succeeds
		if n := m.publish(again, refused); n != 0 {
			t.Errorf("%d readings were acknowledged on a full disk", n)
		}
	}
	s.mustSay(t, "/readyz", http.StatusServiceUnavailable, "full")
	free(t, disk)
	soon(t, "the readings are taken", func() bool { return m.publish(m.connect(s, "d"), refused) == len(refused) })
	m.check(s)
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	onefold(t, "--data", table.Data, "dynamodb", "check")
	onefold(t, "--data", table.Data, "verify", "--fleet", "plant")
}

// TestDiskFails fills a disk without a reserve. The process ends by itself, with an error message
// and its own exit code.
func TestDiskFails(t *testing.T) {
	disk := smallDisk(t)
	data := filepath.Join(disk, "data")
	t.Setenv("ONEFOLD_DISK_RESERVE", "-1")
	onefold(t, "--data", data, "site", "create", "s")
	s := startServer(t, "--data", data, "serve", "--addr", "127.0.0.1:0", "--token", testToken, "--event-rate", "100000")
	acknowledged := s.sendUntilFull(t, disk, 0)
	<-s.log
	var exit *exec.ExitError
	if err := s.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != engine.ExitFatal {
		t.Errorf("it ended with %v, want exit code %d", err, engine.ExitFatal)
	}
	free(t, disk)
	again := serve(t, data)
	if !again.send(t.Context(), ulid.Make().String(), 1) {
		t.Error("an event was refused with room again")
	}
	if err := again.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	countsAtLeast(t, data, acknowledged+1)
}

// countsAtLeast fails if acknowledged events are missing. There may be one more, stored before its
// response.
func countsAtLeast(t *testing.T, data string, want int64) {
	t.Helper()
	stats, _, _ := derived(t, data)
	if stats < want || stats > want+1 {
		t.Errorf("%d events are counted, %d were acknowledged", stats, want)
	}
}

// TestMeterThatCannotBeWritten puts a directory in place of the usage file. The server continues, and
// reports the failed part.
func TestMeterThatCannotBeWritten(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	onefold(t, "--data", data, "site", "create", "s")
	if err := os.Mkdir(data+".usage", 0o700); err != nil {
		t.Fatal(err)
	}
	s := serve(t, data)
	soon(t, "health names the part", func() bool {
		status, _, text := s.ask(t, http.MethodGet, "/healthz", "")
		return status == http.StatusOK && strings.Contains(text, `"failing":[{"name":"meter"`)
	})
	if s.metric(t, `onefold_part_up{part="meter"}`) != "0" {
		t.Error("metrics do not name the part")
	}
	if !s.send(t.Context(), ulid.Make().String(), 1) {
		t.Error("an event was refused")
	}
	if err := os.Remove(data + ".usage"); err != nil {
		t.Fatal(err)
	}
	soon(t, "the part goes on", func() bool {
		_, _, text := s.ask(t, http.MethodGet, "/healthz", "")
		return !strings.Contains(text, "failing")
	})
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// TestFewFiles limits a server to few open files, and uses them up with idle connections. It still
// responds to others.
func TestFewFiles(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	onefold(t, "--data", data, "site", "create", "s")
	limited := process(t, "--data", data, "serve", "--addr", "127.0.0.1:0", "--token", testToken)
	s := startCommand(t, filesAtMost(t, 64, limited))
	var idle []net.Conn
	for range 100 {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
		if _, err := io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: s\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		if !s.send(t.Context(), ulid.Make().String(), 1) {
			t.Fatalf("an event was refused beside %d idle connections", len(idle))
		}
		http.DefaultClient.CloseIdleConnections()
	}
	s.mustSay(t, "/healthz", http.StatusOK, "ok")
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}
