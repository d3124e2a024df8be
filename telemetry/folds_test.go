package telemetry

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/telemetry/readings"
)

// drawReading generates a reading of one of two devices within two hours.
func drawReading(r *rand.Rand) *Reading {
	number := func(n int) Value {
		v, err := Number(fmt.Sprint(r.IntN(n)))
		if err != nil {
			panic(err)
		}
		return v
	}
	at := time.Date(2026, 4, 20, 14, 0, 0, 0, time.UTC).Add(time.Duration(r.IntN(7200_000)) * time.Millisecond)
	return &Reading{
		Key: ReadingKey{DeviceID: fmt.Sprint("d", r.IntN(2)), At: at, Disc: fmt.Sprint(r.IntN(1000))}, FleetID: "f", Arrived: at.UnixMilli() + r.Int64N(1e6),
		Values:   Values{"temp": number(200), "count": number(50), "door": Text(fmt.Sprint("s", r.IntN(3)))},
		Counters: []string{"count"}, ZoneMinutes: 60, Fine: r.IntN(2) == 0, Late: r.IntN(9) == 0, Past: r.IntN(3) == 0, ExpiresAt: at.AddDate(30, 0, 0),
	}
}

func TestMergeOfAggregates(t *testing.T) {
	foldtest.Merge(t, Aggregates, (*Aggregate).merge, func(r *rand.Rand) Aggregate {
		key := AggregateKey{"d", Hourly, "2026-04-20T14:00:00Z"}
		a := Aggregate{AggregateKey: key}
		for range r.IntN(100) {
			in := drawReading(r)
			addTo(in, &a, in.At.UnixMilli())
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

// Workers crash, pause, lose requests and take over each other's work. The derived items match an
// undisturbed run.
func TestFoldsInTheSimulator(t *testing.T) {
	folds := Folds(Config{})
	names := &calendar.HourNames{}
	foldsim.Test(t, foldsim.Scenario{
		Folds: append(folds[:2:2], folds[3:]...), // rollup marks depend on when changes were committed, which differs between the runs
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
			if err := writeReadings(w); err != nil {
				t.Fatal(err)
			}
		},
		Check: func(w *foldsim.World) error {
			counts := map[AggregateKey]int64{}
			for _, r := range writtenReadings(w.History()) {
				one := map[AggregateKey]*Aggregate{}
				addToAggregates(r, names, func(k AggregateKey) *Aggregate {
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

// writeReadings writes new readings together with some that were written before, in one or several
// blocks. Or it deletes a block, as if its readings had been moved into segments.
func writeReadings(w *foldsim.World) error {
	history := w.History()
	if len(history) > 0 && w.Rand.IntN(8) == 0 {
		w.Delete(history[w.Rand.IntN(len(history))].Key)
		return nil
	}
	var all []Reading
	for range 1 + w.Rand.IntN(4) {
		all = append(all, *drawReading(w.Rand))
	}
	for range min(w.Rand.IntN(3), len(history)) {
		for _, r := range writtenReadings(history[w.Rand.IntN(len(history)):][:1]) {
			if w.Rand.IntN(2) == 0 {
				all = append(all, *r)
			}
		}
	}
	slices.SortFunc(all, func(a, b Reading) int { return cmp.Or(cmp.Compare(a.DeviceID, b.DeviceID), a.Compare(&b.Key)) })
	all = slices.CompactFunc(all, func(a, b Reading) bool { return a.DeviceID == b.DeviceID && a.Compare(&b.Key) == 0 })
	for len(all) > 0 {
		n := 1 + w.Rand.IntN(len(all))
		blocks, err := readings.Pack(all[:n], w.Now())
		if err != nil {
			return err
		}
		for i := range blocks {
			it, err := readings.Blocks.Encode(&blocks[i])
			if err != nil {
				return err
			}
			if w.Get(it) == nil {
				w.Put(it)
			}
		}
		all = all[n:]
	}
	return nil
}

// writtenReadings returns the written readings, each as it was in the block that had it first.
func writtenReadings(history []foldsim.Write) (all []*Reading) {
	seen := map[ReadingKey]bool{}
	for _, h := range history {
		block, err := readings.Blocks.Decode(h.Item)
		if err != nil || h.Item == nil {
			continue
		}
		some, err := block.Readings()
		if err != nil {
			continue
		}
		for i := range some {
			if k := some[i].Key; !seen[k] {
				seen[k] = true
				all = append(all, &some[i])
			}
		}
	}
	return all
}
