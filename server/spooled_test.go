package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	v3 "github.com/eclipse/paho.mqtt.golang"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/mqtt"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/credentials"
)

// spooled is a server that spools readings of the devices d1 and d2 while its store is unreachable,
// with what it has acknowledged.
type spooled struct {
	*servertest.Server
	away   *away
	kept   *spool.Spool
	drain  *spool.Drain
	mqtt   string
	tokens map[string]string // of devices
	random *rand.Rand

	readings []sentReading
	queued   int // how many outcomes were queued
}

// sentReading is a reading of d1, whose number is its value n.
type sentReading struct {
	at    time.Time
	wrong bool // wrong clock: the reading is quarantined
	pad   int  // additional values that make it large
	acked bool
}

func newSpooled(t *testing.T, seed uint64, maxBytes int64) *spooled {
	t.Helper()
	a, _ := newAway(t)
	kept, err := spool.Open(t.TempDir(), spool.Options{MaxBytes: maxBytes})
	servertest.Must(t, err)
	t.Cleanup(func() { servertest.Must(t, kept.Close()) })
	s := &spooled{away: a, kept: kept, tokens: map[string]string{}, random: rand.New(rand.NewPCG(seed, 0))}
	s.Server = servertest.On(t, a, func(o *server.Options) {
		o.Service, o.StreamService = a.Store, a.Streams
		o.Analytics.Collector = analytics.NewCollector(o.Table, analytics.CollectorOptions{Spool: kept})
		o.Devices.Collector = telemetry.NewCollector(o.Table, telemetry.CollectorOptions{Spool: kept})
		s.drain = &spool.Drain{Spool: kept, Rate: 1e6, Sinks: o.Analytics.Collector.Sinks(),
			Sleep: func(ctx context.Context, d time.Duration) error { return backoff.For(ctx, d/100) }} // it is a short outage
		for kind, sink := range o.Devices.Collector.Sinks() {
			s.drain.Sinks[kind] = sink
		}
		o.Drain = s.drain
	})
	_, err = telemetry.CreateFleet(t.Context(), s.Table, telemetry.NewFleet{ID: "plant", Limits: telemetry.Limits{PerMinute: 1_000_000}})
	servertest.Must(t, err)
	for _, id := range []string{"d1", "d2"} {
		_, err = telemetry.CreateDevice(t.Context(), s.Table, telemetry.NewDevice{ID: id, FleetID: "plant"})
		servertest.Must(t, err)
		s.tokens[id], err = credentials.NewToken(t.Context(), s.Table, id)
		servertest.Must(t, err)
	}
	s.run(s.drain.Run)
	broker, err := mqtt.New(mqtt.Options{Login: s.Server.Server.Devices().Login})
	servertest.Must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	servertest.Must(t, err)
	s.mqtt = "tcp://" + l.Addr().String()
	s.run(func(ctx context.Context) error { return broker.Run(ctx, l) })
	return s
}

// run runs f in the background until the test ends.
func (s *spooled) run(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			s.Error(err)
		}
	})
}

// stored makes the store reachable again, and waits until nothing waits for it.
func (s *spooled) stored() {
	s.Helper()
	s.away.cut.Store(false)
	for s.Context().Err() == nil { // the drain retries by itself
		if _, body := s.Get("/readyz"); strings.Contains(body, `"ready"`) && strings.Contains(body, `"records":0`) {
			return
		}
	}
	s.Fatal("it is never empty")
}

// spooling waits until the server reports that it spools. Readings behind waiting ones do not ask the store, so the
// server may find out that it is unreachable only when the drain retries.
func (s *spooled) spooling() {
	s.Helper()
	for s.Context().Err() == nil {
		if status, body := s.Get("/readyz"); status == http.StatusOK && strings.Contains(body, `"spooling"`) {
			return
		}
	}
	s.Fatal("it never reports that it spools")
}

// some returns the numbers of a few readings: new ones, and ones that were sent before.
func (s *spooled) some() (numbers []int) {
	for range 1 + s.random.IntN(6) {
		if n := len(s.readings); n > 0 && s.random.IntN(4) == 0 {
			numbers = append(numbers, s.random.IntN(n))
			continue
		}
		numbers = append(numbers, len(s.readings))
		r := sentReading{at: time.Now().Add(-time.Duration(s.random.Int64N(int64(5 * time.Hour)))).Truncate(time.Millisecond), wrong: s.random.IntN(8) == 0}
		if r.wrong {
			r.at = time.Unix(int64(s.random.IntN(1e6)), 0)
		}
		s.readings = append(s.readings, r)
	}
	return numbers
}

// drift is the maximum clock drift of a device, in milliseconds, before it sends a reading again.
// It is too small to make a reading with the same sequence number another reading.
const drift = 5 * 60 * 1000

