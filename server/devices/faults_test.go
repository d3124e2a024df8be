package devices_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	v3 "github.com/eclipse/paho.mqtt.golang"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/server/mqtt"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
)

// failing is a server whose store fails now and then while the device d1 sends over all protocols.
type failing struct {
	*works
	db     *enginetest.DB
	mqtt   string
	random *rand.Rand

	readings []failingReading
	of       map[string]int // number of acknowledgements by protocol
	refused  map[string]int
}

// failingReading is a reading, whose number is its value n, and whether it was acknowledged.
type failingReading struct {
	at    time.Time
	wrong bool // wrong clock: the reading is quarantined
	acked bool
}

func newFailing(t *testing.T, seed uint64) *failing {
	t.Helper()
	db := enginetest.New(t, enginetest.At(time.Now()))
	f := &failing{works: worksOf(servertest.On(t, db, nil)), db: db, random: rand.New(rand.NewPCG(seed, 0)), of: map[string]int{}, refused: map[string]int{}}
	broker, err := mqtt.New(mqtt.Options{Login: f.Server.Server.Devices().Login})
	servertest.Must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	servertest.Must(t, err)
	f.mqtt = "tcp://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- broker.Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return f
}

// some returns the numbers of a few readings: new ones, or ones that were not acknowledged.
func (f *failing) some() (numbers []int) {
	want := 1 + f.random.IntN(8)
	for n := range f.readings {
		if !f.readings[n].acked && f.random.IntN(2) == 0 && len(numbers) < want {
			numbers = append(numbers, n)
		}
	}
	for len(numbers) < want {
		numbers = append(numbers, len(f.readings))
		at := time.Now().Add(-time.Duration(f.random.Int64N(int64(3 * time.Hour)))).Truncate(time.Millisecond)
		if wrong := f.random.IntN(8) == 0; wrong {
			f.readings = append(f.readings, failingReading{at: time.Unix(int64(f.random.IntN(1e6)), 0), wrong: true})
		} else {
			f.readings = append(f.readings, failingReading{at: at})
		}
	}
	return numbers
}

func (f *failing) json(numbers []int) string {
	text := make([]string, len(numbers))
	for i, n := range numbers {
		text[i] = fmt.Sprintf(`{"at":%d,"values":{"n":%d}}`, f.readings[n].at.UnixMilli(), n)
	}
	return "[" + strings.Join(text, ",") + "]"
}

// overHTTP sends readings as JSON, and returns those that were acknowledged.
func (f *failing) overHTTP(numbers []int) (acked []int) {
	status, answer := f.Post("/api/readings", f.json(numbers), bearer(f.tokens["d1"])...)
	if status != http.StatusAccepted {
		f.mustFail(status, answer)
		return nil
	}
	var told struct{ Outcomes []telemetry.Outcome }
	servertest.Must(f.T, json.Unmarshal([]byte(answer), &told))
	for i, n := range numbers {
		switch o := told.Outcomes[i]; {
		case o.Quarantined == f.readings[n].wrong && (o.Quarantined || o.Status != telemetry.Rejected && o.Status != ""):
			acked = append(acked, n)
		default:
			f.Errorf("reading %d: %+v", n, o)
		}
	}
	return acked
}

// overLines sends readings as line protocol, except those with a wrong clock, which are rejected by
// line.
func (f *failing) overLines(numbers []int) (acked []int) {
	var text strings.Builder
	for _, n := range numbers {
		if !f.readings[n].wrong {
			fmt.Fprintf(&text, "n,device=d1 value=%d %d\n", n, f.readings[n].at.UnixMilli())
			acked = append(acked, n)
		}
	}
	if acked == nil {
		return nil
	}
	status, answer := f.Post("/api/v2/write?bucket=plant&precision=ms", text.String(), bearer(f.tokens["d1"])...)
	if status != http.StatusNoContent {
		f.mustFail(status, answer)
		return nil
	}
	return acked
}

// mustFail expects a response for a failed store, which does not blame the readings.
func (f *failing) mustFail(status int, answer string) {
	f.Helper()
	if status < http.StatusInternalServerError && status != http.StatusTooManyRequests || !strings.HasPrefix(answer, "{") {
		f.Errorf("answer %d %.300s", status, answer)
	}
}

// overMQTT publishes readings in one message.
func (f *failing) overMQTT(numbers []int) []int {
	c := v3.NewClient(v3.NewClientOptions().AddBroker(f.mqtt).SetClientID("d1").SetUsername("d1").SetPassword(f.tokens["d1"]).
		SetProtocolVersion(4).SetAutoReconnect(false).SetConnectTimeout(10 * time.Second).SetOrderMatters(false))
	defer c.Disconnect(0)
	if token := c.Connect(); token.Wait() && token.Error() != nil {
		return nil
	}
	if say(c, "devices/d1/readings", f.json(numbers)) != nil {
		return nil
	}
	return numbers
}

