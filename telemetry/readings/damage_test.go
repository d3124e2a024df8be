package readings

import (
	"errors"
	"testing"
	"time"
)

// A flipped byte in a block or segment is always noticed, and intact ones are read as they were
// written.
func TestFlippedBytes(t *testing.T) {
	all := exampleReadings(time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC), 40)
	blocks, err := Pack(all, all[0].At)
	if err != nil {
		t.Fatal(err)
	}
	body, err := segmentColumns.Append(nil, all)
	if err != nil {
		t.Fatal(err)
	}
	b, s := blocks[0], segmentOf(SegmentKey{DeviceID: "pump-1", Hour: "2026-05-12T14"}, all, body)
	for _, one := range []struct {
		body []byte
		read func() ([]Reading, error)
	}{{b.Body, b.Readings}, {s.Body, s.Readings}} {
		got, err := one.read()
		if err != nil || len(got) != len(all) || got[7].Disc != all[7].Disc || got[7].Arrived != all[7].Arrived || got[7].Values["temperature"] != all[7].Values["temperature"] {
			t.Fatalf("%d readings, %v", len(got), err)
		}
		for i := range one.body {
			one.body[i] ^= 0x10
			if _, err := one.read(); !errors.Is(err, ErrDamaged) {
				t.Errorf("byte %d: %v", i, err)
			}
			one.body[i] ^= 0x10
		}
	}
}
