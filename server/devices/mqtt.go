package devices

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/mqtt"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/payload"
)

// The topics that devices publish to. Topics name the device, although the login identifies it. So
// messages can be understood without the login, and messages for another device are rejected
// instead of being counted for the sender.
const (
	topicRoot     = "devices/"
	topicReadings = "readings" // devices/DEVICE/readings: readings as JSON
	topicValue    = "values/"  // devices/DEVICE/values/METRIC: one value with the current time
)

// errMQTTLogin is the only reason that rejected clients get, so that they cannot probe for devices.
var errMQTTLogin = errors.New("devices: unknown device or wrong token")

// Messages ingests readings that devices publish over MQTT.
type Messages struct {
	Collector *telemetry.Collector
	// Gateway returns the fleet that a key may send readings for, or "" for all. An error rejects
	// the key. nil: gateways are not supported.
	Gateway func(ctx context.Context, user, key string) (fleetID string, err error)
	// Device returns a device that a gateway sends for.
	Device func(ctx context.Context, deviceID string) (telemetry.Device, error)
	// Count is called with all outcomes. Optional.
	Count func([]telemetry.Outcome)
	// Stored is called with readings and their outcomes, as parallel slices. Optional.
	Stored func([]telemetry.Incoming, []telemetry.Outcome)
	// Overloaded reports that there is no memory for more messages. nil: never.
	Overloaded func() bool
}

// Login authenticates a client. The user name of a device is its ID and the password its token. Any
// other client needs a key of a fleet, and sends for the devices of that fleet.
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

// taker ingests messages for the devices that mine accepts.
func (m *Messages) taker(mine func(context.Context, string) (bool, error)) mqtt.Taker {
	return func(ctx context.Context, messages []mqtt.Message) []mqtt.Verdict {
		t := messageBatch{verdicts: make([]mqtt.Verdict, len(messages))}
		if m.Overloaded != nil && m.Overloaded() {
			return t.verdicts // Failed: the client sends them again
		}
		for i := range messages {
			t.read(i, &messages[i], func(id string) (bool, error) { return mine(ctx, id) })
			if t.over {
				break // messages after it are not processed
			}
		}
		outcomes, err := m.Collector.Ingest(ctx, t.readings)
		t.settle(outcomes, err)
		t.reply(messages, outcomes)
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

// messageBatch is a batch of messages being processed.
type messageBatch struct {
	verdicts []mqtt.Verdict
	readings []telemetry.Incoming
	of       []place // parallel to readings
	unread   []telemetry.Outcome
	unreadOf []place // parallel to unread
	over     bool    // the client gets disconnected
}

// place is where a reading was sent.
type place struct {
	message int // index of the message
	reading int // position in the message
}

// read parses a message into readings.
func (t *messageBatch) read(i int, m *mqtt.Message, mine func(string) (bool, error)) {
	rest, ok := strings.CutPrefix(m.Topic, topicRoot)
	device, what, _ := strings.Cut(rest, "/")
	if ok {
		var err error
		if ok, err = mine(device); err != nil {
			t.verdicts[i], t.over = mqtt.Failed, true // ownership could not be checked
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
		t.wrong(i, "unknown topic")
	}
}

func (t *messageBatch) wrong(i int, detail string) {
	t.verdicts[i] = mqtt.Malformed
	t.unread = append(t.unread, telemetry.Outcome{Status: telemetry.Rejected, Reason: telemetry.BadValue, Detail: detail})
	t.unreadOf = append(t.unreadOf, place{message: i})
}

func (t *messageBatch) readValue(i int, device, metric string, text []byte) {
	v, ok := payload.Value(text)
	if !ok {
		t.wrong(i, "the value must be a number, text or boolean")
		return
	}
	t.verdicts[i] = mqtt.Malformed // until it is stored
	t.readings = append(t.readings, telemetry.Incoming{DeviceID: device, Values: telemetry.Values{metric: v}})
	t.of = append(t.of, place{message: i})
}

func (t *messageBatch) readMany(i int, device string, text []byte) {
	readings, err := payload.Parse(text, device)
	if err != nil {
		t.wrong(i, err.Error())
		return
	}
	t.verdicts[i] = mqtt.Malformed // until one is stored
	for n := range readings {
		switch r := &readings[n]; {
		case r.Err != nil:
			t.unread, t.unreadOf = append(t.unread, r.Outcome()), append(t.unreadOf, place{i, n})
		case r.DeviceID != device:
			t.verdicts[i], t.over = mqtt.Forbidden, true
			return
		default:
			t.readings, t.of = append(t.readings, r.Incoming), append(t.of, place{i, n})
		}
	}
}

// settle turns outcomes into verdicts. A message with at least one durable reading is acknowledged,
// because resending it would not fix the others. If a reading was too fast, the message is to be
// sent again; its stored readings are then duplicates.
func (t *messageBatch) settle(outcomes []telemetry.Outcome, err error) {
	for n := range t.of {
		i := t.of[n].message
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

// reply tells the sender of each decided message what was wrong with it.
func (t *messageBatch) reply(messages []mqtt.Message, outcomes []telemetry.Outcome) {
	wrong := map[int]*refusals{}
	note := func(at place, o *telemetry.Outcome) {
		if v := t.verdicts[at.message]; v != mqtt.Taken && v != mqtt.Malformed {
			return // it is sent again
		}
		if wrong[at.message] == nil {
			wrong[at.message] = new(refusals)
		}
		wrong[at.message].add(at.reading, o)
	}
	for n := range t.unread {
		note(t.unreadOf[n], &t.unread[n])
	}
	for n := range outcomes {
		note(t.of[n], &outcomes[n])
	}
	for i, r := range wrong {
		messages[i].Reply = r.to(messages[i].Topic)
	}
}
