package enginebench

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// side is one side of a comparison: a single operation of a worker. Workers are numbered from 0; n
// counts a worker's calls over all runs.
type side func(ctx context.Context, worker, n int) error

// pace is the result of a run.
type pace struct {
	rate float64 // operations per second
	cpu  float64 // CPU time per operation in µs, including background work
}

// turn lets the workers repeat their operation for the duration d.
func (b *bench) turn(ctx context.Context, workers int, counts []int, d time.Duration, do side) (pace, error) {
	var stop atomic.Bool
	var mu sync.Mutex
	var failed error
	var wait sync.WaitGroup
	total := 0
	for _, c := range counts {
		total -= c
	}
	began, cpu := time.Now(), b.o.CPUSeconds()
	timer := time.AfterFunc(d, func() { stop.Store(true) })
	defer timer.Stop()
	for w := range workers {
		wait.Go(func() {
			n := counts[w]
			for !stop.Load() && ctx.Err() == nil {
				if err := do(ctx, w, n); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					stop.Store(true)
					break
				}
				n++
			}
			counts[w] = n
		})
	}
	wait.Wait()
	if failed == nil {
		failed = ctx.Err()
	}
	for _, c := range counts {
		total += c
	}
	ops := float64(max(total, 1))
	return pace{ops / time.Since(began).Seconds(), 1e6 * (b.o.CPUSeconds() - cpu) / ops}, failed
}

// alone runs one side only.
func (b *bench) alone(ctx context.Context, workers int, do side) (Result, error) {
	counts := make([]int, workers)
	var paces []pace
	for range b.o.Rounds {
		p, err := b.turn(ctx, workers, counts, b.o.Turn, do)
		if err != nil {
			return Result{}, err
		}
		paces = append(paces, p)
	}
	return result(workers, paces), nil
}

// result returns the median of the runs.
func result(workers int, paces []pace) Result {
	value := medianOf(paces, func(p pace) float64 { return p.rate })
	return Result{Unit: "op/s", Value: value, Micros: 1e6 * float64(workers) / value, CPUMicros: medianOf(paces, func(p pace) float64 { return p.cpu })}
}

// pair alternates two sides. Each round starts with the other side.
func (b *bench) pair(ctx context.Context, workers int, do, reference side) (Result, error) {
	sides := [2]side{do, reference}
	counts := [2][]int{make([]int, workers), make([]int, workers)}
	for i, s := range sides { // one warm-up run
		if _, err := b.turn(ctx, workers, counts[i], b.o.Turn/4, s); err != nil {
			return Result{}, err
		}
	}
	var paces [2][]pace
	var ratios []float64
	for round := range b.o.Rounds {
		for k := range 2 {
			i := (round + k) % 2
			p, err := b.turn(ctx, workers, counts[i], b.o.Turn, sides[i])
			if err != nil {
				return Result{}, err
			}
			paces[i] = append(paces[i], p)
		}
		ratios = append(ratios, paces[0][round].rate/paces[1][round].rate)
	}
	r, other := result(workers, paces[0]), result(workers, paces[1])
	r.Reference, r.ReferenceCPUMicros, r.Ratio = other.Value, other.CPUMicros, median(ratios)
	return r, nil
}

func medianOf[T any](all []T, of func(T) float64) float64 {
	v := make([]float64, len(all))
	for i := range all {
		v[i] = of(all[i])
	}
	return median(v)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