// isOf reports whether a time is that of a reading, as it was once sent.
func (r *sentReading) isOf(at time.Time) bool {
	if r.wrong {
		return at.Equal(r.at)
	}
	return !at.Before(r.at) && at.Sub(r.at) < drift*time.Millisecond
}

func (s *spooled) json(numbers []int) string {
	text := make([]string, len(numbers))
	for i, n := range numbers {
		values := fmt.Sprintf(`"n":%d`, n)
		noise := rand.NewPCG(uint64(n), 0) // incompressible, and the same when it is sent again
		for v := range s.readings[n].pad {
			values += fmt.Sprintf(`,"%d":"`, v)
			for range 8 {
				values += fmt.Sprintf("%016x", noise.Uint64())
			}
			values += `"`
		}
		at := s.readings[n].at
		if !s.readings[n].wrong {
			at = at.Add(time.Duration(s.random.IntN(drift)) * time.Millisecond)
		}
		text[i] = fmt.Sprintf(`{"at":%d,"seq":%d,"values":{%s}}`, at.UnixMilli(), n, values)
	}
	return "[" + strings.Join(text, ",") + "]"
}

// overHTTP sends readings, all of which are acknowledged: stored or queued.
func (s *spooled) overHTTP(numbers []int) {
	s.Helper()
	answer, body := s.post(numbers)
	if answer.StatusCode != http.StatusAccepted {
		s.Fatalf("%d %s", answer.StatusCode, body)
	}
	s.note(numbers, body)
}

func (s *spooled) post(numbers []int) (*http.Response, string) {
	s.Helper()
	return ask(s.T, http.MethodPost, s.URL+"/api/readings", s.json(numbers), "Authorization", "Bearer "+s.tokens["d1"])
}

// note evaluates the outcomes of readings.
func (s *spooled) note(numbers []int, body string) {
	s.Helper()
	var told struct{ Outcomes []telemetry.Outcome }
	servertest.Must(s.T, json.Unmarshal([]byte(body), &told))
	if len(told.Outcomes) != len(numbers) {
		s.Fatalf("%d readings: %s", len(numbers), body)
	}
	for i, n := range numbers {
		o, r := told.Outcomes[i], &s.readings[n]
		switch {
		case r.wrong != o.Quarantined, !r.wrong && o.Status == telemetry.Rejected, o.Status == "", !r.isOf(o.At):
			s.Errorf("reading %d (wrong clock: %t): %+v", n, r.wrong, o)
		case o.Status == telemetry.Queued:
			s.queued++
		}
		r.acked = true
	}
}

// overMQTT publishes readings over a connection of its own, and waits for the acknowledgement.
func (s *spooled) overMQTT(numbers []int) error {
	c := v3.NewClient(v3.NewClientOptions().AddBroker(s.mqtt).SetClientID("d1").SetUsername("d1").SetPassword(s.tokens["d1"]).
		SetProtocolVersion(4).SetAutoReconnect(false).SetConnectTimeout(10 * time.Second))
	defer c.Disconnect(0)
	if token := c.Connect(); token.Wait() && token.Error() != nil {
		return token.Error()
	}
	token := c.Publish("devices/d1/readings", 1, false, s.json(numbers))
	if token.Wait(); token.Error() != nil {
		return token.Error()
	}
	for _, n := range numbers {
		s.readings[n].acked = true
	}
	return nil
}

// check expects every acknowledged reading to be stored, once, no others, and hours that count and
// sum them.
func (s *spooled) check() {
	s.Helper()
	found, sum, right := map[int]int{}, int64(0), int64(0)
	count := func(v telemetry.Values, at time.Time, wrong bool) {
		n, err := strconv.Atoi(v["n"].String())
		if err != nil || n >= len(s.readings) || !s.readings[n].isOf(at) || s.readings[n].wrong != wrong {
			s.Fatalf("there is %v at %s, which was not sent: %v", v, at, err)
		}
		if found[n]++; !wrong {
			sum, right = sum+int64(n), right+1
		}
	}
	stored, err := (telemetry.ReadingsIn{DeviceID: "d1"}).Collect(s.Context(), s.Table)
	servertest.Must(s.T, err)
	for _, r := range stored {
		count(r.Values, r.At, false)
	}
	apart, err := telemetry.QuarantineOfDevice.Collect(s.Context(), s.Table, telemetry.DeviceIn{DeviceID: "d1"})
	servertest.Must(s.T, err)
	for _, q := range apart {
		count(q.Values, q.Claimed, true)
	}
	for n, r := range s.readings {
		if want := map[bool]int{true: 1}[r.acked]; found[n] != want {
			s.Errorf("reading %d (acknowledged: %t) is there %d times", n, r.acked, found[n])
		}
	}
	servertest.Must(s.T, s.Worker.Drain(s.Context()))
	hours, err := telemetry.AggregatesByTime.Collect(s.Context(), s.Table, telemetry.AggregatesIn{DeviceID: "d1", Period: telemetry.Hourly})
	servertest.Must(s.T, err)
	counted, summed := int64(0), int64(0)
	for i := range hours {
		counted += hours[i].Readings
		for _, f := range telemetry.FiguresOf(&hours[i]) {
			if f.Metric == "n" {
				n, err := strconv.ParseInt(f.Sum, 10, 64)
				servertest.Must(s.T, err)
				summed += n
			}
		}
	}
	if counted != right || summed != sum {
		s.Errorf("hours count %d readings of the sum %d, there are %d of %d", counted, summed, right, sum)
	}
	if s.drain.Refused() > 0 {
		s.Errorf("%d were put aside", s.drain.Refused())
	}
}

