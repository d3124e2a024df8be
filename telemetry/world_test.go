package telemetry

import (
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
)

// world is a complete in-memory installation, with a fleet, a profile and one device.
type world struct {
	*foldtest.World
	c     *Collector
	fleet Fleet
}

func newWorld(t *testing.T, zone string, at time.Time) *world {
	t.Helper()
	w := &world{World: foldtest.NewWorld(t, foldtest.Setup{
		Schema: Schema, Group: FoldGroup, At: at, Engine: engine.Options{StreamShards: 3, RollEvery: 300},
		Folds: func(t *table.Table) []*fold.Fold { return Folds(Config{Retention: FleetRetention(t)}) },
	})}
	w.c = NewCollector(w.Table, CollectorOptions{})
	var err error
	w.fleet, err = CreateFleet(w.Ctx, w.Table, NewFleet{ID: "plant", TimeZone: zone, TenMinutes: true, Limits: Limits{PerMinute: 1_000_000}})
	w.Must(err)
	_, err = PutProfile(w.Ctx, w.Table, Profile{ProfileKey: ProfileKey{"meter"}, FleetID: "plant", Metrics: []MetricDef{
		{Name: "temp", Kind: Gauge, Unit: "C", Min: "-40", Max: "125"}, {Name: "pulses", Kind: Counter}, {Name: "door", Kind: State}, {Name: "mode", Kind: State},
	}})
	w.Must(err)
	w.device("d1")
	return w
}

func (w *world) device(id string, change ...func(*NewDevice)) Device {
	w.Helper()
	n := NewDevice{ID: id, FleetID: "plant", ProfileID: "meter", Type: "sensor"}
	for _, c := range change {
		c(&n)
	}
	d, err := CreateDevice(w.Ctx, w.Table, n)
	w.Must(err)
	return d
}

func (w *world) ingest(in ...Incoming) []Outcome {
	w.Helper()
	o, err := w.c.Ingest(w.Ctx, in)
	w.Must(err)
	return o
}

// send returns a reading of d1.
func send(at time.Time, values Values) Incoming {
	return Incoming{DeviceID: "d1", At: at, Values: values}
}

func num(t testing.TB, s string) Value {
	v, err := Number(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func utc(s string) time.Time {
	at, err := time.Parse("2006-01-02T15:04", s)
	if err != nil {
		panic(err)
	}
	return at
}

func (w *world) aggregates(id string, p Period) []Aggregate {
	w.Helper()
	all, err := AggregatesByTime.Collect(w.Ctx, w.Table, AggregatesIn{DeviceID: id, Period: p})
	w.Must(err)
	return all
}
