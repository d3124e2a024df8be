// Package seeds gives randomized tests their seeds, and repeats a run from a seed that was printed. Only tests may import it.
//
// ONEFOLD_SIM_SEED runs a test with that seed alone, ONEFOLD_SIM_SEEDS says how many seeds a test tries, and ONEFOLD_SIM_FOR
// (a duration such as 1h) has it try fresh seeds for that long. All stop at the first seed that fails. With -short, a test tries one
// seed unless the environment says otherwise.
package seeds

import (
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Each yields n random seeds, or those that the environment asks for. It logs each before the test uses it.
func Each(t testing.TB, n int) iter.Seq[uint64] {
	t.Helper()
	if seed, ok := given(t); ok {
		return func(yield func(uint64) bool) { yield(seed) }
	}
	if testing.Short() {
		n = 1
	}
	if text := os.Getenv("ONEFOLD_SIM_SEEDS"); text != "" {
		n = whole(t, "ONEFOLD_SIM_SEEDS", text)
	}
	var end time.Time
	if text := os.Getenv("ONEFOLD_SIM_FOR"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("ONEFOLD_SIM_FOR: %v", err)
		}
		end = time.Now().Add(d)
	}
	return func(yield func(uint64) bool) {
		for i := 0; i < n || time.Now().Before(end); i++ {
			if !yield(fresh(t)) || t.Failed() {
				return
			}
		}
	}
}

// Run runs one subtest for each seed from Each. It stops after the first one that fails.
func Run(t *testing.T, n int, run func(t *testing.T, seed uint64)) {
	t.Helper()
	for seed := range Each(t, n) {
		if !t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { run(t, seed) }) {
			t.Fatalf("replay: ONEFOLD_SIM_SEED=%d", seed)
		}
	}
}

// One returns the seed of a test that takes a single one.
func One(t testing.TB) uint64 {
	t.Helper()
	if seed, ok := given(t); ok {
		return seed
	}
	return fresh(t)
}

func given(t testing.TB) (uint64, bool) {
	t.Helper()
	text := os.Getenv("ONEFOLD_SIM_SEED")
	if text == "" {
		return 0, false
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("ONEFOLD_SIM_SEED: %v", err)
	}
	return seed, true
}

func whole(t testing.TB, name, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, not a number of seeds", name, text)
	}
	return n
}

func fresh(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("ONEFOLD_SIM_SEED=%d", seed)
	return seed
}
