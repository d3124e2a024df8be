package quantiles

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/onefold/onefold/internal/varint"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
)

func number(t *testing.T, s string) decimalsum.Decimal {
	t.Helper()
	d, err := decimalsum.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// draw generates values: few or many different ones, of both signs, over a small or large range of
// powers of ten.
func draw(t *testing.T, r *rand.Rand) []decimalsum.Decimal {
	different, wide := 1+r.IntN(200), r.IntN(2) == 0
	pool := make([]decimalsum.Decimal, different)
	for i := range pool {
		s := fmt.Sprintf("%d.%02d", r.IntN(400)-100, r.IntN(100))
		if wide {
			s = fmt.Sprintf("%de%d", r.IntN(2000)-500, r.IntN(60)-30)
		}
		pool[i] = number(t, s)
	}
	values := make([]decimalsum.Decimal, r.IntN(400))
	for i := range values {
		values[i] = pool[r.IntN(different)]
	}
	return values
}

// The result does not depend on how values are ordered, grouped and merged, on being fitted to
// decreasing sizes, or on being encoded and decoded in between.
func TestOrderAndGroupingMakeNoDifference(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		values, bytes := draw(t, r), 8<<r.IntN(11)
		var plain Spread
		for _, v := range values {
			plain.Add(v)
		}
		plain.Fit(bytes)
		r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		var merged Spread
		for len(values) > 0 {
			var part Spread
			n := 1 + r.IntN(len(values))
			for _, v := range values[:n] {
				part.Add(v)
			}
			values = values[n:]
			if r.IntN(2) == 0 {
				part.Fit(bytes << r.IntN(4))
			}
			in := varint.NewReader(part.Append(nil))
			if part = Read(&in); in.Failed() || in.More() {
				t.Fatal("an encoding is not read back")
			}
			if r.IntN(2) == 0 {
				merged, part = part, merged
			}
			merged.Merge(&part)
		}
		merged.Fit(bytes)
		if a, b := plain.Append(nil), merged.Append(nil); string(a) != string(b) {
			t.Fatalf("%x\n%x", a, b)
		}
	}
}

// Percentiles match the sorted values: exactly while there are few, and otherwise within the given
// error.
func TestPercentiles(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	sketched := 0
	for range 200 {
		n := 1 + r.IntN(300)
		values := make([]decimalsum.Decimal, n)
		different := map[string]bool{}
		var s Spread
		for i := range values {
			values[i] = number(t, fmt.Sprintf("%d.%d", r.IntN(3000)-1000, r.IntN(3)*r.IntN(10)))
			if r.IntN(2) == 0 {
				values[i] = decimalsum.Of(int64(r.IntN(7)))
			}
			different[values[i].String()] = true
			s.Add(values[i])
		}
		slices.SortFunc(values, func(a, b decimalsum.Decimal) int { return a.Cmp(&b) })
		if s.Exact() != (len(different) <= maxDistinct) || s.Exact() != (s.Error() == 0) {
			t.Fatalf("%d different values: exact is %v, error %v", len(different), s.Exact(), s.Error())
		}
		if r.IntN(2) == 0 {
			s.Fit(200 + r.IntN(500))
		}
		for _, p := range []float64{1, 25, 50, 90, 95, 99, 99.9, 100} {
			want := values[int(math.Ceil(p/100*float64(n)-1e-9))-1]
			got, ok := s.Percentile(p)
			if !ok || s.Exact() && got.Cmp(&want) != 0 || math.Abs(got.Float()-want.Float()) > s.Error()*1.0001*math.Abs(want.Float()) {
				t.Fatalf("p%v of %d values is %s, want %s (error: %v)", p, n, got, want, s.Error())
			}
		}
		if !s.Exact() {
			sketched++
		}
	}
	if sketched == 0 || sketched == 200 {
		t.Errorf("%d of 200 were sketched", sketched)
	}
	var none Spread
	if _, ok := none.Percentile(50); ok {
		t.Error("nothing has a median")
	}
}

// A spread stays small, whatever the magnitudes of its values.
func TestSpreadIsBounded(t *testing.T) {
	var s Spread
	for exponent := -38; exponent < 38; exponent++ {
		for digit := 1; digit < 100; digit++ {
			for _, sign := range []string{"", "-"} {
				s.Add(number(t, fmt.Sprintf("%s%de%d", sign, digit, exponent)))
			}
		}
	}
	if n := len(s.Append(nil)); n > 4<<10 {
		t.Errorf("%d bytes", n)
	}
	if p, _ := s.Percentile(100); math.Abs(p.Float()/99e37-1) > s.Error()*1.0001 {
		t.Errorf("the greatest value is %s", p)
	}
}

// Joined bins have exactly the error that they report.
func TestErrorOfJoinedBins(t *testing.T) {
	var s Spread
	for i := range 1000 {
		s.Add(number(t, fmt.Sprintf("%d", i+1)))
	}
	last := s.Error()
	if math.Abs(last-Accuracy) > 1e-9 {
		t.Errorf("error %v", last)
	}
	for _, bytes := range []int{400, 200, 100} {
		s.Fit(bytes)
		n := len(s.Append(nil))
		if p, _ := s.Percentile(50); s.Error() <= last || math.Abs(p.Float()-500) > s.Error()*500 || n > bytes+10 {
			t.Errorf("%d bytes: error %v, median %s, %d bytes", bytes, s.Error(), p, n)
		}
		last = s.Error()
	}
}

func FuzzRead(f *testing.F) {
	var s Spread
	s.Add(decimalsum.Of(3))
	f.Add(s.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		in := varint.NewReader(b)
		s := Read(&in)
		s.Percentile(50)
	})
}
