package telemetry

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/calendar"
)

// drawReading makes up a reading of one of two devices within two hours.
func drawReading(r *rand.Rand) *Reading {
	number := func(n int) Value { return Value{isNumber, fmt.Sprint(r.IntN(n))} }
	at := time.Date(2026, 4, 20, 14, 0, 0, 0, time.UTC).Add(time.Duration(r.IntN(7200_000)) * time.Millisecond)
	return &Reading{
		ReadingKey: ReadingKey{fmt.Sprint("d", r.IntN(2)), at, fmt.Sprint(r.IntN(1000))}, FleetID: "f", Arrived: at.UnixMilli() + r.Int64N(1e6),
		Values:   Values{"temp": number(200), "count": number(50), "door": Text(fmt.Sprint("s", r.IntN(3)))},
		Counters: []string{"count"}, ZoneMinutes: 60, Fine: r.IntN(2) == 0, Late: r.IntN(9) == 0, Past: r.IntN(3) == 0, ExpiresAt: at.Add(time.Hour),
	}
}

func TestMergeOfAggregates(t *testing.T) {
	foldtest.Merge(t, Aggregates, (*Aggregate).merge, func(r *rand.Rand) Aggregate {
		key := AggregateKey{"d", Hourly, "2026-04-20T14:00:00Z"}
		a := Aggregate{AggregateKey: key}
		for range r.IntN(100) {
			in := drawReading(r)
			in.addTo(&a, in.At.UnixMilli())
			a.Day = "2026-04-20"
		}
		return a
	})
}

func TestMergeOfStatuses(t *testing.T) {
	foldtest.Merge(t, Statuses, (*Status).Merge, func(r *rand.Rand) Status {
		s := Status{StatusKey: StatusKey{"d"}}
		for range r.IntN(40) {
			s.Add(drawReading(r))
		}
		return s
	}, (*Status).Finish)
}

// Workers crash, pause, lose requests and take each other's work; what is derived is that of a quiet run.
func TestFoldsInTheSimulator(t *testing.T) {
	folds := Folds(Config{})
	names := &calendar.HourNames{}
	foldsim.Test(t, foldsim.Scenario{
		Folds: append(folds[:2:2], folds[3:]...), // roll-up marks say when changes were committed, which two runs do not share
		Write: func(w *foldsim.World) {
			if w.Rand.IntN(10) == 0 {
				d := Device{DeviceKey: DeviceKey{fmt.Sprint("d", w.Rand.IntN(3))}, FleetID: "f", Type: fmt.Sprint(w.Rand.IntN(2)),
					Status: []DeviceStatus{Active, Inactive}[w.Rand.IntN(2)]}
				it, err := Devices.Encode(&d)
				if err != nil {
					t.Fatal(err)
				}
				w.Put(it)
				return
			}
			it, err := Readings.Encode(drawReading(w.Rand))
			if err != nil {
				t.Fatal(err)
			}
			if w.Get(it) == nil {
				w.Put(it)
			}
		},
		Check: func(w *foldsim.World) error {
			counts := map[AggregateKey]int64{}
			seen := map[ReadingKey]bool{}
			for _, h := range w.History() {
				r, err := Readings.Decode(h.Item)
				if err != nil || seen[r.ReadingKey] {
					continue
				}
				seen[r.ReadingKey] = true
				one := map[AggregateKey]*Aggregate{}
				addToAggregates(&r, names, func(k AggregateKey) *Aggregate {
					one[k] = &Aggregate{AggregateKey: k}
					return one[k]
				})
				for k := range one {
					counts[k]++
				}
			}
			items := w.Derived(Aggregates.Name())
			if len(items) != len(counts) {
				return fmt.Errorf("%d aggregates, want %d", len(items), len(counts))
			}
			for _, it := range items {
				a, err := Aggregates.Decode(it)
				if err != nil || a.Readings != counts[a.AggregateKey] {
					return fmt.Errorf("%v has %d readings, want %d (%w)", a.AggregateKey, a.Readings, counts[a.AggregateKey], err)
				}
			}
			return nil
		},
	}, 40)
}
