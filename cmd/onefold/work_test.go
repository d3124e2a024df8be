package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onefold/onefold/cmd/internal/clitest"
)

// gang is workers in their own processes that are disturbed.
type gang struct {
	*testing.T
	store  string
	random *rand.Rand
	made   int

	workers []*laborer
}

// laborer is a worker process. begun is closed once it has started, since before that it does not
// handle signals.
type laborer struct {
	*exec.Cmd
	begun chan struct{}
	once  sync.Once
}

// Write receives the worker's output, which begins with its start message.
func (l *laborer) Write(p []byte) (int, error) {
	l.once.Do(func() { close(l.begun) })
	return len(p), nil
}

// workLease is the lease duration of the workers in a test.
const workLease = time.Second

func (g *gang) start() {
	g.made++
	l := &laborer{Cmd: process(g.T, "--store", g.store, "work", "--lease-for", workLease.String(), "--name", fmt.Sprint("w", g.made)), begun: make(chan struct{})}
	l.Stderr = l
	if err := l.Start(); err != nil {
		g.Fatal(err)
	}
	g.workers = append(g.workers, l)
}

// disturb kills a worker, stops it, or suspends it for longer than its lease.
func (g *gang) disturb(stop <-chan struct{}) {
	i := g.random.IntN(len(g.workers))
	cmd := g.workers[i]
	replace := func(sig os.Signal) {
		_ = cmd.Process.Signal(sig) // it exists: nobody has waited for it
		if err := cmd.Wait(); sig == syscall.SIGTERM && err != nil {
			g.Errorf("a worker that was told to stop: %v", err)
		}
		g.workers = append(g.workers[:i], g.workers[i+1:]...)
		g.start()
	}
	switch g.random.IntN(3) {
	case 0:
		replace(os.Kill)
	case 1:
		<-cmd.begun
		replace(syscall.SIGTERM)
	default:
		_ = cmd.Process.Signal(syscall.SIGSTOP)
		select {
		case <-time.After(2 * workLease):
		case <-stop:
		}
		_ = cmd.Process.Signal(syscall.SIGCONT)
	}
}

// TestWorkersKilledAndPaused has three workers share the stream of a DynamoDB in another process,
// with signed requests and rolling shards, while logs are imported by processes that come and go.
// Workers are killed, stopped and suspended. The final numbers equal those of an undisturbed import
// into a directory. ONEFOLD_WORK_LINES sets the number of lines.
func TestWorkersKilledAndPaused(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	lines := 2_400
	if n, err := strconv.Atoi(os.Getenv("ONEFOLD_WORK_LINES")); err == nil {
		lines = n
	}
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("ONEFOLD_WORK_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("seed %d", seed)
	dir := t.TempDir()
	log := filepath.Join(dir, "access.log")
	all := generatedLog(t, log, lines)
	undisturbed := filepath.Join(dir, "undisturbed")
	onefold(t, "--data", undisturbed, "import", "--site", "s", log)
	want := numbers(t, "--data", undisturbed)

	s := serveDynamodb(t, "--memory", "--region", "eu-central-1", "--access-key", testKeyID+":"+testKeySecret, "--stream-shards", "4", "--roll-shards", "700")
	store := "dynamodb+" + s.url + "/onefold?region=eu-central-1"
	onefold(t, "--store", store, "infra", "apply")

	g := &gang{T: t, store: store, random: rand.New(rand.NewPCG(seed, 1))}
	for range 3 {
		g.start()
	}
	stop, calm := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(calm)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(100+g.random.IntN(900)) * time.Millisecond):
				g.disturb(stop)
			}
		}
	}()
	const parts = 4
	for i := range parts {
		part := filepath.Join(dir, fmt.Sprint("part", i))
		if err := os.WriteFile(part, bytes.Join(all[i*len(all)/parts:(i+1)*len(all)/parts], nil), 0o600); err != nil {
			t.Fatal(err)
		}
		onefold(t, "--store", store, "import", "--site", "s", part)
	}
	close(stop)
	<-calm
	status := onefold(t, "--store", store, "work", "status")
	t.Logf("%d workers were started\n%s", g.made, status)
	if !strings.Contains(status, "read") {
		t.Error("nobody reads")
	}
	mustBeTheSame(t, "by workers that were killed and paused", numbers(t, "--store", store), want)
	onefold(t, "--store", store, "verify", "--site", "s", "--from", "2026-01-01", "--to", "2026-01-03")
	for _, cmd := range g.workers {
		<-cmd.begun
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("stopped: %v", err)
		}
	}
	status = onefold(t, "--store", store, "work", "status")
	if strings.Contains(status, " read ") {
		t.Errorf("leases were not given back:\n%s", status)
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("stopped: %v", err)
	}
}
