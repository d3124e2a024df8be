package vitals

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A threshold counts as better, and the next value as worse.
func TestThresholds(t *testing.T) {
	for _, m := range Metrics {
		s := m.Scale()
		for value, want := range map[float64]Summary{
			0: {Good: 1}, s.Good: {Good: 1}, math.Nextafter(s.Good, math.Inf(1)): {NeedsImprovement: 1},
			s.Poor: {NeedsImprovement: 1}, math.Nextafter(s.Poor, math.Inf(1)): {Poor: 1}, 1e9: {Poor: 1},
		} {
			got := Of(m, value).Summary(m)
			if want.Count = 1; got.Good != want.Good || got.NeedsImprovement != want.NeedsImprovement || got.Poor != want.Poor || got.Count != 1 {
				t.Errorf("%s %v: %+v, want %+v", s.Name, value, got, want)
			}
			if good := got.P75 <= s.Good; good != (want.Good == 1) {
				t.Errorf("%s %v: p75 is %v", s.Name, value, got.P75)
			}
			if poor := got.P75 > s.Poor; poor != (want.Poor == 1) {
				t.Errorf("%s %v: p75 is %v", s.Name, value, got.P75)
			}
		}
	}
}

// within limits a value to what is known of it: values beyond the outer buckets count as the bounds
// of these.
func (s Scale) within(value float64) float64 {
	if value <= s.Good*math.Pow(s.width(), lowest) {
		return 0
	}
	return min(value, s.Good*math.Pow(s.width(), highest))
}

// The percentile is within 5% of the exact one within the range of the buckets, and shares are
// exact.
func TestSummaryAgainstSortedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		m := rapid.SampledFrom(Metrics[:]).Draw(t, "metric")
		s := m.Scale()
		values := make([]float64, rapid.IntRange(1, 300).Draw(t, "n"))
		var h Histograms
		good := int64(0)
		for i := range values {
			values[i] = s.Good * math.Exp(2*r.NormFloat64())
			h = h.Plus(Of(m, values[i]), +1)
			if values[i] <= s.Good {
				good++
			}
		}
		slices.Sort(values)
		exact := s.within(values[(3*len(values)+3)/4-1])
		got := h.Summary(m)
		if math.Abs(got.P75-exact) > 0.05*exact || got.Good != good || got.Count != int64(len(values)) {
			t.Fatalf("%s: %+v, exact %v and %d good", s.Name, got, exact, good)
		}
	})
}

// Adding and subtracting in any order gives the same text, and nothing is left of what was
// subtracted.
func TestHistogramsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Custom(func(t *rapid.T) Histograms {
			m := rapid.SampledFrom(Metrics[:]).Draw(t, "metric")
			return Of(m, m.Scale().Good*rapid.Float64Range(0, 200).Draw(t, "of good"))
		})
		all := rapid.SliceOfN(one, 1, 40).Draw(t, "measured")
		var want, got, again Histograms
		for _, h := range all {
			want = want.Plus(h, +1)
		}
		for _, h := range rapid.Permutation(all).Draw(t, "order") {
			got = got.Plus(h, +1)
		}
		if got != want {
			t.Fatalf("%x is not %x", got, want)
		}
		half := len(all) / 2
		var left, right Histograms
		for i, h := range all {
			if i < half {
				left = left.Plus(h, +1)
			} else {
				right = right.Plus(h, +1)
			}
		}
		if left.Plus(right, +1) != want || want.Plus(right, -1) != left {
			t.Fatal("parts do not add up")
		}
		if again = want.Plus(want, -1); again != "" {
			t.Fatalf("%x is left", again)
		}
		if parsed, err := Parse([]byte(want)); err != nil || parsed != want {
			t.Fatalf("%x: %x, %v", want, parsed, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{1, 1, 48, 2})
	f.Add([]byte{1, 2, 48, 2, 0, 2})
	f.Add([]byte{3, 200, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Parse(b)
		if again, errAgain := Parse([]byte(h)); err == nil && (errAgain != nil || again != h) {
			t.Errorf("%x becomes %x", h, again)
		}
	})
}
