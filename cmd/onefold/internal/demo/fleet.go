package demo

import (
	"context"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/internal/devicesim"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/payload"
)

// FleetID is the ID of the demo's fleet. FleetDays is the length of its generated past.
const (
	FleetID   = "cold-chain"
	FleetDays = 7
)

const (
	inHall         = 6 // devices of each kind in a hall
	silence        = 3 * time.Hour
	readingsAtOnce = 150 // half an hour of a batch, so that no reading is late
)

// Fleet is the fleet of the demo: two halls with cold rooms, meters and pumps. Yesterday a door in
// the first hall was open for two hours. A door in the second is open now, and one of its pumps is
// silent.
type Fleet struct {
	now       time.Time // end of the generated past
	halls     []*devicesim.Simulation
	silent    string // ID of the silent device
	collector *telemetry.Collector
	past      *table.Table // a table whose clock follows the generated readings, so that they arrive on time
	clock     time.Time
}

// NewFleet returns a fleet whose past of so many days ends now.
func NewFleet(seed uint64, now time.Time, days int) (*Fleet, error) {
	now = now.UTC().Truncate(time.Minute)
	f := &Fleet{now: now, silent: "south-pump-2", clock: now.AddDate(0, 0, -days)}
	for i, hall := range []struct {
		prefix   string
		incident time.Time
	}{{"north-", now.AddDate(0, 0, -1)}, {"south-", now.Add(-45 * time.Minute)}} {
		sim, err := devicesim.New(devicesim.Options{
			Seed: seed + uint64(i), Prefix: hall.prefix, Devices: inHall, Start: f.clock, Length: -1, Every: time.Minute,
			Rate: 0.0005, Faults: []devicesim.Fault{devicesim.SentTwice, devicesim.WasOffline, devicesim.ClockNeverOn}, Incident: hall.incident,
		})
		if err != nil {
			return nil, err
		}
		f.halls = append(f.halls, sim)
	}
	return f, nil
}

// Create creates the fleet, its profiles, devices and rules.
func (f *Fleet) Create(ctx context.Context) error {
	if _, err := telemetry.CreateFleet(ctx, f.past, telemetry.NewFleet{ID: FleetID, Name: "Cold chain", TimeZone: "Europe/Berlin", TenMinutes: true}); err != nil {
		return err
	}
	for i := range devicesim.Kinds {
		if _, err := telemetry.PutProfile(ctx, f.past, profileOf(&devicesim.Kinds[i])); err != nil {
			return err
		}
	}
	for _, hall := range f.halls {
		for _, d := range hall.Devices() {
			_, err := telemetry.CreateDevice(ctx, f.past, telemetry.NewDevice{
				ID: d.ID, FleetID: FleetID, Name: strings.ToUpper(d.Name[:1]) + d.Name[1:], Type: d.Kind.Name, ProfileID: d.Kind.Name, Location: d.Location, Firmware: d.Firmware, Tags: d.Tags,
			})
			if err != nil {
				return err
			}
		}
	}
	for _, r := range rules() {
		r.FleetID, r.Scope = FleetID, telemetry.ForProfile
		if _, err := alerts.CreateRule(ctx, f.past, r); err != nil {
			return err
		}
	}
	return nil
}

func profileOf(k *devicesim.Kind) telemetry.Profile {
	p := telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: k.Name}, FleetID: FleetID, Every: 60}
	for _, m := range k.Metrics {
		p.Metrics = append(p.Metrics, telemetry.MetricDef{Name: m.Name, Kind: telemetry.MetricKind(m.Kind), Unit: m.Unit})
	}
	return p
}

// rules returns alert rules that suit cold storage of food.
func rules() []telemetry.Rule {
	of := func(profile, id string) telemetry.RuleKey { return telemetry.RuleKey{ScopeID: profile, RuleID: id} }
	return []telemetry.Rule{
		{RuleKey: of("coldroom", "too-warm"), Name: "Too warm", Metric: "temperature", Raise: "8", Clear: "6", For: 600, KeepFor: 900, Severity: telemetry.Critical},
		{RuleKey: of("meter", "high-load"), Name: "High load", Metric: "power", Over: telemetry.Hourly, Function: "mean", Raise: "1103", Severity: telemetry.Info},
		{RuleKey: of("pump", "silent"), Name: "Silent", NoData: true, For: 900, Severity: telemetry.Warning},
	}
}

// Open connects the devices to a table.
func (f *Fleet) Open(t *table.Table) {
	f.collector = telemetry.NewCollector(t, telemetry.CollectorOptions{})
	f.past = table.New(t.API(), t.Name(), table.Options{Clock: func() time.Time { return f.clock }})
}

// Fill stores the readings up to now, and returns their number.
func (f *Fleet) Fill(ctx context.Context) (sent int, err error) {
	began := f.clock
	for i := range f.halls {
		f.clock = began
		collector := telemetry.NewCollector(f.past, telemetry.CollectorOptions{})
		batch := make([]telemetry.Incoming, 0, readingsAtOnce)
		for m := range f.halls[i].Messages() {
			past := !m.Arrives.After(f.now)
			if past && (m.Device != f.silent || f.now.Sub(m.Arrives) > silence) {
				f.clock, batch = m.Arrives, append(batch, incoming(&m)...)
			}
			if past && len(batch) < readingsAtOnce {
				continue
			}
			if _, err := collector.Ingest(ctx, batch); err != nil {
				return sent, err
			}
			sent, batch = sent+len(batch), batch[:0]
			if !past {
				break
			}
		}
	}
	return sent, nil
}

// incoming returns the readings of a message, none if it is malformed.
func incoming(m *devicesim.Message) []telemetry.Incoming {
	readings, err := payload.Parse(m.AppendJSON(nil), "")
	if err != nil || len(readings) != 1 || readings[0].Err != nil {
		return nil
	}
	return []telemetry.Incoming{readings[0].Incoming}
}

// Live returns a function for each hall that sends readings as they happen until its context ends.
func (f *Fleet) Live() []func(context.Context) error {
	all := make([]func(context.Context) error, len(f.halls))
	for hall := range all {
		all[hall] = func(ctx context.Context) error { return f.live(ctx, hall) }
	}
	return all
}

func (f *Fleet) live(ctx context.Context, hall int) error {
	for m := range f.halls[hall].Messages() {
		if !m.Arrives.After(f.now) || m.Device == f.silent {
			continue
		}
		if err := backoff.For(ctx, time.Until(m.Arrives)); err != nil {
			return err
		}
		if _, err := f.collector.Ingest(ctx, incoming(&m)); err != nil {
			return err
		}
	}
	return nil
}
