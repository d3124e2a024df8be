package seeds

import (
	"slices"
	"testing"
)

func TestSeeds(t *testing.T) {
	t.Setenv("ONEFOLD_SIM_SEED", "")
	t.Setenv("ONEFOLD_SIM_SEEDS", "")
	t.Setenv("ONEFOLD_SIM_FOR", "")
	want := 3
	if testing.Short() {
		want = 1
	}
	if n := len(slices.Collect(Each(t, 3))); n != want {
		t.Errorf("%d seeds, want %d", n, want)
	}
	t.Setenv("ONEFOLD_SIM_SEEDS", "5")
	if n := len(slices.Collect(Each(t, 3))); n != 5 {
		t.Errorf("%d seeds, want the 5 that are asked for", n)
	}
	t.Setenv("ONEFOLD_SIM_SEEDS", "")
	t.Setenv("ONEFOLD_SIM_FOR", "2ms")
	if n := len(slices.Collect(Each(t, 1))); n < 2 {
		t.Errorf("%d seeds in 2 ms", n)
	}
	t.Setenv("ONEFOLD_SIM_SEED", "7")
	if got := slices.Collect(Each(t, 3)); !slices.Equal(got, []uint64{7}) || One(t) != 7 {
		t.Errorf("the seed that is given: %v, %d", got, One(t))
	}
}
