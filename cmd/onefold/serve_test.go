package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
)

const (
	testToken = "sixteen characters at least"
	browser   = "Mozilla/5.0 (X11; Linux x86_64; rv:138.0) Gecko/20100101 Firefox/138.0"
)

// served is a server in its own process.
type served struct {
	cmd  *exec.Cmd
	url  string
	mqtt string        // address of MQTT; "": none
	log  chan struct{} // closed when the process has closed its standard error
}

var (
	saysWhere     = regexp.MustCompile(`serves \D*(http://[^\s;]+)`)
	saysWhereMQTT = regexp.MustCompile(`^MQTT readings: (\S+)`) // printed before the HTTP address
)

func serve(t *testing.T, data string) *served {
	t.Helper()
	return startServer(t, "--data", data, "serve", "--addr", "127.0.0.1:0", "--token", testToken)
}

// startServer starts a server, and waits until it prints its address.
func startServer(t *testing.T, args ...string) *served {
	t.Helper()
	return startCommand(t, process(t, args...))
}

// startCommand is startServer for a prepared command.
func startCommand(t *testing.T, cmd *exec.Cmd) *served {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &served{cmd: cmd, log: make(chan struct{})}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	lines := bufio.NewScanner(stderr)
	for s.url == "" && lines.Scan() {
		if found := saysWhereMQTT.FindStringSubmatch(lines.Text()); found != nil {
			s.mqtt = found[1]
		}
		if found := saysWhere.FindStringSubmatch(lines.Text()); found != nil {
			s.url = found[1]
		}
	}
	if s.url == "" {
		t.Fatalf("serve did not say where it listens: %v", cmd.Wait())
	}
	go func() {
		defer close(s.log)
		for lines.Scan() {
			t.Log(lines.Text())
		}
	}()
	return s
}

// end sends a signal and waits until the process has ended.
func (s *served) end(t *testing.T, signal os.Signal) error {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	<-s.log
	return s.cmd.Wait()
}

// send posts one event and reports whether it was acknowledged.
func (s *served) send(ctx context.Context, id string, page int) bool {
	body := fmt.Sprintf(`{"site":"s","id":%q,"url":"/p%d"}`, id, page)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/api/event", strings.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", browser)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return err == nil && answer.StatusCode == http.StatusAccepted && (strings.Contains(string(text), `"stored"`) || strings.Contains(string(text), `"duplicate"`))
}

// Everything that a server acknowledged before it was killed is counted after its restart, each
// event once, although the client sends all unacknowledged events again.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	const clients, kills = 8, 4
	data := filepath.Join(t.TempDir(), "data")
	onefold(t, "--data", data, "site", "create", "s")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex
	acknowledged, unanswered := map[string]bool{}, map[string]bool{}
	for range kills {
		s := serve(t, data)
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		for client := range clients {
			wait.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					id := ulid.Make().String()
					ok := s.send(ctx, id, client)
					mu.Lock()
					if ok {
						acknowledged[id] = true
					} else {
						unanswered[id] = true
					}
					mu.Unlock()
					if !ok {
						return
					}
				}
			})
		}
		time.Sleep(time.Duration(50+random.IntN(300)) * time.Millisecond) // the time of the kill is the input of this test
		if err := s.end(t, syscall.SIGKILL); err == nil {
			t.Fatal("a killed server ended well")
		}
		cancel()
		wait.Wait()
	}
	s := serve(t, data)
	for id := range unanswered {
		if !s.send(t.Context(), id, 0) {
			t.Fatalf("event %s was refused when it was sent again", id)
		}
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatalf("a server that was asked to stop ended with %v", err)
	}
	want := int64(len(acknowledged) + len(unanswered))
	if len(acknowledged) == 0 {
		t.Fatal("nothing was acknowledged")
	}
	countsEventually(t, data, want)
}

// A server with delayed derived items writes them at shutdown. The next process has nothing left to
// fold.
func TestServerThatIsToldToStopFoldsWhatWaits(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	onefold(t, "--data", data, "site", "create", "s")
	for life := range 2 {
		s := startServer(t, "--data", data, "serve", "--addr", "127.0.0.1:0", "--token", testToken, "--fold-delay", "5m")
		for page := range 20 {
			if !s.send(t.Context(), ulid.Make().String(), page) {
				t.Fatal("an event was refused")
			}
		}
		if err := s.end(t, syscall.SIGTERM); err != nil {
			t.Fatalf("a server that was asked to stop ended with %v", err)
		}
		if stats, sessions, left := derived(t, data); stats != int64(20*(life+1)) || sessions != stats || left != 0 {
			t.Errorf("life %d: statistics have %d page views, sessions %d, and %d changes were left to fold; each life was sent 20", life, stats, sessions, left)
		}
	}
}

// derived returns the page views in statistics and in sessions, and the number of unfolded changes.
func derived(t *testing.T, data string) (stats, sessions, left int64) {
	t.Helper()
	g := &globals{Data: data}
	err := g.withStore(t.Context(), t.Output(), tuning{existing: true}, func(st *store) error {
		for b, err := range analytics.StatsByTime.All(t.Context(), st.table, analytics.StatsIn{SiteID: "s", Period: analytics.Hour}) {
			if err != nil {
				return err
			}
			stats += b.PageViews
		}
		for v, err := range analytics.RecentSessions(t.Context(), st.table, "s") {
			if err != nil {
				return err
			}
			sessions += v.PageViews
		}
		err := st.worker.Drain(t.Context())
		left = st.worker.Status().Changes
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return stats, sessions, left
}

// countsEventually starts a server again, which folds the rest, and expects want page views.
func countsEventually(t *testing.T, data string, want int64) {
	t.Helper()
	s := serve(t, data)
	deadline := time.Now().Add(2 * time.Minute)
	var got int64
	for got != want && time.Now().Before(deadline) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/sites/s/report", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+testToken)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var report reportJSON
		err = json.NewDecoder(answer.Body).Decode(&report)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		got = report.Totals.PageViews
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("%d page views, want %d", got, want)
	}
	onefold(t, "--data", data, "verify", "--site", "s")
}

// canceler cancels a context when a text is written to it.
type canceler struct {
	at     string
	cancel func()
}

func (c canceler) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.at)) {
		c.cancel()
	}
	return len(p), nil
}

// TestToldToStopWhileStarting interrupts the startup after each of its messages. The server exits
// cleanly.
func TestToldToStopWhileStarting(t *testing.T) {
	for _, at := range []string{"onefold serves", "statistics:", "setup:"} {
		ctx, cancel := context.WithCancel(t.Context())
		data := filepath.Join(t.TempDir(), "data")
		if code := run(ctx, []string{"--data", data, "serve", "--addr", "127.0.0.1:0"}, streams{out: io.Discard, err: canceler{at, cancel}}); code != exitOK || ctx.Err() == nil {
			t.Errorf("told to stop at %q: exit code %d, %v", at, code, ctx.Err())
		}
		cancel()
	}
}
