// Package lttb downsamples a curve for display with the algorithm largest triangle three buckets:
// S. Steinarsson, Downsampling Time Series for Visual Representation (2013).
package lttb

import "math"

// Point is a point of a curve. X must increase.
type Point struct{ X, Y float64 }

// Thin returns the indexes, in order, of n points that preserve the shape of the curve: the first,
// the last, and from each bucket in between the point that forms the largest triangle with the
// previously chosen point and the mean of the next bucket. n is at least 3. If there are at most n
// points, all are returned.
func Thin(points []Point, n int) []int {
	n = max(n, 3)
	chosen := make([]int, 0, min(n, len(points)))
	if len(points) <= n {
		for i := range points {
			chosen = append(chosen, i)
		}
		return chosen
	}
	width := float64(len(points)-2) / float64(n-2)
	bounds := func(bucket int) (from, to int) {
		return 1 + int(float64(bucket)*width), min(1+int(float64(bucket+1)*width), len(points)-1)
	}
	last := 0
	chosen = append(chosen, 0)
	for bucket := range n - 2 {
		from, to := bounds(bucket)
		next := points[len(points)-1]
		if bucket+1 < n-2 {
			next = mean(points[to:max(second(bounds(bucket+1)), to+1)])
		}
		best, area := from, -1.0
		for i := from; i < to; i++ {
			a, b := points[last], points[i]
			if s := math.Abs((a.X-next.X)*(b.Y-a.Y) - (a.X-b.X)*(next.Y-a.Y)); s > area {
				best, area = i, s
			}
		}
		chosen, last = append(chosen, best), best
	}
	return append(chosen, len(points)-1)
}

func second(_, b int) int { return b }

func mean(points []Point) (m Point) {
	for _, p := range points {
		m.X, m.Y = m.X+p.X, m.Y+p.Y
	}
	n := float64(len(points))
	return Point{m.X / n, m.Y / n}
}
