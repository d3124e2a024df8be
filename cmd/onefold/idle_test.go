package main

import (
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onefold/onefold/cmd/internal/clitest"
)

// filesAtMost limits the open files of a process, including connections.
func filesAtMost(t *testing.T, n int, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skipf("sh is missing, which limits how many files the server may open: install a POSIX shell, such as Debian's package dash (%v)", err)
	}
	cmd.Args = append([]string{"sh", "-c", `ulimit -n "$0"; exec "$@"`, strconv.Itoa(n), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = shell
	return cmd
}

// TestIdleConnections has 10,000 clients that keep connections open to a server limited to 1,024
// files. They send nothing, nothing more after a response, or half a header, and reconnect when
// they are cut off. Others are served all the same; the log shows how fast.
func TestIdleConnections(t *testing.T) {
	clitest.NeedProcesses(t)
	const clients = 10_000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < uint64(clients)+1000 {
		t.Skipf("this process may open %d files (%v), and %d connections need %d: run `ulimit -n %d` before the test", limit.Cur, err, clients, clients+1000, clients+1000)
	}
	cmd := process(t, "--data", t.TempDir()+"/data", "serve", "--addr", "127.0.0.1:0", "--token", testToken)
	s := startCommand(t, filesAtMost(t, 1024, cmd))
	address := strings.TrimPrefix(s.url, "http://")
	held := make([]net.Conn, clients)
	for i := range held {
		held[i] = idler(t, address, i)
	}
	defer func() {
		for _, conn := range held {
			conn.Close()
		}
	}()
	var took []time.Duration
	for i := range 1000 {
		k := rand.IntN(clients) // one of them reconnects
		held[k].Close()
		held[k] = idler(t, address, i)
		began := time.Now()
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(s.url + "/livez")
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("request %d: %d, %v", i, answer.StatusCode, err)
		}
		answer.Body.Close()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("beside %d idle connections: median %v, p99 %v, longest %v", clients, took[500], took[990], took[999])
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

// idler opens a connection and sends no request, or an incomplete one.
func idler(t *testing.T, address string, i int) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	sends := []string{"", "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", "GET /livez HTTP/1.1\r\nHost: x\r\nX-More: "}[i%3]
	if _, err := io.WriteString(conn, sends); err != nil {
		t.Fatal(err)
	}
	return conn
}
