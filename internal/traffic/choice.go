package traffic

import (
	"math"
	"math/rand/v2"
	"sort"
)

// choice draws values by weight.
type choice[T any] struct {
	values []T
	sums   []float64 // sums[i] is the weight of values[0..i]
}

// weighted is a value and its relative weight.
type weighted[T any] struct {
	weight float64
	value  T
}

func newChoice[T any](of []weighted[T]) choice[T] {
	var c choice[T]
	sum := 0.0
	for _, w := range of {
		sum += w.weight
		c.values = append(c.values, w.value)
		c.sums = append(c.sums, sum)
	}
	return c
}

func (c choice[T]) draw(r *rand.Rand) T {
	return c.values[c.index(r)]
}

func (c choice[T]) index(r *rand.Rand) int {
	x := r.Float64() * c.sums[len(c.sums)-1]
	return min(sort.SearchFloat64s(c.sums, x), len(c.values)-1)
}

// geometric draws from a geometric distribution that starts at 1, with the given mean.
func geometric(r *rand.Rand, mean float64) int {
	if mean <= 1 {
		return 1
	}
	// The inverse of the distribution function 1-(1-p)^n with p = 1/mean.
	return 1 + int(math.Log1p(-r.Float64())/math.Log1p(-1/mean))
}

// poisson draws from a Poisson distribution with the given mean.
func poisson(r *rand.Rand, mean float64) int {
	if mean > 50 {
		return max(0, int(math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	n, product, limit := 0, r.Float64(), math.Exp(-mean)
	for product > limit {
		product *= r.Float64()
		n++
	}
	return n
}
