// Package seeds chooses the seeds of tests that do random things, so that a run that failed can be repeated and a longer one can be asked for.
package seeds

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// All returns n random seeds, as many as ONEFOLD_SIM_SEEDS says, or only the one of ONEFOLD_SIM_SEED.
func All(n int) []uint64 {
	if one, err := strconv.ParseUint(os.Getenv("ONEFOLD_SIM_SEED"), 10, 64); err == nil {
		return []uint64{one}
	}
	if many, err := strconv.Atoi(os.Getenv("ONEFOLD_SIM_SEEDS")); err == nil && many > 0 {
		n = many
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = rand.Uint64()
	}
	return seeds
}

// Each runs a test with each seed of All, up to the first that fails, and says how to repeat that one.
func Each(t *testing.T, n int, run func(t *testing.T, seed uint64)) {
	t.Helper()
	for _, seed := range All(n) {
		if !t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { run(t, seed) }) {
			t.Fatalf("replay: ONEFOLD_SIM_SEED=%d", seed)
		}
	}
}
