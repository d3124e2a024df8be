package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v3 "github.com/eclipse/paho.mqtt.golang"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/credentials"
)

// meters are the devices of a test. They send readings to a server that is killed again and again,
// and remember the acknowledged ones.
type meters struct {
	*testing.T
	table  *globals          // table of the readings
	store  string            // store URL for servers; "": that of table
	tokens map[string]string // by device

	mu     sync.Mutex
	random *rand.Rand
	sent   []*measured // indexed by number

	silent map[string]bool // devices without an acknowledged reading so far
	heard  chan struct{}   // closed when there are none left
}

// measured is a reading that was sent, with metric t in hundredths, and metric n, its number.
type measured struct {
	n, t   int
	device string
	at     time.Time
	acked  bool
	mqtt   bool // acknowledged over MQTT
}

const (
	kills     = 4
	overLines = "lines" // the device that sends line protocol, whose metrics are m.n and m.t
)

func newMeters(t *testing.T, devices ...string) *meters {
	t.Helper()
	return newMetersIn(t, &globals{Data: filepath.Join(t.TempDir(), "data")}, "", devices...)
}

func newMetersIn(t *testing.T, table *globals, through string, devices ...string) *meters {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	m := &meters{T: t, table: table, store: through, tokens: map[string]string{}, random: rand.New(rand.NewPCG(seed, 2)),
		silent: map[string]bool{}, heard: make(chan struct{})}
	for _, id := range devices {
		m.silent[id] = true
	}
	m.inStore(func(st *store) error {
		_, err := telemetry.CreateFleet(t.Context(), st.table, telemetry.NewFleet{ID: "plant", Limits: telemetry.Limits{PerMinute: 6e6}})
		for _, id := range devices {
			if err == nil {
				_, err = telemetry.CreateDevice(t.Context(), st.table, telemetry.NewDevice{ID: id, FleetID: "plant"})
			}
			if err == nil {
				m.tokens[id], err = credentials.NewToken(t.Context(), st.table, id)
			}
		}
		return err
	})
	return m
}

func (m *meters) inStore(do func(*store) error) {
	m.Helper()
	if err := m.table.withStore(m.Context(), m.Output(), tuning{}, do); err != nil {
		m.Fatal(err)
	}
}

func (m *meters) serve() *served {
	m.Helper()
	return startServer(m.T, "--data", m.table.Data, "--store", m.store, "serve", "--addr", "127.0.0.1:0", "--mqtt", "127.0.0.1:0", "--token", testToken)
}

// measure returns readings of the last six hours.
func (m *meters) measure(device string, n int) []*measured {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now().UTC().Truncate(time.Millisecond)
	for range n {
		m.sent = append(m.sent, &measured{n: len(m.sent), t: m.random.IntN(20_000) - 5000, device: device, at: now.Add(-time.Duration(m.random.Int64N(int64(6 * time.Hour)))).Truncate(time.Millisecond)})
	}
	return m.sent[len(m.sent)-n:]
}

// luck returns a random number from 1 to most.
func (m *meters) luck(most int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return 1 + m.random.IntN(most)
}

func (m *meters) acknowledged(overMQTT bool, readings ...*measured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range readings {
		r.acked, r.mqtt = true, overMQTT
		if m.silent[r.device] {
			if delete(m.silent, r.device); len(m.silent) == 0 {
				close(m.heard)
			}
		}
	}
}

func hundredths(t int) string { return strconv.FormatFloat(float64(t)/100, 'f', 2, 64) }

func (r *measured) json() string {
	return fmt.Sprintf(`{"at":%d,"seq":%d,"values":{"n":%d,"t":%s}}`, r.at.UnixMilli(), r.n, r.n, hundredths(r.t))
}

func (r *measured) line() string {
	return fmt.Sprintf("m,device=%s n=%di,t=%s %d", r.device, r.n, hundredths(r.t), r.at.UnixNano())
}

