package devicecli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/internal/devicesim"
	"github.com/onefold/onefold/telemetry"
)

// sentAtOnce is the number of readings per request.
const sentAtOnce = 200

// send sends generated readings to a running server as fast as it accepts them.
func (c *Simulate) send(ctx context.Context, env *Env, sim *devicesim.Simulation) error {
	remote, err := logimport.NewRemote(c.Server, c.Key)
	if err != nil {
		return err
	}
	to := simulatedTo{remote: remote, did: simulated{Devices: c.Devices, Fates: map[devicesim.Expectation]int64{}, Faults: map[devicesim.Fault]int64{}, Outcomes: map[telemetry.OutcomeStatus]int64{}}}
	if c.Fleet != "" {
		if err := to.makeDevices(ctx, c.Fleet, sim.Devices()); err != nil {
			return err
		}
	}
	for m := range sim.Messages() {
		if err := to.add(ctx, &m); err != nil {
			return err
		}
	}
	if err := to.flush(ctx); err != nil {
		return err
	}
	if env.JSON {
		return terminal.JSON(env.Out, to.did)
	}
	return to.did.print(env.Out)
}

// simulatedTo sends messages to a server.
type simulatedTo struct {
	remote *logimport.Remote
	batch  []byte
	n      int
	did    simulated
}

// makeDevices creates missing devices, and profiles with their metrics and units.
func (to *simulatedTo) makeDevices(ctx context.Context, fleet string, devices []devicesim.Device) error {
	path := "/api/v1/fleets/" + url.PathEscape(fleet)
	call := func(method, path string, what any) error {
		body, err := json.Marshal(what)
		if err != nil {
			return err
		}
		return to.remote.Call(ctx, method, path, body, nil)
	}
	for _, k := range devicesim.Kinds {
		metrics := make([]telemetry.MetricDef, len(k.Metrics))
		for i, m := range k.Metrics {
			metrics[i] = telemetry.MetricDef{Name: m.Name, Kind: telemetry.MetricKind(m.Kind), Unit: m.Unit}
		}
		if err := call(http.MethodPut, path+"/profiles/"+profileOf(&k), map[string]any{"name": "Simulated " + k.Name, "metrics": metrics}); err != nil {
			return fmt.Errorf("create profile %s: %w", profileOf(&k), err)
		}
	}
	for _, d := range devices {
		err := call(http.MethodPost, path+"/devices", map[string]any{
			"id": d.ID, "name": d.Name, "type": d.Kind.Name, "profile": profileOf(d.Kind), "location": d.Location, "firmware": d.Firmware, "tags": append([]string{}, d.Tags...),
		})
		if err != nil && logimport.Code(err) != "exists" {
			return fmt.Errorf("create device %s: %w", d.ID, err)
		}
	}
	return nil
}

// profileOf returns the profile ID for a kind of simulated device.
func profileOf(k *devicesim.Kind) string { return "sim-" + k.Name }

// add queues a message for the next request. A message that is not valid JSON is sent alone,
// because the server would reject the whole request.
func (to *simulatedTo) add(ctx context.Context, m *devicesim.Message) error {
	to.did.count(m)
	alone := m.Fault == devicesim.NotANumber
	if alone || to.n == sentAtOnce {
		if err := to.flush(ctx); err != nil {
			return err
		}
	}
	if alone {
		err := to.remote.Call(ctx, http.MethodPost, "/api/readings", m.AppendJSON(nil), nil)
		if err != nil && logimport.Code(err) != "bad_request" {
			return err
		}
		to.did.Outcomes[telemetry.Rejected]++
		return nil
	}
	if to.n > 0 {
		to.batch = append(to.batch, ',')
	}
	to.batch, to.n = m.AppendJSON(to.batch), to.n+1
	return nil
}

func (to *simulatedTo) flush(ctx context.Context) error {
	if to.n == 0 {
		return nil
	}
	var told struct{ Outcomes []telemetry.Outcome }
	if err := to.remote.Call(ctx, http.MethodPost, "/api/readings", append(append([]byte{'['}, to.batch...), ']'), &told); err != nil {
		return err
	}
	if len(told.Outcomes) != to.n {
		return fmt.Errorf("server: %d outcomes for %d readings", len(told.Outcomes), to.n)
	}
	for _, o := range told.Outcomes {
		if o.Reason == telemetry.UnknownDevice {
			return errors.New("no_such_device: the server does not know a device; create devices with --fleet and a key of scope write")
		}
		to.did.Outcomes[o.Status]++
	}
	to.batch, to.n = to.batch[:0], 0
	return nil
}

// startOf returns the start time: that of the flag; by default a fixed time for a file, or for a
// server the time from which the simulation ends now.
func (c *Simulate) startOf(now time.Time) (time.Time, error) {
	switch {
	case c.Start != "":
		return parseMoment(c.Start, time.UTC)
	case c.Server != "":
		return now.UTC().Add(-c.Length).Truncate(time.Second), nil
	}
	return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), nil
}