// readBack counts the stored readings by number.
func (f *failing) readBack() map[int]int {
	f.Helper()
	found := map[int]int{}
	count := func(v telemetry.Values, at time.Time, wrong bool) {
		var n int
		if _, err := fmt.Sscan(v["n"].String(), &n); err != nil || n >= len(f.readings) || !f.readings[n].at.Equal(at) || f.readings[n].wrong != wrong {
			f.Fatalf("there is %v at %s, which was not sent: %v", v, at, err)
		}
		found[n]++
	}
	stored, err := (telemetry.ReadingsIn{DeviceID: "d1"}).Collect(f.Context(), f.Table)
	servertest.Must(f.T, err)
	for _, r := range stored {
		count(r.Values, r.At, false)
	}
	apart, err := telemetry.QuarantineOfDevice.Collect(f.Context(), f.Table, telemetry.DeviceIn{DeviceID: "d1"})
	servertest.Must(f.T, err)
	for _, q := range apart {
		count(q.Values, q.Claimed, true)
	}
	return found
}

// send sends some readings over a random protocol while one or two requests to the store fail, and
// expects acknowledged readings to be stored.
func (f *failing) send(effect enginetest.Effect) {
	f.Helper()
	way := []string{"HTTP", "lines", "MQTT"}[f.random.IntN(3)]
	numbers := f.some()
	for range 1 + f.random.IntN(2) {
		f.db.Inject(enginetest.Fault{Effect: effect, Nth: 1 + f.random.IntN(12), Writes: f.random.IntN(3) > 0})
	}
	acked := map[string]func([]int) []int{"HTTP": f.overHTTP, "lines": f.overLines, "MQTT": f.overMQTT}[way](numbers)
	f.db.Heal()
	for _, n := range acked {
		f.readings[n].acked = true
		f.of[way]++
	}
	if acked == nil {
		f.refused[way]++
	}
	have := f.readBack()
	for n, r := range f.readings {
		if r.acked && have[n] == 0 || have[n] > 1 {
			f.Fatalf("reading %d (acknowledged: %t) is there %d times, after %d over %s", n, r.acked, have[n], numbers, way)
		}
	}
}

// Nothing is acknowledged that cannot be read back, however the store fails, over all protocols.
// After everything else was sent again, everything is stored once, and counted once.
func TestStoreFailsUnderIngest(t *testing.T) {
	for effect, name := range map[enginetest.Effect]string{enginetest.Throttle: "throttle", enginetest.Fail: "fail", enginetest.LoseAnswer: "lose answers", enginetest.Conflict: "conflict"} {
		t.Run(name, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			f := newFailing(t, seed)
			for range 120 {
				f.send(effect)
			}
			t.Logf("%d readings; acknowledged %v, requests refused %v, %d faults", len(f.readings), f.of, f.refused, f.db.Hits())
			if f.db.Hits() == 0 || f.refused["HTTP"]+f.refused["lines"]+f.refused["MQTT"] == 0 {
				t.Error("nothing failed")
			}
			f.atRest()
		})
	}
}

// atRest sends the unacknowledged readings again, and expects every reading once, and hours that
// count it once.
func (f *failing) atRest() {
	f.Helper()
	var again []int
	right := int64(0)
	for n, r := range f.readings {
		if !r.acked {
			again = append(again, n)
		}
		if !r.wrong {
			right++
		}
	}
	if acked := f.overHTTP(again); len(acked) != len(again) {
		f.Errorf("%d of %d were acknowledged when they were sent again", len(acked), len(again))
	}
	for n, times := range f.readBack() {
		if times != 1 {
			f.Errorf("reading %d is there %d times", n, times)
		}
	}
	servertest.Must(f.T, f.Worker.Drain(f.Context()))
	hours, err := telemetry.AggregatesByTime.Collect(f.Context(), f.Table, telemetry.AggregatesIn{DeviceID: "d1", Period: telemetry.Hourly})
	servertest.Must(f.T, err)
	counted := int64(0)
	for _, h := range hours {
		counted += h.Readings
	}
	if counted != right || len(f.readBack()) != len(f.readings) {
		f.Errorf("hours count %d readings, %d were sent with a right clock; %d of %d are there", counted, right, len(f.readBack()), len(f.readings))
	}
}

// A throttled store returns the time to retry, over both HTTP protocols.
func TestThrottledRetryAfter(t *testing.T) {
	f := newFailing(t, 1)
	for path, body := range map[string]string{"/api/v2/write?bucket=plant": "n,device=d1 value=1", "/api/readings": `{"device":"d1","values":{"n":1}}`} {
		f.db.Inject(enginetest.Fault{Effect: enginetest.Throttle, Writes: true})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL+path, strings.NewReader(body))
		servertest.Must(t, err)
		r.Header.Set("Authorization", "Bearer "+f.tokens["d1"])
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		servertest.Must(t, err)
		servertest.Must(t, answer.Body.Close())
		f.db.Heal()
		if answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: %d, Retry-After %q", path, answer.StatusCode, answer.Header.Get("Retry-After"))
		}
	}
}
