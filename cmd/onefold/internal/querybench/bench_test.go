package querybench

import "testing"

// A small month is written and queried.
func TestMeasure(t *testing.T) {
	r, err := (&Bench{Events: 3000, Memory: 256, Seed: 1}).Measure(t.Context())
	if err != nil || r.Events < 2000 || r.BytesPerEvent <= 0 || len(r.Answers) < 2 {
		t.Errorf("%+v, %v", r, err)
	}
}
