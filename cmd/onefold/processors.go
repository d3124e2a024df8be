package main

import (
	"os"
	"runtime"
)

// serverProcessors is how many goroutines a server of the embedded database lets run at once. A write that waits for the
// disk occupies a processor, as Go counts them, until the scheduler notices: on a machine of two, a server of durable
// writes stands still half of the time (`onefold bench engine` with GOMAXPROCS=2 and 4 shows it: 1.7 times the writes).
func serverProcessors() int {
	n := runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") != "" {
		return n // somebody has decided
	}
	return n + 2
}
