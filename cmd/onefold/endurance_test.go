package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/internal/geo"
	"github.com/onefold/onefold/internal/geo/geotest"
)

// enduranceFor is the duration of TestEndurance. ONEFOLD_ENDURANCE, such as 1h, overrides it, and
// ONEFOLD_ENDURANCE_RATE sets the events per second.
const (
	enduranceFor  = 4 * time.Second
	enduranceRate = 500
)

// endurance sends to a server with all features enabled.
type endurance struct {
	*books
	rate            int
	began           time.Time
	events, refused atomic.Int64 // accepted events, and rejected requests
	others          atomic.Int64 // successful readings, appends and queries
}

// taken holds the resource usage of a process.
type taken struct {
	after                       time.Duration
	resident, files, goroutines float64 // resident in MB; files without those of the table, which grow with it up to a limit
	tables                      float64 // open files of the table
	disk, diskFiles, lag        float64 // disk in MB, lag in seconds
	events                      int64
}

// TestEndurance sends page views at a rate to a server with all features enabled: readings over
// HTTP and MQTT, appends, queries, live streams, the warehouse, backups, the scrub, GeoIP,
// DynamoDB's protocol. After the first sixth of the time, its resource usage must not grow.
func TestEndurance(t *testing.T) {
	clitest.NeedProcesses(t)
	long, rate := enduranceFor, enduranceRate
	if s := os.Getenv("ONEFOLD_ENDURANCE"); s != "" {
		var err error
		if long, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	if s := os.Getenv("ONEFOLD_ENDURANCE_RATE"); s != "" {
		rate = mustAtoi(t, s)
	}
	dir := t.TempDir()
	table := &globals{Data: filepath.Join(dir, "data")}
	onefold(t, "--data", table.Data, "site", "create", "s")
	key := func(of, scope string) string {
		return fromJSON[struct{ Token string }](t, onefold(t, "--data", table.Data, "key", "create", "--site", of, "--scope", scope, "--json")).Token
	}
	e := &endurance{rate: rate, books: &books{T: t, site: key("s", "ingest"), events: key("events:main", "write"), readings: newMetersIn(t, table, "", "d1", "d2"),
		views: map[string]bool{}, appends: map[string][]*posted{}}}
	places := geotest.Write(t, map[string]geo.Place{"10.0.0.0/9": {Country: "DE", City: "Berlin"}, "10.128.0.0/9": {Country: "BR", City: "Recife"}})
	s := startServer(t, "--data", table.Data, "serve", "--addr", "127.0.0.1:0", "--mqtt", "127.0.0.1:0", "--token", testToken, "--geo", places, "--memory", "512MB",
		"--warehouse", filepath.Join(dir, "warehouse"), "--backup-to", filepath.Join(dir, "backups"), "--backup-every", max(time.Minute, long/4).String(), "--backup-keep", "1",
		"--dynamodb", "127.0.0.1:0", "--site-rate", "100000", "--event-rate", "100000")
	loads := e.run(s, long, table.Data)
	t.Logf("%d events accepted (%.0f a second), %d requests refused, %d readings, appends and questions", e.events.Load(), float64(e.events.Load())/long.Seconds(), e.refused.Load(), e.others.Load())
	if e.events.Load() == 0 || e.others.Load() == 0 {
		t.Error("nothing was accepted of some kind")
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("stopped: %v", err)
	}
	if long >= 10*time.Minute {
		flat(t, loads, long)
	}
}

// run sends for a while, and measures the process at intervals.
func (e *endurance) run(s *served, long time.Duration, data string) (loads []taken) {
	ctx, cancel := context.WithTimeout(e.Context(), long)
	defer cancel()
	e.began = time.Now()
	var work sync.WaitGroup
	for w := range 2 {
		work.Go(func() { e.send(ctx, s, w) })
		work.Go(func() { e.listen(ctx, s) })
	}
	work.Go(func() {
		e.every(ctx, 50*time.Millisecond, func() bool { return e.appendOne(ctx, s, "order/"+strconv.Itoa(rand.IntN(2000))) })
	})
	work.Go(func() {
		e.every(ctx, 100*time.Millisecond, func() bool { return e.readings.post(ctx, s, e.readings.measure("d1", 10)) })
	})
	work.Go(func() {
		c := e.readings.connect(s, "d2")
		e.every(ctx, 100*time.Millisecond, func() bool { return e.readings.publish(c, e.readings.measure("d2", 5)) == 5 })
	})
	for _, path := range []string{"/report?by=page", "/report?by=country&period=30d", "/realtime", "/sessions?limit=20"} {
		work.Go(func() {
			e.every(ctx, 2*time.Second, func() bool {
				status, _ := e.ask(ctx, s, http.MethodGet, "/api/v1/sites/s"+path, testToken, "")
				return status == http.StatusOK
			})
		})
	}
	look := long / 60
	for ctx.Err() == nil {
		loads = append(loads, e.look(s, data))
		if backoff.For(ctx, look) != nil {
			break
		}
	}
	work.Wait()
	return append(loads, e.look(s, data))
}

// every calls do at an interval, and counts the successful calls.
func (e *endurance) every(ctx context.Context, d time.Duration, do func() bool) {
	for backoff.For(ctx, d) == nil {
		if do() {
			e.others.Add(1)
		}
	}
}

// batchOf is the number of events in a request.
const batchOf = 100

// send sends page views of some of many visitors at the rate, and events of others at times.
func (e *endurance) send(ctx context.Context, s *served, w int) {
	random := rand.New(rand.NewPCG(uint64(w), 9))
	for ctx.Err() == nil {
		if float64(e.events.Load()) > time.Since(e.began).Seconds()*float64(e.rate) {
			_ = backoff.For(ctx, 10*time.Millisecond)
			continue
		}
		var b bytes.Buffer
		b.WriteString(`{"site":"s","events":[`)
		for i := range batchOf {
			if i > 0 {
				b.WriteByte(',')
			}
			name := ""
			if random.IntN(10) == 0 {
				name = `"name":"buy","revenue":"9.90","props":{"plan":"pro"},`
			}
			visitor := random.IntN(200_000)
			fmt.Fprintf(&b, `{%s"url":"https://s.example/p%d?utm_source=u%d","referrer":"https://r%d.example/","visitor":{"address":"10.%d.%d.%d","userAgent":%q}}`,
				name, random.IntN(500), random.IntN(10), random.IntN(50), visitor>>16, visitor>>8&255, visitor&255, browser)
		}
		b.WriteString("]}")
		if status, _ := e.ask(ctx, s, http.MethodPost, "/api/events", e.site, b.String()); status == http.StatusAccepted {
			e.events.Add(batchOf)
		} else if ctx.Err() == nil {
			e.refused.Add(1)
		}
	}
}

// listen reads live events, with a new stream every half minute.
func (e *endurance) listen(ctx context.Context, s *served) {
	for ctx.Err() == nil {
		one, cancel := context.WithTimeout(ctx, 30*time.Second)
		r, err := http.NewRequestWithContext(one, http.MethodGet, s.url+"/api/v1/sites/s/realtime/stream", nil)
		if err != nil {
			e.Error(err)
		}
		r.Header.Set("Authorization", "Bearer "+testToken)
		if answer, err := http.DefaultClient.Do(r); err == nil {
			if answer.StatusCode != http.StatusOK {
				e.Errorf("a stream: %s", answer.Status)
			}
			if n, _ := io.Copy(io.Discard, answer.Body); n > 0 { // until it ends
				e.others.Add(1)
			}
			answer.Body.Close()
		}
		cancel()
	}
}

// look measures the process.
func (e *endurance) look(s *served, data string) taken {
	l := taken{after: time.Since(e.began).Round(time.Second), events: e.events.Load()}
	_, text := e.ask(context.Background(), s, http.MethodGet, "/metrics", testToken, "")
	for name, to := range map[string]*float64{"process_resident_memory_bytes": &l.resident, "process_open_fds": &l.files, "go_goroutines": &l.goroutines, "onefold_fold_lag_seconds": &l.lag} {
		_, after, _ := strings.Cut(text, "\n"+name+" ")
		value, _, _ := strings.Cut(after, "\n")
		*to, _ = strconv.ParseFloat(value, 64) // unreported values are 0
	}
	l.resident /= 1 << 20
	l.tables = float64(s.tableFiles())
	l.files -= l.tables
	_ = filepath.WalkDir(data, func(_ string, d fs.DirEntry, err error) error { // files come and go
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				l.disk, l.diskFiles = l.disk+float64(info.Size())/(1<<20), l.diskFiles+1
			}
		}
		return nil
	})
	e.Logf("after %6s: %9d events, resident %4.0f MB, %3.0f files open and %4.0f of the table, %4.0f goroutines, lag %5.1f s, disk %5.0f MB in %4.0f files",
		l.after, l.events, l.resident, l.files, l.tables, l.goroutines, l.lag, l.disk, l.diskFiles)
	return l
}

