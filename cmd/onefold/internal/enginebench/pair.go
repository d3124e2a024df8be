package enginebench

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// side is one contestant: what one worker does once. Workers are numbered from 0; n counts the calls of all turns of
// that worker.
type side func(ctx context.Context, worker, n int) error

// turn lets workers do their work over and over for a while and returns the operations a second.
func turn(ctx context.Context, workers int, counts []int, d time.Duration, do side) (float64, error) {
	var stop atomic.Bool
	var mu sync.Mutex
	var failed error
	var wait sync.WaitGroup
	total := 0
	for _, c := range counts {
		total -= c
	}
	began := time.Now()
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
	return float64(total) / time.Since(began).Seconds(), failed
}

// alone takes the turns of one side.
func (b *bench) alone(ctx context.Context, workers int, do side) (Result, error) {
	counts := make([]int, workers)
	var rates []float64
	for range b.o.Rounds {
		rate, err := turn(ctx, workers, counts, b.o.Turn, do)
		if err != nil {
			return Result{}, err
		}
		rates = append(rates, rate)
	}
	value := median(rates)
	return Result{Unit: "op/s", Value: value, Micros: 1e6 * float64(workers) / value}, nil
}

// pair lets two sides take turns, the one that goes first changing each round.
func (b *bench) pair(ctx context.Context, workers int, do, reference side) (Result, error) {
	sides := [2]side{do, reference}
	counts := [2][]int{make([]int, workers), make([]int, workers)}
	var rates [2][]float64
	for i, s := range sides { // one turn that does not count
		if _, err := turn(ctx, workers, counts[i], b.o.Turn/4, s); err != nil {
			return Result{}, err
		}
	}
	var ratios []float64
	for round := range b.o.Rounds {
		for k := range 2 {
			i := (round + k) % 2
			rate, err := turn(ctx, workers, counts[i], b.o.Turn, sides[i])
			if err != nil {
				return Result{}, err
			}
			rates[i] = append(rates[i], rate)
		}
		ratios = append(ratios, rates[0][round]/rates[1][round])
	}
	value := median(rates[0])
	return Result{Unit: "op/s", Value: value, Micros: 1e6 * float64(workers) / value,
		Reference: median(rates[1]), Ratio: median(ratios)}, nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
