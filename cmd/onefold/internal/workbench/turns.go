package workbench

import "time"

// Pace is what turns have shown: medians of what was done a second, and of the server's processor time of each, in
// microseconds.
type Pace struct{ Rate, Micros float64 }

// Turns takes a turn so many times, and one before that warms up. A turn returns how many things it did, when all that
// follows from them is done, too.
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
