package foldsim_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often than Go does by default: a simulation keeps little, and a
// third of its time went to collections.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
