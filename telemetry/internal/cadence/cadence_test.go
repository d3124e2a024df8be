package cadence

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestOrderAndGroupingMakeNoDifference(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		all := make([]int64, r.IntN(100))
		for i := range all {
			all[i] = r.Int64N(1500)
		}
		var plain, merged Arrivals
		for _, at := range all {
			plain.Add(at)
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for len(all) > 0 {
			var part Arrivals
			n := 1 + r.IntN(len(all))
			for _, at := range all[:n] {
				part.Add(at)
			}
			all = all[n:]
			merged.Merge(part)
		}
		if !slices.Equal(plain, merged) {
			t.Fatalf("%v\n%v", plain, merged)
		}
	}
}

func TestRhythm(t *testing.T) {
	every := func(n int, gap ...int64) (p Arrivals) {
		at := int64(1_700_000_000)
		for i := range n {
			p.Add(at)
			at += gap[i%len(gap)]
		}
		return p
	}
	bursts := func(size, period int64) (p Arrivals) { // one per second, as when a device uploads stored readings
		for n := range int64(10) {
			for i := range size {
				p.Add(1_700_000_000 + n*period + i)
			}
		}
		return p
	}
	outage := every(20, 60)
	outage.Add(outage[len(outage)-1] + 86_400)
	for name, c := range map[string]struct {
		p    Arrivals
		want time.Duration
	}{
		"never":             {nil, 0},
		"twice":             {every(2, 60), 0},
		"every minute":      {every(24, 60), time.Minute},
		"with an outage":    {outage, time.Minute},
		"three at a time":   {every(24, 1, 1, 3598), time.Hour},
		"sixty at a time":   {bursts(60, 3600), time.Hour - 50*time.Second}, // from the end of a burst
		"with some failing": {every(24, 60, 60, 60, 60, 120), time.Minute},
	} {
		if got := c.p.Interval(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