// post sends readings of one device in one request, and reports whether all were acknowledged. Any
// other response fails the test.
func (m *meters) post(ctx context.Context, s *served, readings []*measured) bool {
	device, path, text := readings[0].device, "/api/readings", make([]string, len(readings))
	for i, r := range readings {
		text[i] = r.json()
	}
	body := "[" + strings.Join(text, ",") + "]"
	if device == overLines {
		for i, r := range readings {
			text[i] = r.line()
		}
		path, body = "/api/v2/write?bucket=plant", strings.Join(text, "\n")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		m.Error(err)
		return false
	}
	r.Header.Set("Authorization", "Bearer "+m.tokens[device])
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= http.StatusInternalServerError {
		return false
	}
	if !m.good(answer.StatusCode, said, len(readings)) {
		m.Errorf("%s: %s: %.300s", path, answer.Status, said)
		return false
	}
	m.acknowledged(false, readings...)
	return true
}

// good reports whether a response acknowledges all of n readings.
func (m *meters) good(status int, said []byte, n int) bool {
	if status == http.StatusNoContent { // for line protocol
		return true
	}
	var told struct{ Outcomes []telemetry.Outcome }
	if status != http.StatusAccepted || json.Unmarshal(said, &told) != nil || len(told.Outcomes) != n {
		return false
	}
	for _, o := range told.Outcomes {
		if o.Status == telemetry.Rejected || o.Status == "" {
			return false
		}
	}
	return true
}

// overHTTP sends batches until the server no longer responds.
func (m *meters) overHTTP(ctx context.Context, s *served, device string) {
	for m.post(ctx, s, m.measure(device, m.luck(30))) {
	}
}

// overMQTT publishes many readings before it waits for their acknowledgements, until the connection
// is lost.
func (m *meters) overMQTT(_ context.Context, s *served, device string) {
	c := m.client(s, device)
	defer c.Disconnect(0)
	if token := c.Connect(); token.Wait() && token.Error() != nil {
		return // it was killed already
	}
	for {
		if readings := m.measure(device, m.luck(50)); m.publish(c, readings) < len(readings) {
			return
		}
	}
}

// client returns a device's client, which does not reconnect by itself.
func (m *meters) client(s *served, device string) v3.Client {
	return v3.NewClient(v3.NewClientOptions().AddBroker("tcp://" + s.mqtt).SetClientID(device).SetUsername(device).SetPassword(m.tokens[device]).
		SetProtocolVersion(4).SetAutoReconnect(false).SetConnectTimeout(10 * time.Second).SetWriteTimeout(2 * time.Second)) // also how long Publish waits after the end of a connection
}

// connect connects a device until the test ends.
func (m *meters) connect(s *served, device string) v3.Client {
	m.Helper()
	c := m.client(s, device)
	m.Cleanup(func() { c.Disconnect(0) })
	if token := c.Connect(); token.Wait() && token.Error() != nil {
		m.Fatal(token.Error())
	}
	return c
}

// publish publishes all readings before it waits for the first acknowledgement, and returns how
// many were acknowledged before one was not.
func (m *meters) publish(c v3.Client, readings []*measured) int {
	tokens := make([]v3.Token, len(readings))
	for i, r := range readings {
		tokens[i] = c.Publish("devices/"+r.device+"/readings", 1, false, r.json())
	}
	for i, token := range tokens {
		if token.Wait(); token.Error() != nil {
			return i
		}
		m.acknowledged(true, readings[i])
	}
	return len(readings)
}

// acknowledges matches what mosquitto_pub -d prints for an acknowledged message. The messages of a
// run are numbered from 1.
var acknowledges = regexp.MustCompile(`received PUBACK \(Mid: (\d+), RC:0\)`)

// overMosquitto sends with mosquitto_pub, a process per few hundred readings, until one fails.
func (m *meters) overMosquitto(ctx context.Context, s *served, device string) {
	for {
		readings := m.measure(device, m.luck(300))
		if err := m.mosquitto(ctx, s, device, readings); err != nil {
			return
		}
		m.mu.Lock()
		for _, r := range readings {
			if !r.acked {
				m.Errorf("mosquitto_pub ended well, and reading %d was not acknowledged", r.n)
			}
		}
		m.mu.Unlock()
	}
}

