package recount_test

import (
	"math/rand/v2"
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
	"github.com/onefold/onefold/telemetry/presence"
	"github.com/onefold/onefold/telemetry/recount"
)

const fleetID = "sim"

// world is a fleet whose readings arrived late, twice, out of order or as imports of the past. Some
// of them are retracted.
type world struct {
	*foldtest.World
	collector *telemetry.Collector
	rand      *rand.Rand
	devices   []string
}

func newWorld(t *testing.T, seed uint64, length time.Duration) *world {
	t.Helper()
	o := devicesim.Options{Seed: seed, Devices: 4, Length: length, Every: 10 * time.Minute, Rate: 0.2, Start: time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)}
	s, err := devicesim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{rand: rand.New(rand.NewPCG(seed, 1)), World: foldtest.NewWorld(t, foldtest.Setup{
		Schema: recount.Schema, Group: telemetry.FoldGroup, At: o.Start, Engine: engine.Options{StreamShards: 2, RollEvery: 500},
		Folds: func(t *table.Table) []*fold.Fold {
			return telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(t)})
		},
	})}
	w.collector = telemetry.NewCollector(w.Table, telemetry.CollectorOptions{})
	for _, id := range []string{fleetID, "other"} {
		_, err := telemetry.CreateFleet(w.Ctx, w.Table, telemetry.NewFleet{ID: id, TimeZone: "Europe/Berlin", TenMinutes: true})
		w.Must(err)
	}
	for _, k := range devicesim.Kinds {
		p := telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: k.Name}, FleetID: fleetID}
		for _, m := range k.Metrics {
			p.Metrics = append(p.Metrics, telemetry.MetricDef{Name: m.Name, Kind: telemetry.MetricKind(m.Kind), Unit: m.Unit})
		}
		_, err := telemetry.PutProfile(w.Ctx, w.Table, p)
		w.Must(err)
	}
	for _, d := range s.Devices() {
		w.create(fleetID, d.ID, d.Kind.Name, d.Tags)
		w.devices = append(w.devices, d.ID)
	}
	slices.Sort(w.devices)
	w.create(fleetID, "unheard", "", nil)
	w.create("other", "elsewhere", "", nil)
	w.take(slices.Collect(s.Messages()))
	w.disorder(o.Start, length)
	w.settle()
	return w
}

func (w *world) create(fleet, id, profile string, tags []string) {
	w.Helper()
	_, err := telemetry.CreateDevice(w.Ctx, w.Table, telemetry.NewDevice{ID: id, FleetID: fleet, ProfileID: profile, Tags: tags})
	w.Must(err)
}

// take makes messages arrive, in groups of ten minutes.
func (w *world) take(messages []devicesim.Message) {
	w.Helper()
	for len(messages) > 0 {
		until := messages[0].Arrives.Truncate(10 * time.Minute).Add(10 * time.Minute)
		n := slices.IndexFunc(messages, func(m devicesim.Message) bool { return !m.Arrives.Before(until) })
		if n < 0 {
			n = len(messages)
		}
		w.Set(until)
		var readings []telemetry.Incoming
		for _, m := range messages[:n] {
			if parsed, err := payload.Parse(m.AppendJSON(nil), ""); err == nil && parsed[0].Err == nil {
				readings = append(readings, parsed[0].Incoming)
			}
		}
		_, err := w.collector.Ingest(w.Ctx, readings)
		w.Must(err)
		if messages = messages[n:]; w.rand.IntN(20) == 0 {
			w.Drain()
			_, err := presence.Sweep(w.Ctx, w.Table, time.Time{})
			w.Must(err)
		}
	}
}

// disorder imports readings of the past, and retracts some.
func (w *world) disorder(start time.Time, length time.Duration) {
	w.Helper()
	at := func() time.Time { return start.Add(time.Duration(w.rand.Int64N(int64(length)))).Truncate(time.Second) }
	for _, id := range append(w.devices, "elsewhere") {
		var past []telemetry.Incoming
		for range 5 + w.rand.IntN(20) {
			v, err := telemetry.Float(float64(w.rand.IntN(1000)) / 8)
			w.Must(err)
			past = append(past, telemetry.Incoming{DeviceID: id, At: at().AddDate(0, 0, -w.rand.IntN(3)), Values: telemetry.Values{"imported": v, "door": telemetry.Bool(w.rand.IntN(2) == 0)}})
		}
		past = append(past, past[0])
		_, _, err := w.collector.Import(w.Ctx, past, telemetry.ImportOptions{})
		w.Must(err)
		for range w.rand.IntN(3) {
			from := at()
			x := telemetry.Retraction{RetractionKey: telemetry.RetractionKey{DeviceID: id}, From: from, To: from.Add(time.Duration(1+w.rand.IntN(300)) * time.Minute)}
			if w.rand.IntN(2) == 0 {
				x.Metrics = []string{"imported"}
			}
			made, err := telemetry.Retract(w.Ctx, w.Table, x)
			w.Must(err)
			if w.rand.IntN(3) == 0 {
				w.Must(telemetry.Lift(w.Ctx, w.Table, made.RetractionKey))
			}
		}
	}
}

// settle lets three days pass, in which retractions are applied and days are rolled up.
func (w *world) settle() {
	w.Helper()
	w.Advance(72 * time.Hour)
	for _, id := range append(w.devices, "elsewhere") {
		_, err := telemetry.ApplyRetractions(w.Ctx, w.Table, w.Worker, id)
		w.Must(err)
	}
	w.Drain() // a sweep reads statuses, which may not be folded yet
	_, err := presence.Sweep(w.Ctx, w.Table, time.Time{})
	w.Must(err)
	w.rollUp()
}

// rollUp rolls days up until none is waiting, because what a rollup writes marks days again.
func (w *world) rollUp() {
	w.Helper()
	for range 5 {
		w.Drain()
		did, err := telemetry.RollUp(w.Ctx, w.Table)
		w.Must(err)
		if did.Days == 0 {
			return
		}
	}
	w.Fatal("days keep waiting for a roll-up")
}

func (w *world) verify(in recount.RangeIn) recount.Differences {
	w.Helper()
	found, err := recount.Verify(w.Ctx, w.Table, w.Worker, in, nil)
	w.Must(err)
	if len(found.Busy) > 0 || found.Waiting > 0 || found.SealedItems > 0 {
		w.Errorf("busy %v, %d waiting, sealed %v", found.Busy, found.Waiting, found.Sealed)
	}
	return found
}
