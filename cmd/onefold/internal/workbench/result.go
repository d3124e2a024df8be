package workbench

import "slices"

// Result is one figure.
type Result struct {
	Name      string  `json:"name"`
	Unit      string  `json:"unit"`
	Value     float64 `json:"value"`
	Against   string  `json:"against,omitempty"` // what the reference is
	Reference float64 `json:"reference,omitempty"`
	Goal      float64 `json:"goal,omitempty"` // 0: none
	Most      bool    `json:"most,omitempty"` // the goal is the most that is good, not the least
}

// Reached reports whether the goal is met; true without one.
func (r *Result) Reached() bool {
	if r.Goal == 0 {
		return true
	}
	if r.Most {
		return r.Value <= r.Goal
	}
	return r.Value >= r.Goal
}

// Median is the value in the middle. There must be one.
func Median(v []float64) float64 { return Percentile(v, 50) }

// Percentile is the nearest rank, p from 1 to 100. There must be a value.
func Percentile(v []float64, p int) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[max((len(v)*p+99)/100-1, 0)]
}
