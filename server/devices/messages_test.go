package devices_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	v3 "github.com/eclipse/paho.mqtt.golang"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/devices"
	"github.com/onefold/onefold/server/mqtt"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/credentials"
)

// plant is an installation in memory whose devices d1 and d2 connect over MQTT, and a gateway with
// the key "gate".
type plant struct {
	*testing.T
	db     *enginetest.DB
	table  *table.Table
	addr   string
	tokens map[string]string

	mu       sync.Mutex
	outcomes map[telemetry.OutcomeStatus]int
}

func newPlant(t *testing.T) *plant {
	t.Helper()
	p := &plant{T: t, db: enginetest.New(t), tokens: map[string]string{}, outcomes: map[telemetry.OutcomeStatus]int{}}
	p.must(telemetry.Schema.Ensure(t.Context(), p.db, "onefold"))
	p.table = table.New(p.db, "onefold", table.Options{Clock: p.db.Now})
	_, err := telemetry.CreateFleet(t.Context(), p.table, telemetry.NewFleet{ID: "plant"})
	p.must(err)
	for _, id := range []string{"d1", "d2"} {
		_, err := telemetry.CreateDevice(t.Context(), p.table, telemetry.NewDevice{ID: id, FleetID: "plant"})
		p.must(err)
		p.tokens[id], err = credentials.NewToken(t.Context(), p.table, id)
		p.must(err)
	}
	p.serve()
	return p
}

func (p *plant) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *plant) serve() {
	m := &devices.Messages{
		Collector: telemetry.NewCollector(p.table, telemetry.CollectorOptions{}),
		Gateway: func(_ context.Context, user, key string) (string, error) {
			if user != "gateway" || key != "gate" {
				return "", accounts.ErrDenied
			}
			return "plant", nil
		},
		Device: func(ctx context.Context, id string) (telemetry.Device, error) {
			return telemetry.GetDevice(ctx, p.table, id)
		},
		Count: func(outcomes []telemetry.Outcome) {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, o := range outcomes {
				p.outcomes[o.Status]++
			}
		},
	}
	broker, err := mqtt.New(mqtt.Options{Login: m.Login, MaySubscribe: devices.IsReplyFilter})
	p.must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	p.must(err)
	p.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(p.Context())
	ended := make(chan error, 1)
	go func() { ended <- broker.Run(ctx, l) }()
	p.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			p.Error(err)
		}
	})
}

func (p *plant) connect(user, password string) (v3.Client, error) {
	c := v3.NewClient(v3.NewClientOptions().AddBroker("tcp://" + p.addr).SetClientID(user).SetUsername(user).SetPassword(password).
		SetProtocolVersion(4).SetAutoReconnect(false).SetConnectTimeout(10 * time.Second).SetOrderMatters(false))
	token := c.Connect()
	token.Wait()
	p.Cleanup(func() { c.Disconnect(0) })
	return c, token.Error()
}

func (p *plant) device(id string) v3.Client {
	p.Helper()
	c, err := p.connect(id, p.tokens[id])
	p.must(err)
	return c
}

// say publishes and waits for the acknowledgement.
func say(c v3.Client, topic, text string) error {
	token := c.Publish(topic, 1, false, text)
	token.Wait()
	return token.Error()
}

// stored returns the readings of a device, as seq or value.
func (p *plant) stored(device string) map[string]bool {
	p.Helper()
	all, err := (telemetry.ReadingsIn{DeviceID: device}).Collect(p.Context(), p.table)
	p.must(err)
	found := map[string]bool{}
	for _, r := range all {
		found[strings.TrimLeft(r.Disc, "0")] = true
	}
	if len(found) != len(all) {
		p.Fatalf("%d readings of %d numbers", len(all), len(found))
	}
	return found
}

func (p *plant) reading(n int) string {
	return fmt.Sprintf(`{"at":%d,"seq":%d,"values":{"t":%d.5}}`, p.db.Now().Add(-time.Minute).UnixMilli(), n, n)
}