func (m *meters) mosquitto(ctx context.Context, s *served, device string, readings []*measured) error {
	host, port, err := net.SplitHostPort(s.mqtt)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, r := range readings {
		lines.WriteString(r.json() + "\n")
	}
	cmd := exec.CommandContext(ctx, "mosquitto_pub", "-h", host, "-p", port, "-u", device, "-P", m.tokens[device], "-i", device, "-q", "1", "-d", "-l",
		"-t", "devices/"+device+"/readings")
	cmd.Stdin = strings.NewReader(lines.String())
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for log := bufio.NewScanner(said); log.Scan(); {
		found := acknowledges.FindStringSubmatch(log.Text())
		if found == nil {
			continue
		}
		if mid, err := strconv.Atoi(found[1]); err == nil && mid >= 1 && mid <= len(readings) {
			m.acknowledged(true, readings[mid-1])
		} else {
			m.Errorf("mosquitto_pub sent %d messages and says %q", len(readings), log.Text())
		}
	}
	return cmd.Wait()
}

// sender sends readings of a device until the server is gone.
type sender func(m *meters, ctx context.Context, s *served, device string)

// live lets devices send until the server is killed. The first time, it is not killed before each
// device got an acknowledgement.
func (m *meters) live(s *served, senders map[string]sender) {
	m.Helper()
	ctx, cancel := context.WithCancel(m.Context())
	defer cancel()
	var wait sync.WaitGroup
	for device, send := range senders {
		wait.Go(func() { send(m, ctx, s, device) })
	}
	select {
	case <-m.heard:
	case <-time.After(5 * time.Minute):
		m.Error("nothing of some devices was acknowledged within five minutes")
	}
	time.Sleep(time.Duration(m.luck(700)) * time.Millisecond) // the time of the kill is the input of this test
	if err := s.end(m.T, syscall.SIGKILL); err == nil {
		m.Fatal("a killed server ended well")
	}
	cancel()
	wait.Wait()
}

// have returns the numbers of a device's stored readings. A duplicate fails the test.
func (m *meters) have(s *served, device string) map[int]bool {
	m.Helper()
	r, err := http.NewRequestWithContext(m.Context(), http.MethodGet, s.url+"/api/v1/fleets/plant/devices/"+device+"/export?format=jsonl", nil)
	if err != nil {
		m.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		m.Fatal(err)
	}
	defer answer.Body.Close()
	found := map[int]bool{}
	for lines := json.NewDecoder(answer.Body); ; {
		var row struct {
			At     time.Time
			Values map[string]json.Number
		}
		if err := lines.Decode(&row); errors.Is(err, io.EOF) {
			return found
		} else if err != nil || answer.StatusCode != http.StatusOK {
			m.Fatalf("export of %s: %s, %v", device, answer.Status, err)
		}
		prefix := ""
		if device == overLines {
			prefix = "m."
		}
		n, err := strconv.Atoi(row.Values[prefix+"n"].String())
		if err != nil || n >= len(m.sent) || found[n] {
			m.Fatalf("%s has %v: it was not sent, or is there twice", device, row)
		}
		if was := m.sent[n]; was.device != device || !was.at.Equal(row.At) || row.Values[prefix+"t"].String() != plain(was.t) {
			m.Fatalf("%s has %v, sent was %+v", device, row, was)
		}
		found[n] = true
	}
}

// check checks that acknowledged readings are stored, and sends the others again.
func (m *meters) check(s *served) {
	m.Helper()
	have := map[int]bool{}
	for device := range m.tokens {
		for n := range m.have(s, device) {
			have[n] = true
		}
	}
	again := map[string][]*measured{}
	for _, r := range m.sent {
		if r.acked && !have[r.n] {
			m.Errorf("reading %d of %s was acknowledged (over MQTT: %t) and is not there", r.n, r.device, r.mqtt)
		}
		if !r.acked || r.n%50 == 0 { // and some acknowledged ones
			again[r.device] = append(again[r.device], r)
		}
	}
	for _, readings := range again {
		for len(readings) > 0 {
			n := min(len(readings), 1000)
			if !m.post(m.Context(), s, readings[:n]) {
				m.Fatal("readings were refused when they were sent again")
			}
			readings = readings[n:]
		}
	}
}
