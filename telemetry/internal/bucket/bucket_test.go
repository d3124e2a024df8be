package bucket

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/onefold/onefold/telemetry/internal/counterseries"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/order"
	"github.com/onefold/onefold/telemetry/internal/quantiles"
)

func sample(t testing.TB) (m Metrics) {
	for i := range 100 {
		m.At("temp", Gauge).Number(order.Position{At: int64(i * 1000)}, decimalsum.Of(int64(i%70)))
		m.At("pulses", Counter).Number(order.Position{At: int64(i * 1000)}, decimalsum.Of(int64(i*i%997)))
		m.At("door", State).Named(order.Position{At: int64(i * 1000)}, []string{"open", "shut"}[i%3%2], counterseries.Text)
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
	for n := range b { // truncated data gives an error and nothing worse
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

// A counter whose run has fewer readings than its count is not whole.
func TestIncompleteCounterRun(t *testing.T) {
	m := sample(t)
	pulses := m.At("pulses", Counter)
	if _, known := pulses.Whole(); !known {
		t.Error("it was settled")
	}
	pulses.Track.GiveUp()
	if r, known := pulses.Whole(); !known || r.N == 0 {
		t.Error("it was settled, before it gave its points up")
	}
	pulses.Number(order.Position{At: 200_000}, decimalsum.Of(5))
	if _, known := pulses.Whole(); known {
		t.Error("a reading has come since")
	}
}

// A bucket is the same in whatever order and groups its values are counted, and it is small enough
// to store.
func TestManyMetricsFit(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, n := range []int{3, 64, 65, 300, 1000} {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		values := make([]sent, 0, n*80)
		for i := range n {
			for range 1 + r.IntN(160) {
				values = append(values, draw(t, r, i))
			}
		}
		var whole Metrics
		for _, v := range values {
			v.add(&whole)
		}
		whole.Fit()
		r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		var merged Metrics
		for len(values) > 0 {
			var part Metrics
			k := 1 + r.IntN(min(len(values), 2000))
			for _, v := range values[:k] {
				v.add(&part)
			}
			if values = values[k:]; r.IntN(2) == 0 {
				part.Fit()
			}
			if merged.Merge(part); r.IntN(2) == 0 {
				merged.Fit()
			}
		}
		merged.Fit()
		a, b := whole.Append(nil), merged.Append(nil)
		if !bytes.Equal(a, b) {
			t.Errorf("%d metrics: %d bytes of all at once, %d bytes of parts", n, len(a), len(b))
		}
		const most = 380 << 10
		if t.Logf("%d metrics: %d bytes", n, len(a)); len(a) > most {
			t.Errorf("%d metrics: %d bytes", n, len(a))
		}
	}
}

// sent is a value of one of the thousand metrics that a device may have.
type sent struct {
	name  string
	kind  Kind
	place order.Position
	v     decimalsum.Decimal
	text  string
	form  counterseries.Form
}

func draw(t *testing.T, r *rand.Rand, i int) sent {
	t.Helper()
	s := sent{name: fmt.Sprintf("measurement_%d.field_usage_percent{cpu=cpu-total,n=%d}", i/10, i), kind: Gauge, place: order.Position{At: 1778594400000 + r.Int64N(3600_000)}}
	if r.IntN(2) == 0 {
		s.place.Nth = 1 + r.Int64N(1e12)
	}
	if r.IntN(2) == 0 {
		s.place.Tie = r.Uint32()
	}
	switch i % 10 {
	case 3, 4:
		s.kind = Counter
	case 5:
		s.kind, s.text, s.form = State, fmt.Sprintf("a state that has a name, number %d", r.IntN(40)), counterseries.Form(r.IntN(3))
		return s
	}
	d, err := decimalsum.ParseFloat(r.Float64() * float64(1+r.IntN(100000)))
	if err != nil {
		t.Fatal(err)
	}
	s.v = d
	return s
}

func (s *sent) add(to *Metrics) {
	if s.kind == State {
		to.At(s.name, s.kind).Named(s.place, s.text, s.form)
		return
	}
	to.At(s.name, s.kind).Number(s.place, s.v)
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

// Only decodes one metric as Decode does, whatever surrounds it, and rejects what Decode rejects.
func TestOnlyDecodesOneMetric(t *testing.T) {
	m := sample(t)
	m.At("temp", State).Named(order.Position{At: 5}, "broken", counterseries.Text)
	for i := range 10 {
		m.At("temp", Counter).Number(order.Position{At: int64(i)}, decimalsum.Of(int64(i)))
		m.At("few", Gauge).Number(order.Position{At: int64(i), Nth: 3, Tie: 7}, decimalsum.Of(int64(i)))
	}
	b := Encoded(m.Append(nil))
	for _, name := range []string{"temp", "pulses", "door", "few", "none"} {
		for _, spread := range []bool{true, false} {
			var want Metrics
			for _, one := range m {
				if one.Name == name {
					if !spread {
						one.Spread = quantiles.Spread{}
					}
					want = append(want, one)
				}
			}
			got, err := b.Only(name, spread)
			if err != nil || !bytes.Equal(got.Append(nil), want.Append(nil)) {
				t.Errorf("%s, spread %v: %d kinds, %v, want %d", name, spread, len(got), err, len(want))
			}
		}
		for n := range b {
			if _, err := b[:n].Only(name, true); err == nil && n > 0 {
				t.Errorf("%s in the first %d of %d bytes is read", name, n, len(b))
			}
		}
		if _, err := Encoded(append(bytes.Clone(b), 0)).Only(name, true); err == nil {
			t.Errorf("%s is read with a byte too many", name)
		}
	}
}
