package devices_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
)

// A live stream of a device has its readings from all servers of the table, each once, and no
// earlier ones.
func TestTailOfAllServers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	w := newWorks(t, func(o *server.Options) { o.Devices.Shared = true })
	other := telemetry.NewCollector(w.Table, telemetry.CollectorOptions{})
	at, n := time.Now().Add(-10*time.Minute).Truncate(time.Second), 0
	send := func() {
		n++
		if random.IntN(3) > 0 { // otherwise another one of the same time
			at = at.Add(time.Duration(random.IntN(5_000)) * time.Millisecond)
		}
		when := at.Add(-time.Duration(random.IntN(20)) * time.Second) // in any order
		body := fmt.Sprintf(`{"at":%q,"seq":%d,"values":{"n":%d}}`, when.UTC().Format(time.RFC3339Nano), n, n)
		if random.IntN(2) == 0 {
			if status, answer := w.Post("/api/readings", body, bearer(w.tokens["d1"])...); status != http.StatusAccepted || !strings.Contains(answer, `"stored"`) {
				t.Fatalf("%d %s", status, answer)
			}
			return
		}
		seq := int64(n)
		value, err := telemetry.Number(strconv.Itoa(n))
		servertest.Must(t, err)
		became, err := other.Ingest(t.Context(), []telemetry.Incoming{{DeviceID: "d1", At: when, Seq: &seq, Values: telemetry.Values{"n": value}}})
		servertest.Must(t, err)
		if became[0].Status != telemetry.Stored {
			t.Fatalf("%+v", became)
		}
	}
	for range 5 {
		send()
	}
	before := n
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL+plantPath+"/devices/d1/tail", nil)
	servertest.Must(t, err)
	r.Header.Set("Authorization", "Bearer "+w.keys[accounts.Read])
	answer, err := http.DefaultClient.Do(r)
	servertest.Must(t, err)
	defer answer.Body.Close()
	lines, seen := bufio.NewScanner(answer.Body), map[int]int{}
	for len(seen) < 40 && lines.Scan() {
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is {
			continue
		}
		if n == before { // the stream is connected
			for range 40 {
				send()
			}
		}
		var one struct{ Values struct{ N int } }
		servertest.Must(t, json.Unmarshal([]byte(data), &one))
		if one.Values.N != 0 {
			seen[one.Values.N]++
		}
	}
	for i := range n + 1 {
		if want := min(max(i-before, 0), 1); seen[i] != want {
			t.Errorf("reading %d was told %d times, not %d", i, seen[i], want)
		}
	}
}

func TestTailOfAnUnknownDevice(t *testing.T) {
	w := newWorks(t, func(*server.Options) {})
	for _, path := range []string{"/devices/nobody/tail", "/devices/" + url.PathEscape("a b") + "/tail"} {
		if status, body := w.Get(plantPath+path, bearer(w.keys[accounts.Read])...); status != http.StatusNotFound || !strings.Contains(body, "not_found") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
