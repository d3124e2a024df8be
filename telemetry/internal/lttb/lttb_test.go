package lttb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestThin(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		points := make([]Point, r.IntN(500))
		for i := range points {
			points[i] = Point{float64(i), r.NormFloat64()}
		}
		n := 3 + r.IntN(200)
		chosen := Thin(points, n)
		if len(chosen) != min(n, len(points)) || !slices.IsSorted(chosen) || len(slices.Compact(slices.Clone(chosen))) != len(chosen) {
			t.Fatalf("%d of %d points: %v", n, len(points), chosen)
		}
		if len(points) > 0 && (chosen[0] != 0 || chosen[len(chosen)-1] != len(points)-1) {
			t.Fatalf("the ends are %d and %d", chosen[0], chosen[len(chosen)-1])
		}
	}
}

// A peak of a single reading is kept.
func TestPeaksStay(t *testing.T) {
	points := make([]Point, 10_000)
	for i := range points {
		points[i] = Point{float64(i), math.Sin(float64(i) / 500)}
	}
	points[4321].Y, points[8765].Y = 50, -50
	chosen := Thin(points, 100)
	if !slices.Contains(chosen, 4321) || !slices.Contains(chosen, 8765) {
		t.Error("a peak is lost")
	}
}
