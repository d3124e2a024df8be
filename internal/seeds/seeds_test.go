package seeds_test

import (
	"slices"
	"testing"

	"github.com/onefold/onefold/internal/seeds"
)

func TestAll(t *testing.T) {
	t.Setenv("ONEFOLD_SIM_SEED", "")
	t.Setenv("ONEFOLD_SIM_SEEDS", "")
	if a, b := seeds.All(3), seeds.All(3); len(a) != 3 || slices.Equal(a, b) {
		t.Errorf("by itself: %d, then %d", a, b)
	}
	t.Setenv("ONEFOLD_SIM_SEEDS", "5")
	if n := len(seeds.All(3)); n != 5 {
		t.Errorf("asked for 5: %d", n)
	}
	t.Setenv("ONEFOLD_SIM_SEED", "18446744073709551615")
	if all := seeds.All(3); !slices.Equal(all, []uint64{18446744073709551615}) {
		t.Errorf("asked for one: %d", all)
	}
}
