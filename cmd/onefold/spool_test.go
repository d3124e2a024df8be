package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/cmd/internal/clitest"
)

// far is a server in front of a table in another process.
type far struct {
	*testing.T
	dir, addr     string
	store, server *served
	random        *rand.Rand

	mu    sync.Mutex
	acked map[string]string // last outcome of each event, by ID
	sent  map[string]int    // page of each event

	began    time.Time
	token    string         // of device d1
	readings map[int]string // outcome of each reading, by number; "": none
}

func (f *far) startStore() {
	f.Helper()
	f.store = startServer(f.T, "--data", filepath.Join(f.dir, "far"), "dynamodb", "--addr", f.addr)
	f.addr = strings.TrimPrefix(f.store.url, "http://")
}

func (f *far) url() string { return "dynamodb+http://" + f.addr + "/onefold" }

func (f *far) startServer() {
	f.Helper()
	f.server = startServer(f.T, "--data", filepath.Join(f.dir, "near"), "--store", f.url(), "serve", "--addr", "127.0.0.1:0", "--token", testToken, "--event-rate", "1000000")
}

// post sends an event and records its outcome.
func (f *far) post(ctx context.Context, id string, page int) (status int) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.server.url+"/api/event", strings.NewReader(fmt.Sprintf(`{"site":"s","id":%q,"url":"/p%d"}`, id, page)))
	if err != nil {
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", browser)
	answer, err := http.DefaultClient.Do(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent[id] = page
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	var told struct{ Outcomes []struct{ Status string } }
	if err := json.NewDecoder(answer.Body).Decode(&told); err == nil && answer.StatusCode == http.StatusAccepted && len(told.Outcomes) == 1 {
		f.acked[id] = told.Outcomes[0].Status
	}
	return answer.StatusCode
}

// burst posts events from several clients.
func (f *far) burst(ctx context.Context, each int) {
	var wait sync.WaitGroup
	for client := range 4 {
		wait.Go(func() {
			for n := range each {
				f.post(ctx, ulid.Make().String(), client*100+n%10)
			}
		})
	}
	wait.Go(func() {
		for range each {
			f.mu.Lock()
			n := len(f.readings)
			f.readings[n] = ""
			f.mu.Unlock()
			f.measure(ctx, n)
		}
	})
	wait.Wait()
}

// measure sends a reading, which depends only on its number, and records the outcome.
func (f *far) measure(ctx context.Context, n int) (status int) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.server.url+"/api/readings", strings.NewReader(fmt.Sprintf(`{"at":%d,"seq":%d,"values":{"n":%d}}`, f.began.UnixMilli()-int64(n), n, n)))
	if err != nil {
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+f.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	var told struct{ Outcomes []struct{ Status string } }
	if err := json.NewDecoder(answer.Body).Decode(&told); err == nil && answer.StatusCode == http.StatusAccepted && len(told.Outcomes) == 1 {
		f.mu.Lock()
		f.readings[n] = told.Outcomes[0].Status
		f.mu.Unlock()
	}
	return answer.StatusCode
}

