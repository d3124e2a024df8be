package filterbench

import (
	"errors"
	"testing"
)

// A small month is stored and queried. An existing table is reused, with the same answers.
func TestRun(t *testing.T) {
	o := Options{Events: 6000, Days: 30, Seed: 1, Dir: t.TempDir(), KeepBytes: 64 << 20, CPUSeconds: func() float64 { return 0 }}
	first, err := Run(t.Context(), o)
	if err != nil || first.FillSeconds <= 0 || len(first.Answers) != 5 || first.Events < 3000 {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := Run(t.Context(), o)
	if err != nil || again.FillSeconds != 0 || again.Events != first.Events {
		t.Fatalf("%+v, %v", again, err)
	}
	for i, a := range again.Answers {
		if a.Visits != first.Answers[i].Visits {
			t.Errorf("%s: %d visits, and %d before", a.What, a.Visits, first.Answers[i].Visits)
		}
	}
	for _, a := range first.Answers[1:4] {
		if a.Visits != first.Answers[0].Visits {
			t.Errorf("%s: %d visits, %d the first time", a.What, a.Visits, first.Answers[0].Visits)
		}
	}
}

func TestTooFewEvents(t *testing.T) {
	if _, err := Run(t.Context(), Options{Events: 10, Days: 30}); !errors.Is(err, ErrOptions) {
		t.Error(err)
	}
}