func TestReadingsOverMQTT(t *testing.T) {
	p := newPlant(t)
	c := p.device("d1")
	one := p.reading(1)
	for _, text := range []string{one, one, "[" + p.reading(2) + "," + p.reading(3) + "]"} {
		p.must(say(c, "devices/d1/readings", text))
	}
	p.must(say(c, "devices/d1/values/door/front", "open"))
	if have := p.stored("d1"); len(have) != 4 || !have["1"] || !have["2"] || !have["3"] {
		t.Errorf("stored: %v", have)
	}
	// Messages that can never be stored are acknowledged, because otherwise they would be sent
	// forever.
	for _, text := range []string{"{", `{"values":{}}`, `{"values":{"t":{}}}`, `{"at":"1970-01-01T00:00:00Z","values":{"t":1}}`} {
		p.must(say(c, "devices/d1/readings", text))
	}
	p.must(say(c, "devices/d1/other", "1"))
	p.mu.Lock()
	defer p.mu.Unlock()
	if want := fmt.Sprint(map[telemetry.OutcomeStatus]int{"stored": 4, "duplicate": 1, "rejected": 5}); fmt.Sprint(p.outcomes) != want {
		t.Errorf("outcomes: %v, want %s", p.outcomes, want)
	}
}

func TestMQTTLogins(t *testing.T) {
	p := newPlant(t)
	for _, c := range []struct {
		user, password string
		fine           bool
	}{
		{"d1", p.tokens["d1"], true}, {"d2", p.tokens["d1"], false}, {"d1", "d1.x", false}, {"d1", "", false}, {"", p.tokens["d1"], false},
		{"gateway", "gate", true}, {"gateway", "gat", false}, {"d1", "gate", false},
	} {
		if _, err := p.connect(c.user, c.password); (err == nil) != c.fine {
			t.Errorf("%s with %.4s…: %v", c.user, c.password, err)
		}
	}
}

// A device sends for itself, a gateway for the devices of its fleet.
func TestMQTTTopicsAreTheDevicesOwn(t *testing.T) {
	p := newPlant(t)
	_, err := telemetry.CreateFleet(t.Context(), p.table, telemetry.NewFleet{ID: "other"})
	p.must(err)
	_, err = telemetry.CreateDevice(t.Context(), p.table, telemetry.NewDevice{ID: "theirs", FleetID: "other"})
	p.must(err)
	for _, topic := range []string{"devices/d2/readings", "devices//readings", "devices/d1x/readings", "x", "devices/d2/values/t"} {
		if err := say(p.device("d1"), topic, p.reading(1)); err == nil {
			t.Errorf("%s was acknowledged", topic)
		}
	}
	if err := say(p.device("d1"), "devices/d1/readings", `{"device":"d2","values":{"t":1}}`); err == nil {
		t.Error("a reading of another device was acknowledged")
	}
	gateway := func() v3.Client {
		c, err := p.connect("gateway", "gate")
		p.must(err)
		return c
	}
	p.must(say(gateway(), "devices/d2/readings", p.reading(7)))
	if err := say(gateway(), "devices/theirs/readings", p.reading(8)); err == nil {
		t.Error("a reading of another fleet's device was acknowledged")
	}
	if d1, d2, theirs := p.stored("d1"), p.stored("d2"), p.stored("theirs"); len(d1) != 0 || len(d2) != 1 || len(theirs) != 0 {
		t.Errorf("stored: %v, %v, %v", d1, d2, theirs)
	}
}

// Nothing is acknowledged that cannot be read back, however the store fails. A device that sends
// unacknowledged readings again has stored everything once.
func TestStoreFailsUnderMQTT(t *testing.T) {
	for _, effect := range []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer} {
		p := newPlant(t)
		p.db.Inject(enginetest.Fault{Effect: effect, Op: "PutItem", Every: 5})
		acknowledged, tries := map[string]bool{}, 0
		for n := 1; n <= 40; {
			c := p.device("d1")
			for ; n <= 40; n++ {
				tries++
				if say(c, "devices/d1/readings", p.reading(n)) != nil {
					break
				}
				acknowledged[fmt.Sprint(n)] = true
			}
			stored := p.stored("d1")
			for n := range acknowledged {
				if !stored[n] {
					t.Fatalf("%v: %s was acknowledged and is not there", effect, n)
				}
			}
		}
		if len(p.stored("d1")) != 40 || tries == 40 {
			t.Errorf("%v: %d stored after %d tries", effect, len(p.stored("d1")), tries)
		}
	}
}
