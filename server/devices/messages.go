package devices

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/server/mqtt"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/payload"
)

// The topics that devices publish to. A device names itself, though it is known: so what it sends is understood without
// its login, and what it sends for another is refused rather than taken for its own.
const (
	topicRoot     = "devices/"
	topicReadings = "readings" // devices/DEVICE/readings: readings in JSON
	topicValue    = "values/"  // devices/DEVICE/values/METRIC: one value, measured now
)

// errMQTTLogin is why a client is refused, without telling what was wrong.
var errMQTTLogin = errors.New("devices: unknown device or wrong token")

// Messages takes readings in that devices publish over MQTT.
type Messages struct {
	Collector *telemetry.Collector
	// Gateway returns the fleet that a key may send readings for, or "" for any; an error refuses the key. nil: there are no gateways.
	Gateway func(ctx context.Context, user, key string) (fleetID string, err error)
	// Device returns a device, of which a gateway sends.
	Device func(ctx context.Context, deviceID string) (telemetry.Device, error)
	// Count is told every outcome. nil: nobody counts.
	Count func([]telemetry.Outcome)
	// Stored is told of readings and what became of them, in parallel. nil: nobody wants to know.
	Stored func([]telemetry.Incoming, []telemetry.Outcome)
	// Overloaded reports that there is no memory for more messages. nil: there always is.
	Overloaded func() bool
}

// Login lets devices in by their token, which is the password; the user name is the device's id. Whoever else has a key
// of a fleet sends for the devices of that fleet.
func (m *Messages) Login(ctx context.Context, l mqtt.Login) (mqtt.Taker, error) {
	device, err := m.Collector.Authenticate(ctx, l.Password)
	switch {
	case err == nil && l.Username == device.DeviceID:
		return m.taker(func(_ context.Context, id string) (bool, error) { return id == device.DeviceID, nil }), nil
	case err != nil && !errors.Is(err, telemetry.ErrToken):
		return nil, fmt.Errorf("%w: %w", mqtt.ErrUnavailable, err)
	case err == nil || m.Gateway == nil:
		return nil, errMQTTLogin
	}
	fleet, err := m.Gateway(ctx, l.Username, l.Password)
	switch {
	case errors.Is(err, accounts.ErrDenied):
		return nil, errMQTTLogin
	case err != nil:
		return nil, fmt.Errorf("%w: %w", mqtt.ErrUnavailable, err)
	}
	return m.taker(func(ctx context.Context, id string) (bool, error) {
		d, err := m.Device(ctx, id)
		if errors.Is(err, table.ErrNotFound) {
			return false, nil
		}
		return fleet == "" || d.FleetID == fleet, err
	}), nil
}

// taker takes messages of the devices that mine knows.
func (m *Messages) taker(mine func(context.Context, string) (bool, error)) mqtt.Taker {
	return func(ctx context.Context, messages []mqtt.Message) []mqtt.Verdict {
		t := taking{verdicts: make([]mqtt.Verdict, len(messages))}
		if m.Overloaded != nil && m.Overloaded() {
			return t.verdicts // Failed: they are sent again
		}
		for i := range messages {
			t.read(i, &messages[i], func(id string) (bool, error) { return mine(ctx, id) })
			if t.over {
				break // what comes after it does not count
			}
		}
		outcomes, err := m.Collector.Ingest(ctx, t.readings)
		t.settle(outcomes, err)
		if m.Stored != nil {
			m.Stored(t.readings, outcomes)
		}
		if m.Count != nil {
			m.Count(outcomes)
			m.Count(t.unread)
		}
		return t.verdicts
	}
}

// taking is a few messages that are being decided.
type taking struct {
	verdicts []mqtt.Verdict
	readings []telemetry.Incoming
	of       []int // parallel to readings: the number of the message
	unread   []telemetry.Outcome
	over     bool // the client is disconnected
}

// read takes a message apart.
func (t *taking) read(i int, m *mqtt.Message, mine func(string) (bool, error)) {
	rest, ok := strings.CutPrefix(m.Topic, topicRoot)
	device, what, _ := strings.Cut(rest, "/")
	if ok {
		var err error
		if ok, err = mine(device); err != nil {
			t.verdicts[i], t.over = mqtt.Failed, true // nobody can say whose it is
			return
		}
	}
	if !ok {
		t.verdicts[i], t.over = mqtt.Forbidden, true
		return
	}
	metric, single := strings.CutPrefix(what, topicValue)
	switch {
	case what == topicReadings:
		t.readMany(i, device, m.Payload)
	case single:
		t.readValue(i, device, metric, m.Payload)
	default:
		t.wrong(i, "there is no such topic")
	}
}

func (t *taking) wrong(i int, detail string) {
	t.verdicts[i] = mqtt.Malformed
	t.unread = append(t.unread, telemetry.Outcome{Status: telemetry.Rejected, Reason: telemetry.BadValue, Detail: detail})
}

func (t *taking) readValue(i int, device, metric string, text []byte) {
	v, ok := payload.Value(text)
	if !ok {
		t.wrong(i, "the value is neither a number, a text nor a truth value")
		return
	}
	t.verdicts[i] = mqtt.Malformed // until it is stored
	t.readings = append(t.readings, telemetry.Incoming{DeviceID: device, Values: telemetry.Values{metric: v}})
	t.of = append(t.of, i)
}

func (t *taking) readMany(i int, device string, text []byte) {
	readings, err := payload.Parse(text, device)
	if err != nil {
		t.wrong(i, err.Error())
		return
	}
	t.verdicts[i] = mqtt.Malformed // until one is stored
	for n := range readings {
		switch r := &readings[n]; {
		case r.Err != nil:
			t.unread = append(t.unread, r.Outcome())
		case r.DeviceID != device:
			t.verdicts[i], t.over = mqtt.Forbidden, true
			return
		default:
			t.readings, t.of = append(t.readings, r.Incoming), append(t.of, i)
		}
	}
}

// settle turns outcomes into verdicts. A message of which at least one reading is safe is acknowledged: what else it says
// will not become better when it is sent again. One of which a reading came too fast is sent again; what is stored of it
// then is a duplicate.
func (t *taking) settle(outcomes []telemetry.Outcome, err error) {
	for n, i := range t.of {
		if t.verdicts[i] == mqtt.Forbidden {
			continue
		}
		switch o := &outcomes[n]; {
		case o.Status == "" || err != nil:
			t.verdicts[i] = mqtt.Failed
		case t.verdicts[i] == mqtt.Failed:
		case o.Reason == telemetry.TooFast:
			t.verdicts[i] = mqtt.Busy
		case o.Status != telemetry.Rejected && t.verdicts[i] == mqtt.Malformed:
			t.verdicts[i] = mqtt.Taken
		}
	}
}
