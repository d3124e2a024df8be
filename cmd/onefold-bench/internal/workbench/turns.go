package workbench

import "time"

// Pace holds medians of runs: operations per second, and the server's CPU time per operation in
// microseconds.
type Pace struct{ Rate, Micros float64 }

// Turns repeats turn so many times, after a warm-up. turn returns the number of operations when all
// work that follows from them is done.
func (p *Process) Turns(rounds int, turn func() (n int, err error)) (Pace, error) {
	var rates, micros []float64
	for round := range rounds + 1 {
		before, err := p.CPUSeconds()
		if err != nil {
			return Pace{}, err
		}
		began := time.Now()
		n, err := turn()
		if err != nil {
			return Pace{}, err
		}
		took := time.Since(began).Seconds()
		after, err := p.CPUSeconds()
		if err != nil {
			return Pace{}, err
		}
		if round > 0 {
			rates, micros = append(rates, float64(n)/took), append(micros, 1e6*(after-before)/float64(n))
		}
	}
	return Pace{Median(rates), Median(micros)}, nil
}
