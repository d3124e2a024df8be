package main

import (
	"bufio"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/onefold/internal/migrate"
)

// freeAddr returns an unused address.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// moveLine is a line of the output of onefold move --json.
type moveLine struct {
	Phase    string
	Items    int64
	Start    string
	Compared *migrate.Compared
}

// startMove starts a migration in its own process, and returns its output lines. The channel is
// closed when the process has ended.
func startMove(t *testing.T, args ...string) (kill func(), lines <-chan moveLine) {
	t.Helper()
	cmd := process(t, append([]string{"move", "--json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told := make(chan moveLine, 1000)
	go func() {
		defer close(told)
		text := bufio.NewScanner(out)
		for text.Scan() {
			var line moveLine
			if json.Unmarshal(text.Bytes(), &line) == nil {
				told <- line
			}
		}
		_ = cmd.Wait() // the lines tell the result
	}()
	return func() { _ = cmd.Process.Kill() }, told
}

// clients post events, each repeatedly until it is acknowledged, wherever the server is.
type clients struct {
	server atomic.Pointer[served]
	sent   atomic.Int64
	stop   context.CancelFunc
	wait   sync.WaitGroup
}

func post(t *testing.T, s *served) *clients {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &clients{stop: stop}
	c.server.Store(s)
	for i := range 4 {
		c.wait.Go(func() {
			for ctx.Err() == nil {
				id := ulid.Make().String()
				for !c.server.Load().send(t.Context(), id, i) {
					if t.Context().Err() != nil {
						return
					}
					time.Sleep(20 * time.Millisecond) // as a client retries
				}
				c.sent.Add(1)
				time.Sleep(3 * time.Millisecond) // the rate of the load
			}
		})
	}
	return c
}

// end waits until all posted events are acknowledged, and returns their number.
func (c *clients) end() int64 {
	c.stop()
	c.wait.Wait()
	return c.sent.Load()
}

// until waits for a phase of a migration. The test fails if the migration ends before.
func until(t *testing.T, lines <-chan moveLine, phase string) moveLine {
	t.Helper()
	for line := range lines {
		if line.Phase == phase {
			return line
		}
	}
	t.Fatalf("the move ended before it was %s", phase)
	return moveLine{}
}

// Events are posted throughout a migration from a directory to a service, during which the
// migrating process is killed repeatedly. Each event is counted once in the new store, and again
// after the migration back.
func TestMoveUnderLoad(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	old, back := filepath.Join(dir, "old"), filepath.Join(dir, "back")
	onefold(t, "--data", old, "site", "create", "s")
	log := filepath.Join(dir, "access.log")
	generatedLog(t, log, 3000)
	onefold(t, "--data", old, "import", "--site", "s", log)
	before := fromJSON[reportJSON](t, onefold(t, "--data", old, "report", "--site", "s", "--from", "2025-12-01", "--to", "2027-12-31", "--period", "month", "--json"))

	service := serveDynamodb(t, "--memory", "--region", "eu-central-1", "--access-key", testKeyID+":"+testKeySecret)
	if err := products.Schema.Ensure(t.Context(), service.dynamodb(testKeyID, testKeySecret), products.TableName); err != nil {
		t.Fatal(err)
	}
	target := "dynamodb+" + service.url + "/" + products.TableName + "?region=eu-central-1"
	addr := freeAddr(t)
	s := startServer(t, "--data", old, "serve", "--addr", "127.0.0.1:0", "--token", testToken, "--dynamodb", addr, "--dynamodb-access-key", testKeyID+":"+testKeySecret)
	events := post(t, s)
	args := []string{"--from", "dynamodb+http://" + addr + "/" + products.TableName, "--to", target, "--finish-from", "embedded:" + old, "--take-over"}
	for range 5 {
		kill, lines := startMove(t, args...)
		time.AfterFunc(time.Duration(random.IntN(900))*time.Millisecond, kill)
		for range lines { // to its end
		}
	}
	_, lines := startMove(t, append(args, "--max-units", "50000")...)
	until(t, lines, "caught_up")
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	posted := events.sent.Load()
	finished := until(t, lines, "finished")
	if finished.Compared == nil || finished.Compared.Items < 1 || !strings.Contains(finished.Start, target) {
		t.Fatalf("finished: %+v", finished)
	}
	var parts int64
	for _, sum := range finished.Compared.Entities {
		parts += sum.Items
	}
	if finished.Compared.Items != parts {
		t.Errorf("%d items compared, but %d of all entities", finished.Compared.Items, parts)
	}
	if n, want := int64(storedEvents(t, service.dynamodb(testKeyID, testKeySecret))), before.Totals.PageViews+posted; n < want {
		t.Errorf("%d events in the blocks of the new store, want at least the %d that were stored in the old one", n, want)
	}
	next := startServer(t, "--store", target, "--data", filepath.Join(dir, "beside"), "serve", "--addr", "127.0.0.1:0", "--token", testToken)
	events.server.Store(next)
	soon(t, "events are in the new store", func() bool { return events.sent.Load() >= posted+20 })
	want := before.Totals.PageViews + events.end()
	if err := next.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	check := func(store string) {
		t.Helper()
		got := fromJSON[reportJSON](t, onefold(t, "--store", store, "report", "--site", "s", "--from", "2025-12-01", "--to", "2027-12-31", "--period", "month", "--json"))
		if got.Totals.PageViews != want {
			t.Errorf("%s: %d page views, want %d", store, got.Totals.PageViews, want)
		}
	}
	check(target)
	if code, errs := fails("--data", old, "site", "list"); code != exitFailed || !strings.Contains(errs, "moved_away: ") {
		t.Errorf("the old place is still open: %d %s", code, errs)
	}
	onefold(t, "move", "--from", target, "--to", "embedded:"+back, "--finish", "--take-over")
	check("embedded:" + back)
	onefold(t, "--data", back, "verify", "--site", "s")
	t.Logf("%d events posted, %d items compared", events.sent.Load(), finished.Compared.Items)
}

// storedEvents adds up the events of all blocks in a table.
func storedEvents(t *testing.T, db *dynamodb.Client) (n int) {
	t.Helper()
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: aws.String(products.TableName)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			var b struct {
				Entity string `dynamodbav:"et"`
				Count  int    `dynamodbav:"count"`
			}
			if err := attributevalue.UnmarshalMap(item, &b); err != nil {
				t.Fatal(err)
			}
			if b.Entity == analytics.Blocks.Name() {
				n += b.Count
			}
		}
	}
	return n
}

// stop suspends a process, and returns when it no longer runs. Its other threads continue until the
// one with the signal runs.
func stop(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the process did not stop: %v %v", status, err)
	}
}

