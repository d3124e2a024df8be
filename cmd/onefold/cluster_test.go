package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// cluster is a table on a database in its own process, with processes that use it through a
// network.
type cluster struct {
	*testing.T
	dir      string
	database *served
	network  *network
	store    string // through the network
	direct   string // directly
	servers  []*member
	workers  []*member
}

// member is a process of a cluster, restarted when it is killed.
type member struct {
	name string
	args []string

	mu      sync.Mutex
	process *exec.Cmd
	log     chan struct{}
	url     atomic.Pointer[string] // address of a server, "" for a worker; nil: not running
}

// newCluster starts the database, whose stream has many short shards, and creates the table.
func newCluster(t *testing.T, seed uint64, servers, workers int) *cluster {
	t.Helper()
	c := &cluster{T: t, dir: t.TempDir()}
	c.database = startDatabase(t, "--data", filepath.Join(c.dir, "database"), "--stream-shards", "8", "--roll-shards", "300")
	c.network = newNetwork(t, seed, c.database.url)
	c.direct, c.store = storeAt(c.database.url, "onefold"), storeAt(c.network.URL, "onefold")
	makeTable(t, c.direct)
	for i := range servers {
		name := fmt.Sprintf("server %d", i+1)
		c.servers = append(c.servers, &member{name: name, args: []string{
			"--store", c.store, "--data", filepath.Join(c.dir, name), "serve", "--addr", "127.0.0.1:0", "--token", testToken, "--trust-proxy",
			"--event-rate", "1e9", "--site-rate", "1e8", "--workers", "none",
		}})
	}
	for i := range workers {
		name := fmt.Sprintf("worker %d", i+1)
		c.workers = append(c.workers, &member{name: name, args: []string{
			"--store", c.store, "--data", filepath.Join(c.dir, name), "work", "--lease-for", "3s",
		}})
	}
	return c
}

// globals returns a command line for the cluster's table, without the network.
func (c *cluster) globals() *globals {
	return &globals{Store: c.direct, Data: filepath.Join(c.dir, "test")}
}

func (c *cluster) members() []*member { return append(append([]*member{}, c.servers...), c.workers...) }

// start starts all processes, and waits until they serve or fold.
func (c *cluster) start() {
	c.Helper()
	var wait sync.WaitGroup
	for _, m := range c.members() {
		wait.Go(func() { m.start(c.T) })
	}
	wait.Wait()
	c.ready()
}

// ready waits until all processes serve or fold.
func (c *cluster) ready() {
	c.Helper()
	for _, m := range c.members() {
		if !m.serving(c.T, 5*time.Minute) {
			c.Fatalf("%s does not start", m.name)
		}
	}
}

// stop stops all processes, which must not return errors.
func (c *cluster) stop() {
	c.Helper()
	var wait sync.WaitGroup
	for _, m := range c.members() {
		wait.Go(func() {
			if err := m.end(syscall.SIGTERM); err != nil {
				c.Errorf("%s was asked to end: %v", m.name, err)
			}
		})
	}
	wait.Wait()
}

// start starts the process without waiting.
func (m *member) start(t *testing.T) {
	cmd := process(t, m.args...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Errorf("%s: %v", m.name, err)
		return
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process, m.log = cmd, make(chan struct{})
	m.url.Store(nil)
	go func(log chan struct{}) {
		defer close(log)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if found := saysWhere.FindStringSubmatch(lines.Text()); found != nil {
				m.url.Store(&found[1])
			} else if strings.HasPrefix(lines.Text(), "folding the changes of") {
				m.url.Store(new(string))
			} else if notable.MatchString(lines.Text()) {
				t.Logf("%s: %.400s", m.name, lines.Text())
			}
		}
	}(m.log)
}

// notable selects relevant log lines, because requests fail all the time.
var notable = regexp.MustCompile(`panic|goroutine|onefold: |DATA RACE|trimmed|corrupt`)

// serving waits until the process serves or folds.
func (m *member) serving(t *testing.T, patience time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for m.url.Load() == nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond) // another process
	}
	return ctx.Err() == nil
}

// signal sends a signal to the process, unless it has ended.
func (m *member) signal(s syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.process.Process.Signal(s) // it may have ended before
}

// end sends a signal and waits until the process has ended.
func (m *member) end(s syscall.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.url.Store(nil)
	err := m.process.Process.Signal(s)
	<-m.log
	return errors.Join(err, m.process.Wait())
}

// anyServer returns the address of a running server, or "" if there is none.
func (c *cluster) anyServer(random *rand.Rand) string {
	for _, i := range random.Perm(len(c.servers)) {
		if url := c.servers[i].url.Load(); url != nil {
			return *url
		}
	}
	return ""
}
