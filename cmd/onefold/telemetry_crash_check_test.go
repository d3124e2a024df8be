package main

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onefold/onefold/telemetry"
)

// hourOf is an hour of readings, computed from the readings or from an aggregate.
type hourOf struct {
	count         int64
	sum, min, max string
}

// recount adds up the readings that a device sent, by hour.
func (m *meters) recount(device string) map[string]hourOf {
	values := map[string][]int{}
	for _, r := range m.sent {
		if r.device == device {
			start := r.at.Truncate(time.Hour).Format(time.RFC3339)
			values[start] = append(values[start], r.t)
		}
	}
	hours := map[string]hourOf{}
	for start, all := range values {
		sum := 0
		for _, t := range all {
			sum += t
		}
		hours[start] = hourOf{int64(len(all)), plain(sum), plain(slices.Min(all)), plain(slices.Max(all))}
	}
	return hours
}

// plain formats hundredths as a decimal without trailing zeros.
func plain(t int) string { return strings.TrimSuffix(strings.TrimRight(hundredths(t), "0"), ".") }

// aggregated returns the hourly aggregates.
func (m *meters) aggregated(st *store, device string) (map[string]hourOf, error) {
	metric := "t"
	if device == overLines {
		metric = "m.t"
	}
	hours := map[string]hourOf{}
	for a, err := range telemetry.AggregatesByTime.All(m.Context(), st.table, telemetry.AggregatesIn{DeviceID: device, Period: telemetry.Hourly}) {
		if err != nil {
			return nil, err
		}
		for _, f := range telemetry.FiguresOf(&a) {
			if f.Metric == metric {
				hours[a.Start] = hourOf{f.Count, f.Sum, f.Min, f.Max}
			}
		}
	}
	return hours, nil
}

// end checks that every reading is stored once, and that hourly aggregates match.
func (m *meters) end(s *served) {
	m.Helper()
	m.check(s)
	for device := range m.tokens {
		sent := 0
		for _, r := range m.sent {
			if r.device == device {
				sent++
			}
		}
		if have := len(m.have(s, device)); have != sent {
			m.Errorf("%s sent %d readings, and %d are there", device, sent, have)
		}
	}
	if err := s.end(m.T, syscall.SIGTERM); err != nil {
		m.Fatalf("a server that was asked to stop ended with %v", err)
	}
	m.inStore(func(st *store) error {
		if err := st.worker.Drain(m.Context()); err != nil {
			return err
		}
		for device := range m.tokens {
			hours, err := m.aggregated(st, device)
			if err != nil {
				return err
			}
			if want := m.recount(device); !maps.Equal(hours, want) {
				m.Errorf("%s: hours are %v, sent was %v", device, hours, want)
			}
			found, err := telemetry.Verify(m.Context(), st.table, st.worker, device, time.Now().Add(-8*time.Hour), time.Now())
			if err != nil || found.Count > 0 || found.Items == 0 {
				return fmt.Errorf("verify of %s: %+v, %w", device, found, err)
			}
		}
		return nil
	})
}

// run kills a server again and again while devices send to it.
func (m *meters) run(senders map[string]sender) {
	m.Helper()
	for range kills {
		s := m.serve()
		m.check(s)
		m.live(s, senders)
	}
	acked, cut := map[string]int{}, 0
	for _, r := range m.sent {
		if r.acked {
			acked[r.device]++
		} else {
			cut++
		}
	}
	m.end(m.serve())
	m.Logf("%d readings, %d kills; acknowledged of each device %v; %d had no answer when the last server was killed", len(m.sent), kills, acked, cut)
}

// All readings that a server acknowledged before it was killed can be read back, whatever the
// protocol, each once although unacknowledged ones are sent again, and hourly aggregates count them
// once.
func TestKilledServerOfDevices(t *testing.T) {
	t.Parallel()
	senders := map[string]sender{
		"batches": (*meters).overHTTP, "more": (*meters).overHTTP, overLines: (*meters).overHTTP,
		"messages": (*meters).overMQTT, "others": (*meters).overMQTT,
	}
	newMeters(t, slices.Collect(maps.Keys(senders))...).run(senders)
}

// The same on a table shared with another server and three workers.
func TestKilledServerOfManyOfDevices(t *testing.T) {
	t.Parallel()
	c := newCluster(t, uint64(time.Now().UnixNano()), 1, 3)
	c.start()
	senders := map[string]sender{"batches": (*meters).overHTTP, overLines: (*meters).overHTTP, "messages": (*meters).overMQTT}
	newMetersIn(t, c.globals(), c.store, slices.Collect(maps.Keys(senders))...).run(senders)
	c.stop()
}

// The same with an independent MQTT client.
func TestKilledServerOfMosquitto(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("mosquitto_pub"); err != nil {
		t.Skip("mosquitto_pub is missing: install Debian's package mosquitto-clients, or mosquitto elsewhere")
	}
	senders := map[string]sender{"pub1": (*meters).overMosquitto, "pub2": (*meters).overMosquitto, "batches": (*meters).overHTTP}
	newMeters(t, slices.Collect(maps.Keys(senders))...).run(senders)
}
