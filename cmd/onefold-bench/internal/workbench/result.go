package workbench

import "slices"

// Result is a figure.
type Result struct {
	Name      string  `json:"name"`
	Unit      string  `json:"unit"`
	Value     float64 `json:"value"`
	Against   string  `json:"against,omitempty"` // description of the reference
	Reference float64 `json:"reference,omitempty"`
	Goal      float64 `json:"goal,omitempty"` // 0: none
	Most      bool    `json:"most,omitempty"` // the goal is an upper bound rather than a lower one
}

// Reached reports whether the goal is met. It is true without a goal.
func (r *Result) Reached() bool {
	if r.Goal == 0 {
		return true
	}
	if r.Most {
		return r.Value <= r.Goal
	}
	return r.Value >= r.Goal
}

// Median returns the median of v, which must not be empty.
func Median(v []float64) float64 { return Percentile(v, 50) }

// Percentile returns the p-th percentile by nearest rank, p from 1 to 100. v must not be empty.
func Percentile(v []float64, p int) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[max((len(v)*p+99)/100-1, 0)]
}
