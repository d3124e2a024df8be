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

// books are the acknowledgements that clients of a repeatedly killed server got, for all kinds of
// writes at once.
type books struct {
	*testing.T
	site, events string // keys to change the site, and to append
	readings     *meters

	mu       sync.Mutex
	views    map[string]bool      // IDs of page views, and whether they were acknowledged
	appends  map[string][]*posted // by aggregate, in order
	named    int                  // number of changes of the site's name
	nameFrom int                  // last acknowledged change
}

// posted is an append of one event.
type posted struct {
	commit string
	acked  bool
}

// TestKillLedger kills a server during page views, readings, appends and changes of settings. All
// acknowledged writes exist afterwards, once; the others exist once after they were sent again; and
// derived items agree. `make ledger` kills it 40 times.
func TestKillLedger(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	kills := 3
	if s := os.Getenv("ONEFOLD_LEDGER_KILLS"); s != "" {
		kills = mustAtoi(t, s)
	}
	table := &globals{Data: filepath.Join(t.TempDir(), "data")}
	onefold(t, "--data", table.Data, "site", "create", "s")
	key := func(of string) string {
		return fromJSON[struct{ Token string }](t, onefold(t, "--data", table.Data, "key", "create", "--site", of, "--scope", "write", "--json")).Token
	}
	l := &books{T: t, site: key("s"), events: key("events:main"), readings: newMetersIn(t, table, "", "d1", "d2"),
		views: map[string]bool{}, appends: map[string][]*posted{}}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 4))
	for range kills {
		l.live(l.readings.serve(), time.Duration(100+random.IntN(700))*time.Millisecond)
	}
	l.settle(l.readings.serve())
	l.checkAppends(table)
	onefold(t, table.flags("dynamodb", "check")...)
	onefold(t, table.flags("verify", "--site", "s")...)
	if checked := onefold(t, table.flags("events", "fsck")...); !strings.Contains(checked, ": 0 wrong") {
		t.Errorf("fsck: %s", checked)
	}
	countsEventually(t, table.Data, int64(len(l.views)))
}

func mustAtoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// live lets all clients write for a while, then kills the server.
func (l *books) live(s *served, life time.Duration) {
	l.Helper()
	ctx, cancel := context.WithCancel(l.Context())
	defer cancel()
	var wait sync.WaitGroup
	for n := range 3 {
		wait.Go(func() { l.view(ctx, s) })
		wait.Go(func() { l.append(ctx, s, fmt.Sprintf("order/%d", n)) })
	}
	wait.Go(func() { l.rename(ctx, s) })
	for _, device := range []string{"d1", "d2"} {
		wait.Go(func() { l.readings.overHTTP(ctx, s, device) })
	}
	time.Sleep(life) // the time of the kill is the input of this test
	if err := s.end(l.T, syscall.SIGKILL); err == nil {
		l.Fatal("a killed server ended well")
	}
	cancel()
	wait.Wait()
}

// view sends page views until the server no longer responds.
func (l *books) view(ctx context.Context, s *served) {
	for ok := true; ok && ctx.Err() == nil; {
		id := ulid.Make().String()
		ok = s.send(ctx, id, 1)
		l.mu.Lock()
		l.views[id] = ok
		l.mu.Unlock()
	}
}

// append appends to an aggregate until the server no longer responds.
func (l *books) append(ctx context.Context, s *served, aggregate string) {
	for l.appendOne(ctx, s, aggregate) && ctx.Err() == nil {
	}
}

// appendOne appends one event, and reports whether it was acknowledged. An append without a
// response is sent again before the next.
func (l *books) appendOne(ctx context.Context, s *served, aggregate string) bool {
	l.mu.Lock()
	all := l.appends[aggregate]
	if n := len(all); n == 0 || all[n-1].acked {
		all = append(all, &posted{commit: ulid.Make().String()})
		l.appends[aggregate] = all
	}
	l.mu.Unlock()
	version, last := len(all)-1, all[len(all)-1]
	expected := strconv.Itoa(version)
	if version == 0 {
		expected = `"none"`
	}
	body := fmt.Sprintf(`{"expected":%s,"commitId":%q,"events":[{"type":"Counted","data":{"n":%d}}]}`, expected, last.commit, version+1)
	status, text := l.ask(ctx, s, http.MethodPost, "/api/v1/events/aggregates/"+aggregate+"/events", l.events, body)
	last.acked = status == http.StatusCreated || status == http.StatusOK
	if !last.acked && status != 0 {
		l.Errorf("append %d to %s: %d %s", version+1, aggregate, status, text)
	}
	return last.acked
}

// rename changes the site's name repeatedly.
func (l *books) rename(ctx context.Context, s *served) {
	for ok := true; ok && ctx.Err() == nil; {
		l.named++
		status, text := l.ask(ctx, s, http.MethodPatch, "/api/v1/sites/s", l.site, fmt.Sprintf(`{"name":"name %d"}`, l.named))
		if ok = status == http.StatusOK; ok {
			l.nameFrom = l.named
		} else if status != 0 {
			l.Errorf("name %d: %d %s", l.named, status, text)
		}
	}
}

// ask sends a request. The status is 0 if there was no response.
func (l *books) ask(ctx context.Context, s *served, method, path, key, body string) (status int, text string) {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		l.Error(err)
		return 0, ""
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, ""
	}
	return answer.StatusCode, string(b)
}

// settle sends all unacknowledged writes again, and compares the stored data with the
// acknowledgements.
func (l *books) settle(s *served) {
	l.Helper()
	var name struct{ Name string }
	status, text := l.ask(l.Context(), s, http.MethodGet, "/api/v1/sites/s", l.site, "")
	if err := json.Unmarshal([]byte(text), &name); err != nil {
		l.Fatalf("the site: %d %s", status, text)
	}
	var n int
	if _, err := fmt.Sscanf(name.Name, "name %d", &n); err != nil || n < l.nameFrom || n > l.named {
		l.Errorf("the site is called %q; name %d was acknowledged, and %d sent last", name.Name, l.nameFrom, l.named)
	}
	acked := 0
	for id, ok := range l.views {
		if ok {
			acked++
		} else if !s.send(l.Context(), id, 1) {
			l.Errorf("page view %s is refused", id)
		}
	}
	appended := 0
	for aggregate, all := range l.appends {
		if appended += len(all); !all[len(all)-1].acked && !l.appendOne(l.Context(), s, aggregate) {
			l.Errorf("append %d to %s is refused", len(all), aggregate)
		}
	}
	l.Logf("%d page views (%d acknowledged at once), %d appends, %d names, %d readings", len(l.views), acked, appended, l.named, len(l.readings.sent))
	if acked == 0 || appended == 0 || l.nameFrom == 0 {
		l.Error("nothing was acknowledged of some kind")
	}
	l.readings.end(s)
}

// checkAppends checks that every append of an aggregate is stored once and in order.
func (l *books) checkAppends(table *globals) {
	l.Helper()
	for aggregate, all := range l.appends {
		lines := strings.Split(strings.TrimSpace(onefold(l.T, table.flags("events", "read", aggregate, "--json")...)), "\n")
		if len(lines) != len(all) {
			l.Errorf("%s has %d events, %d were appended", aggregate, len(lines), len(all))
		}
		for i, line := range lines {
			var e struct {
				Seq  int
				Data struct{ N int }
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != i+1 || e.Data.N != i+1 {
				l.Fatalf("event %d of %s is %s: %v", i+1, aggregate, line, err)
			}
		}
	}
}