// tableFiles returns the number of open files of the table, where the system reports it.
func (s *served) tableFiles() (n int) {
	dir := fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid)
	open, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, f := range open {
		if to, err := os.Readlink(filepath.Join(dir, f.Name())); err == nil && filepath.Ext(to) == ".sst" {
			n++
		}
	}
	return n
}

// flat compares the mean of the second third after the first sixth with that of the last third. No
// value may keep growing.
func flat(t *testing.T, loads []taken, long time.Duration) {
	t.Helper()
	mean := func(from, to time.Duration, of func(*taken) float64) float64 {
		sum, n := 0.0, 0.0
		for i := range loads {
			if l := &loads[i]; l.after >= from && l.after < to {
				sum, n = sum+of(l), n+1
			}
		}
		return sum / n
	}
	for what, of := range map[string]func(*taken) float64{
		"resident MB": func(l *taken) float64 { return l.resident }, "open files but those of the table": func(l *taken) float64 { return l.files }, "goroutines": func(l *taken) float64 { return l.goroutines },
		"disk, bytes an event": func(l *taken) float64 { return l.disk * (1 << 20) / max(1, float64(l.events)) },
	} {
		early, late := mean(long/6, long/2, of), mean(long*3/4, long, of)
		t.Logf("%s: mean %.0f from a sixth to half of the time, %.0f in the last quarter", what, early, late)
		if late > early*1.15+5 {
			t.Errorf("%s goes on growing: %.0f, then %.0f", what, early, late)
		}
	}
}
