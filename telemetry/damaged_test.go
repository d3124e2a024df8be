package telemetry

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/onefold/onefold/telemetry/readings"
)

// A damaged block costs the device only the readings in it. Lists leave them out, items derived
// from them stay as they are, and everything else can still be verified and rebuilt.
func TestDamagedBlock(t *testing.T) {
	start := utc("2026-04-20T12:00")
	w := newWorld(t, "UTC", start.Add(30*time.Minute))
	for i := range 30 {
		w.ingest(send(start.Add(time.Duration(i)*time.Minute), Values{"temp": num(t, "20")}))
	}
	w.Drain()
	damage(w)
	w.Advance(24 * time.Hour) // until 12:30 on the next day
	w.every(start.Add(24*time.Hour), time.Minute, 10, func(i int) Values { return Values{"temp": num(t, "21")} })
	w.Drain()
	before := w.aggregates("d1", Hourly)

	if _, err := MoveReadings(w.Ctx, w.Table); !errors.Is(err, ErrDamaged) {
		t.Errorf("move: %v", err)
	}
	if _, err := (ReadingsIn{DeviceID: "d1"}).Collect(w.Ctx, w.Table); !errors.Is(err, ErrDamaged) {
		t.Errorf("all readings: %v", err)
	}
	if all, err := (ReadingsIn{DeviceID: "d1", Partial: true}).Collect(w.Ctx, w.Table); err != nil || len(all) != 39 {
		t.Errorf("%d readings can be read, %v", len(all), err)
	}
	for _, compare := range []func() (Differences, error){
		func() (Differences, error) { return Verify(w.Ctx, w.Table, w.Worker, "d1", start, w.Now()) },
		func() (Differences, error) { return Rebuild(w.Ctx, w.Table, w.Worker, "d1", start, w.Now()) },
	} {
		if found, err := compare(); !errors.Is(err, ErrSealed) || found.SealedItems != 4 || found.Count != 0 || found.Readings < 10 {
			t.Errorf("%+v, %v", found, err)
		}
	}
	if found, err := Verify(w.Ctx, w.Table, w.Worker, "d1", start.Add(24*time.Hour), w.Now()); err != nil || found.Readings < 10 {
		t.Errorf("the day after: %+v, %v", found, err)
	}
	if after := w.aggregates("d1", Hourly); !reflect.DeepEqual(after, before) {
		t.Errorf("aggregates were %+v, are %+v", before, after)
	}
}

// damage flips a byte of the first waiting block.
func damage(w *world) {
	w.Helper()
	shard := readings.ShardIn{FleetID: "plant", Shard: readings.ShardOf("d1")}
	blocks, err := readings.WaitingBlocks.Collect(w.Ctx, w.Table, shard)
	w.Must(err)
	bad := blocks[0]
	bad.Body[len(bad.Body)/2] ^= 0x10
	w.Must(readings.Blocks.Delete(w.Ctx, w.Table, bad.BlockKey))
	w.Must(readings.Blocks.Create(w.Ctx, w.Table, &bad))
}