// Readings that arrive while the store is unreachable, over HTTP and MQTT, are acknowledged. When
// it is back, they are stored, once, and count once, and are not confused with earlier and later
// ones.
func TestReadingsWait(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := newSpooled(t, seed, 0)
	s.overHTTP(s.some()) // the server knows the device
	for range 8 {
		s.away.cut.Store(true)
		for range 6 {
			if s.random.IntN(2) == 0 {
				s.overHTTP(s.some())
			} else if err := s.overMQTT(s.some()); err != nil {
				t.Fatalf("over MQTT while the store is away: %v", err)
			}
		}
		s.spooling()
		if status, body := s.Post("/api/readings", `{"values":{"n":1}}`, "Authorization", "Bearer "+s.tokens["d2"]); status != http.StatusServiceUnavailable {
			t.Errorf("a device that the server does not know: %d %s", status, body)
		}
		s.away.cut.Store(false)
		s.overHTTP(s.some()) // behind what waits, or stored
		if s.random.IntN(2) == 0 {
			s.stored()
		}
	}
	s.stored()
	s.check()
	if s.queued == 0 {
		t.Error("nothing waited")
	}
}

// fill sends large readings until they are rejected, and returns the numbers of those that were.
func (s *spooled) fill() (refused []int) {
	s.Helper()
	ready := http.StatusOK
	for requests := 0; ; requests++ {
		var numbers []int
		for range 20 {
			numbers = append(numbers, len(s.readings))
			s.readings = append(s.readings, sentReading{at: time.Now().Truncate(time.Millisecond), pad: 60})
		}
		answer, body := s.post(numbers)
		if answer.StatusCode == http.StatusAccepted {
			s.note(numbers, body)
			ready, _ = s.Get("/readyz")
			continue
		}
		after, err := strconv.Atoi(answer.Header.Get("Retry-After"))
		if answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, `"urn:onefold:error:store_unreachable"`) || err != nil || after < 1 {
			s.Fatalf("full: %d %v %s", answer.StatusCode, answer.Header, body)
		}
		if ready != http.StatusServiceUnavailable || requests < 10 {
			s.Errorf("readyz is %d when nothing is taken any more, after %d requests", ready, requests)
		}
		return numbers
	}
}

// When the spool is full, readings are rejected with a time to retry, over each protocol.
// Acknowledged readings are stored anyway, and rejected ones are accepted when there is room again.
func TestSpoolIsFull(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the time to fill a disk's share is missing: leave -short out")
	}
	s := newSpooled(t, 1, 5<<20)
	s.overHTTP(s.some())
	page := func() *http.Response {
		answer, _ := ask(t, http.MethodPost, s.URL+"/api/event", `{"site":"blog","url":"/`+strings.Repeat("x", 200)+`"}`)
		return answer
	}
	if status := page().StatusCode; status != http.StatusAccepted {
		t.Fatal(status)
	}
	s.away.cut.Store(true)
	refused := s.fill()
	views := int64(1)
	for { // there may be room for small ones
		answer := page()
		if answer.StatusCode == http.StatusAccepted {
			views++
			continue
		}
		if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || views > 1000 {
			t.Fatalf("an event more: %d %v", answer.StatusCode, answer.Header)
		}
		break
	}
	for { // and for even smaller ones
		n := len(s.readings)
		s.readings = append(s.readings, sentReading{at: time.Now().Truncate(time.Millisecond)})
		if err := s.overMQTT([]int{n}); err != nil {
			refused = append(refused, n)
			break
		}
		if n > 2000 {
			t.Fatal("all that is published is acknowledged")
		}
	}
	s.stored()
	s.check()
	if n := s.PageViewsToday(); n != views {
		t.Errorf("%d page views, %d were acknowledged", n, views)
	}
	s.overHTTP(refused)
	s.check()
}