// A server without folds, which holds no lease, is suspended while a migration finishes, and then
// resumed. It acknowledges no later requests, so its clients send them to the new store.
func TestMoveWhileAServerIsStopped(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	dir := t.TempDir()
	place := "dynamodb+" + serveDynamodb(t, "--memory", "--region", "eu-central-1", "--access-key", testKeyID+":"+testKeySecret).url + "/" + products.TableName + "?region=eu-central-1"
	onefold(t, "--store", place, "infra", "apply")
	onefold(t, "--store", place, "site", "create", "s")
	old := startServer(t, "--store", place, "--data", filepath.Join(dir, "beside"), "serve", "--addr", "127.0.0.1:0", "--token", testToken, "--workers", "none")
	if !old.send(t.Context(), ulid.Make().String(), 0) {
		t.Fatal("an event is refused before the move")
	}
	stop(t, old.cmd.Process)
	late := ulid.Make().String()
	acknowledged := make(chan bool)
	go func() { acknowledged <- old.send(t.Context(), late, 1) }() // the system accepts the connection, and the server reads it when it is resumed
	to := "embedded:" + filepath.Join(dir, "new")
	onefold(t, "move", "--from", place, "--to", to, "--finish")
	if err := old.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if <-acknowledged {
		t.Error("an event was acknowledged that is not at the new place")
	}
	<-old.log
	if err := old.cmd.Wait(); err == nil {
		t.Error("the server ended as if it had been asked to")
	}
	next := startServer(t, "--store", to, "serve", "--addr", "127.0.0.1:0", "--token", testToken)
	if !next.send(t.Context(), late, 1) {
		t.Fatal("an event is refused at the new place")
	}
	if err := next.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	got := fromJSON[reportJSON](t, onefold(t, "--store", to, "report", "--site", "s", "--period", "month", "--json"))
	if got.Totals.PageViews != 2 {
		t.Errorf("%d page views, want 2", got.Totals.PageViews)
	}
}
