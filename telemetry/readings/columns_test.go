package readings

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/telemetry/internal/order"
)

var (
	anyName  = rapid.OneOf(rapid.SampledFrom([]string{"temp", "pulses", "door"}), rapid.StringN(1, 20, 60))
	anyNames = rapid.OneOf(rapid.Just([]string(nil)), rapid.SliceOfN(anyName, 1, 3))
	anyValue = rapid.OneOf(
		rapid.Map(rapid.Float64Range(-1e15, 1e15), func(f float64) Value { v, _ := Float(f); return v }),              //nolint:errcheck // it is finite
		rapid.Map(rapid.IntRange(-300, 300), func(n int) Value { v, _ := Number(fmt.Sprintf("%de-1", n)); return v }), //nolint:errcheck // a number
		rapid.Map(rapid.StringN(1, 10, 30), Text), rapid.Map(rapid.Bool(), Bool),
	)
)

// anyReading generates a reading of a device, within an hour if one is given.
func anyReading(t *rapid.T, deviceID string, hour time.Time) Reading {
	r := Reading{Key: Key{DeviceID: deviceID, At: hour.Add(time.Duration(rapid.Int64Range(0, 3_599_999).Draw(t, "at")) * time.Millisecond)}, FleetID: "plant"}
	r.Values = rapid.MapOfN(anyName, anyValue, 0, 5).Draw(t, "values")
	switch rapid.IntRange(0, 3).Draw(t, "disc") {
	case 0:
		r.Disc = Unnumbered(r.Values, rapid.IntRange(1, 3).Draw(t, "nth"))
	case 1:
		r.Disc = order.Numbered(rapid.Int64Range(0, 999_999_999_999).Draw(t, "seq"), rapid.SampledFrom([]string{"", "boot-1", "x"}).Draw(t, "session"))
	default:
		r.Disc = Unnumbered(r.Values, 0)
	}
	r.Arrived = r.At.UnixMilli() + rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(-60_000, 1e10)).Draw(t, "delay")
	r.Counters, r.States, r.Void = anyNames.Draw(t, "counters"), anyNames.Draw(t, "states"), anyNames.Draw(t, "void")
	r.ZoneMinutes = rapid.IntRange(-720, 840).Draw(t, "zone")
	flags := rapid.IntRange(0, 31).Draw(t, "flags")
	r.Fine, r.Late, r.Correction, r.Past, r.Quiet = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0, flags&16 != 0
	if life := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 1e9)).Draw(t, "life"); life > 0 {
		r.ExpiresAt = time.Unix(r.At.Unix()+life, 0).UTC()
	}
	return r
}

// Everything in a reading is read as it was written, from a block and from a segment.
func TestRoundTrip(t *testing.T) {
	hour := time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		all := make([]Reading, rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, 60)).Draw(t, "readings"))
		for i := range all {
			all[i] = anyReading(t, rapid.SampledFrom([]string{"pump-1", "pump-2", "m"}).Draw(t, "device"), hour)
			all[i].Made = rapid.Int64Range(0, 2e9).Draw(t, "made")
		}
		inBlocks(t, all, hour)
		for i := range all {
			all[i].DeviceID, all[i].Made = "m", 0 // segments do not store when a device was created
		}
		all = sortReadings(all)
		inSegment(t, all, hour)
	})
}

func inBlocks(t *rapid.T, all []Reading, arrived time.Time) {
	blocks, err := Pack(all, arrived)
	if err != nil {
		t.Fatal(err)
	}
	var got []Reading
	for i := range blocks {
		some, err := blocks[i].Readings()
		if err != nil || blocks[i].Count != len(some) {
			t.Fatalf("%d of %d readings, %v", len(some), blocks[i].Count, err)
		}
		for k := range some {
			if at := some[k].At.UnixMilli(); at < blocks[i].First || at > blocks[i].Last || some[k].ExpiresAt.After(blocks[i].ExpiresAt) {
				t.Fatalf("a block from %d to %d, until %s, has %+v", blocks[i].First, blocks[i].Last, blocks[i].ExpiresAt, some[k])
			}
		}
		got = append(got, some...)
	}
	want := slices.Clone(all)
	slices.SortStableFunc(want, func(a, b Reading) int { return compareForBlock(&a, &b) })
	same(t, got, want)
}

func inSegment(t *rapid.T, all []Reading, hour time.Time) {
	body, err := segmentColumns.Append(nil, all)
	if err != nil {
		t.Fatal(err)
	}
	s := segmentOf(SegmentKey{DeviceID: "m", Hour: hourOf(hour)}, all, body)
	got, err := s.Readings()
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, all)
	sampled(t, &s, all, hour, anyName.Draw(t, "metric"))
}

// sampled checks that the samples of a metric match the readings.
func sampled(t *rapid.T, s *Segment, all []Reading, hour time.Time, metric string) {
	from := hour.UTC().Truncate(time.Hour).UnixMilli()
	got, err := s.samples(nil, metric, from, from+time.Hour.Milliseconds())
	if err != nil || len(got) != len(all) {
		t.Fatalf("%d samples of %d readings, %v", len(got), len(all), err)
	}
	for i, one := range got {
		if one.At != all[i].At.UnixMilli() || one.Value != all[i].Values[metric] {
			t.Fatalf("sample %d of %s: %+v, of readings %+v", i, metric, one, all)
		}
	}
}

func same(t *rapid.T, got, want []Reading) {
	if len(got) != len(want) {
		t.Fatalf("%d readings, not %d", len(got), len(want))
	}
	for i := range got {
		if said, must := fmt.Sprintf("%#v", got[i]), fmt.Sprintf("%#v", want[i]); said != must {
			t.Fatalf("read\n%s\nwritten\n%s", said, must)
		}
	}
}

// FuzzBlock reads any item. Items are read or rejected, and none causes a panic.
func FuzzBlock(f *testing.F) {
	all := exampleReadings(time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC), 12)
	blocks, err := Pack(all, all[0].At)
	if err != nil {
		f.Fatal(err)
	}
	body, err := segmentColumns.Append(nil, all)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(blocks[0].Body)
	f.Add(body)
	f.Fuzz(func(t *testing.T, body []byte) {
		b := Block{BlockKey: BlockKey{FleetID: "plant"}, Body: body}
		if _, err := b.Readings(); err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
		s := Segment{SegmentKey: SegmentKey{DeviceID: "m", Hour: "2026-05-12T14"}, Body: body}
		_, err := s.Readings()
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
		hour := time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC).UnixMilli()
		if _, e := s.samples(nil, "temperature", hour, hour+time.Hour.Milliseconds()); e != nil && !errors.Is(e, ErrDamaged) || err == nil && e != nil {
			t.Errorf("samples: %v, readings: %v", e, err)
		}
	})
}
