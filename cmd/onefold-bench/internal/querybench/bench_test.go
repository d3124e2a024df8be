package querybench

import "testing"

// A small month is written and queried.
func TestRun(t *testing.T) {
	r, err := Run(t.Context(), Options{Events: 3000, MemoryMB: 256, Seed: 1})
	if err != nil || r.Events < 2000 || r.BytesPerEvent <= 0 || len(r.Answers) < 2 {
		t.Errorf("%+v, %v", r, err)
	}
}
