package telemetry_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/devicesim"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/payload"
)

// receiver is an installation that simulated devices send to.
type receiver struct {
	*foldtest.World
	collector *telemetry.Collector
}

func newReceiver(t *testing.T, s *devicesim.Simulation, at time.Time) *receiver {
	t.Helper()
	r := &receiver{World: foldtest.NewWorld(t, foldtest.Setup{
		Schema: telemetry.Schema, Group: telemetry.FoldGroup, At: at, Engine: engine.Options{StreamShards: 2, RollEvery: 500},
		Folds: func(t *table.Table) []*fold.Fold {
			return telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(t)})
		},
	})}
	r.collector = telemetry.NewCollector(r.Table, telemetry.CollectorOptions{})
	_, err := telemetry.CreateFleet(r.Ctx, r.Table, telemetry.NewFleet{ID: "sim", TimeZone: "Europe/Berlin", TenMinutes: true})
	r.Must(err)
	for _, k := range devicesim.Kinds {
		p := telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: k.Name}, FleetID: "sim"}
		for _, m := range k.Metrics {
			p.Metrics = append(p.Metrics, telemetry.MetricDef{Name: m.Name, Kind: telemetry.MetricKind(m.Kind), Unit: m.Unit})
		}
		_, err := telemetry.PutProfile(r.Ctx, r.Table, p)
		r.Must(err)
	}
	for _, d := range s.Devices() {
		_, err := telemetry.CreateDevice(r.Ctx, r.Table, telemetry.NewDevice{ID: d.ID, FleetID: "sim", ProfileID: d.Kind.Name, Tags: d.Tags})
		r.Must(err)
	}
	return r
}

// take makes messages arrive, and compares the outcome of each with its fate. The messages of one
// minute arrive together, and everything is folded every hour.
func (r *receiver) take(messages []devicesim.Message) {
	r.Helper()
	for len(messages) > 0 {
		until := messages[0].Arrives.Truncate(time.Minute).Add(time.Minute)
		n := slices.IndexFunc(messages, func(m devicesim.Message) bool { return !m.Arrives.Before(until) })
		if n < 0 {
			n = len(messages)
		}
		if until.Truncate(time.Hour).Equal(until) {
			r.Drain()
		}
		r.Set(until)
		r.atOnce(messages[:n])
		messages = messages[n:]
	}
	r.Drain()
}

func (r *receiver) atOnce(messages []devicesim.Message) {
	r.Helper()
	var readings []telemetry.Incoming
	var of []devicesim.Message
	for _, m := range messages {
		parsed, err := payload.Parse(m.AppendJSON(nil), "")
		if err != nil || parsed[0].Err != nil {
			if m.Fate != devicesim.Refused {
				r.Errorf("%s of %s (%s) cannot be read: %v", m.At, m.Device, m.Fault, err)
			}
			continue
		}
		readings, of = append(readings, parsed[0].Incoming), append(of, m)
	}
	outcomes, err := r.collector.Ingest(r.Ctx, readings)
	r.Must(err)
	for i, o := range outcomes {
		fate := devicesim.Counts
		switch o.Status {
		case telemetry.Duplicate:
			fate = devicesim.Repeats
		case telemetry.Rejected:
			fate = devicesim.Refused
		}
		if fate != of[i].Fate {
			r.Errorf("%s of %s (%s) %s, want %s: %+v", of[i].At, of[i].Device, of[i].Fault, fate, of[i].Fate, o)
		}
	}
}

// figures returns the contents of aggregates, by device, period and bucket, without the arrival
// times, which differ.
func (r *receiver) figures(devices []devicesim.Device) map[telemetry.AggregateKey][]telemetry.Figures {
	r.Helper()
	_, err := telemetry.RollUp(r.Ctx, r.Table)
	r.Must(err)
	all := map[telemetry.AggregateKey][]telemetry.Figures{}
	for _, d := range devices {
		for _, p := range []telemetry.Period{telemetry.TenMinutes, telemetry.Hourly, telemetry.Daily} {
			for a, err := range telemetry.AggregatesByTime.All(r.Ctx, r.Table, telemetry.AggregatesIn{DeviceID: d.ID, Period: p}) {
				r.Must(err)
				all[a.AggregateKey] = telemetry.FiguresOf(&a)
			}
		}
	}
	return all
}

// Whatever goes wrong on the way from the devices, the aggregates match the undisturbed series
// without the rejected readings: as if every other reading had arrived once, at once and in order of
// time.
func TestSimulatedDevices(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	o := devicesim.Options{Seed: seed, Devices: 3, Length: 30 * time.Hour, Every: 2 * time.Minute, Rate: 0.15, Start: time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)}
	s, err := devicesim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	sent := slices.Collect(s.Messages())
	messy := newReceiver(t, s, o.Start)
	messy.take(sent)

	clean := slices.Clone(sent)
	clean = slices.DeleteFunc(clean, func(m devicesim.Message) bool { return m.Fate != devicesim.Counts })
	slices.SortStableFunc(clean, func(a, b devicesim.Message) int { return a.At.Compare(b.At) })
	for i := range clean {
		clean[i].Arrives = clean[i].At
	}
	ideal := newReceiver(t, s, o.Start)
	ideal.take(clean)

	end := sent[len(sent)-1].Arrives.Add(72 * time.Hour) // when the last day is over
	messy.Set(end)
	ideal.Set(end)
	got, want := messy.figures(s.Devices()), ideal.figures(s.Devices())
	if len(want) < 400 {
		t.Fatalf("only %d aggregates to compare", len(want))
	}
	if !slices.Equal(sortedKeys(got), sortedKeys(want)) {
		t.Errorf("the buckets differ: %d, want %d", len(got), len(want))
	}
	wrong := 0
	for k := range want {
		if !reflect.DeepEqual(got[k], want[k]) {
			if wrong++; wrong <= 3 {
				t.Errorf("%v\n got %+v\nwant %+v", k, got[k], want[k])
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d aggregates differ", wrong, len(want))
	}
}

func sortedKeys(m map[telemetry.AggregateKey][]telemetry.Figures) []string {
	keys := make([]string, 0, len(m))
	for k := range maps.Keys(m) {
		keys = append(keys, k.DeviceID+" "+string(k.Period)+" "+k.Start)
	}
	slices.Sort(keys)
	return keys
}
