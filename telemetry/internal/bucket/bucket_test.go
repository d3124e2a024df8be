package bucket

import (
	"bytes"
	"testing"

	"github.com/onefold/onefold/telemetry/internal/exact"
)

func sample(t testing.TB) (m Metrics) {
	for i := range 100 {
		m.At("temp", Gauge).Number(int64(i*1000), exact.Of(int64(i%70)))
		m.At("pulses", Counter).Number(int64(i*1000), exact.Of(int64(i*i%997)))
		m.At("door", State).Named(int64(i*1000), []string{"open", "shut"}[i%3%2])
	}
	m.At("pulses", Counter).Settle(m.At("pulses", Counter).Track.Run())
	return m
}

func TestEncoding(t *testing.T) {
	m := sample(t)
	b := m.Append(nil)
	back, err := Decode(b)
	if err != nil || !bytes.Equal(back.Append(nil), b) || len(back) != 3 {
		t.Fatalf("%d metrics, %v", len(back), err)
	}
	for n := range b { // cut off anywhere, it is an error and nothing worse
		if _, err := Decode(b[:n]); err == nil && n > 0 {
			t.Errorf("the first %d of %d bytes are read", n, len(b))
		}
	}
	if _, err := Decode(append(b, 0)); err == nil {
		t.Error("a byte too many is read")
	}
	b[0] = 99
	if _, err := Decode(b); err == nil {
		t.Error("another format is read")
	}
}

// A counter whose run is of fewer readings than it counts has none.
func TestWhole(t *testing.T) {
	m := sample(t)
	pulses := m.At("pulses", Counter)
	if _, known := pulses.Whole(); !known {
		t.Error("it was settled")
	}
	pulses.Track.GiveUp()
	if r, known := pulses.Whole(); !known || r.N == 0 {
		t.Error("it was settled, before it gave its points up")
	}
	pulses.Number(200_000, exact.Of(5))
	if _, known := pulses.Whole(); known {
		t.Error("a reading has come since")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sample(f).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		var other Metrics
		other.Merge(m)
		other.Merge(sample(t))
	})
}