// get sends a request to the server and returns the response.
func (f *far) get(path string) (int, string) {
	r, err := http.NewRequestWithContext(f.Context(), http.MethodGet, f.server.url+path, nil)
	if err != nil {
		f.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// until waits until /readyz contains a text.
func (f *far) until(what string) {
	f.Helper()
	body := ""
	for range 6000 {
		if _, body = f.get("/readyz"); strings.Contains(body, what) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	f.Fatalf("readyz never says %s: %s", what, body)
}

// The store of a server goes away, hangs and comes back, and the server is killed while its spool
// fills and while it drains. No acknowledged event is lost, and none counts twice.
func TestStoreGoesAway(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := &far{T: t, dir: t.TempDir(), addr: "127.0.0.1:0", random: rand.New(rand.NewPCG(seed, 0)), acked: map[string]string{}, sent: map[string]int{},
		began: time.Now(), readings: map[int]string{}}
	f.startStore()
	onefold(t, "--store", f.url(), "infra", "apply")
	onefold(t, "--store", f.url(), "site", "create", "s")
	onefold(t, "--store", f.url(), "fleet", "create", "plant")
	f.token = strings.TrimSpace(onefold(t, "--store", f.url(), "device", "add", "--fleet", "plant", "d1"))
	f.startServer()
	f.burst(t.Context(), 20)
	f.until(`"ready"`)

	_ = f.store.end(t, syscall.SIGKILL)
	f.burst(t.Context(), 40)
	f.until(`"spooling"`)
	if status, body := f.get("/api/v1/sites/s/report"); status != http.StatusServiceUnavailable || !strings.Contains(body, "store_unreachable") {
		t.Errorf("a question without a store: %d %s", status, body)
	}
	if queued := f.told("queued"); queued < 100 {
		t.Errorf("%d events were kept", queued)
	}
	go func() { // while it acknowledges events
		time.Sleep(time.Duration(f.random.IntN(100)) * time.Millisecond)
		_ = f.server.cmd.Process.Kill()
	}()
	f.burst(t.Context(), 200)
	<-f.server.log
	_ = f.server.cmd.Wait()
	f.startStore()
	f.startServer()
	time.Sleep(time.Duration(f.random.IntN(50)) * time.Millisecond) // while it stores spooled events
	_ = f.server.end(t, syscall.SIGKILL)
	f.startServer()
	f.until(`"records":0`)

	if err := f.store.cmd.Process.Signal(syscall.SIGSTOP); err != nil { // it accepts connections and does not respond
		t.Fatal(err)
	}
	f.burst(t.Context(), 20)
	f.until(`"spooling"`)
	if err := f.store.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.until(`"records":0`)
	f.until(`"ready"`)
	f.check()
	f.checkReadings()
	if err := f.server.end(t, os.Interrupt); err != nil {
		t.Error(err)
	}
	_ = f.store.end(t, syscall.SIGKILL)
}

func (f *far) told(status string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.acked {
		if s == status {
			n++
		}
	}
	return n
}

// check sends everything again: acknowledged events are duplicates, and all are counted once.
func (f *far) check() {
	f.Helper()
	f.mu.Lock()
	before := map[string]string{}
	for id, status := range f.acked {
		before[id] = status
	}
	clear(f.acked)
	sent := f.sent
	f.sent = map[string]int{}
	f.mu.Unlock()
	for id, page := range sent {
		if status := f.post(f.Context(), id, page); status != http.StatusAccepted {
			f.Fatalf("again: %d", status)
		}
		if was := before[id]; was != "" && f.acked[id] != "duplicate" {
			f.Errorf("event %s was acknowledged as %s, and is %s now", id, was, f.acked[id])
		}
	}
	var views float64
	for range 3000 {
		now := time.Now().UTC() // the first events may be of yesterday
		_, body := f.get("/api/v1/sites/s/report?from=" + now.AddDate(0, 0, -1).Format(time.DateOnly) + "&to=" + now.Format(time.DateOnly))
		var report struct{ Totals struct{ PageViews float64 } }
		if err := json.Unmarshal([]byte(body), &report); err != nil {
			f.Fatal(err, body)
		}
		if views = report.Totals.PageViews; views == float64(len(sent)) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.Errorf("%v page views of %d events", views, len(sent))
}

// checkReadings sends all readings again: acknowledged ones are duplicates, and hours count and add
// up each once.
func (f *far) checkReadings() {
	f.Helper()
	queued, sum := 0, 0
	for n := range len(f.readings) {
		was := f.readings[n]
		if status := f.measure(f.Context(), n); status != http.StatusAccepted {
			f.Fatalf("reading %d again: %d", n, status)
		}
		if was != "" && f.readings[n] != "duplicate" {
			f.Errorf("reading %d was acknowledged as %s, and is %s now", n, was, f.readings[n])
		}
		if sum += n; was == "queued" {
			queued++
		}
	}
	if queued < 20 {
		f.Errorf("%d readings were kept", queued)
	}
	path := "/api/v1/fleets/plant/devices/d1/series?metric=n&resolution=hourly&from=" + f.began.Add(-2*time.Hour).UTC().Format(time.RFC3339) + "&to=" + f.began.Add(time.Hour).UTC().Format(time.RFC3339)
	count, total := 0, 0
	for range 3000 {
		status, body := f.get(path)
		var series struct {
			Points []struct {
				Figures struct {
					Count int
					Sum   string
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &series); err != nil || status != http.StatusOK {
			f.Fatal(status, err, body)
		}
		count, total = 0, 0
		for _, p := range series.Points {
			hour, err := strconv.Atoi(p.Figures.Sum)
			if err != nil {
				f.Fatal(err, body)
			}
			count, total = count+p.Figures.Count, total+hour
		}
		if count == len(f.readings) && total == sum {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.Errorf("hours count %d readings of the sum %d, %d were sent, of %d", count, total, len(f.readings), sum)
}
