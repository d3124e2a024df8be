package main

import (
	"os"
	"runtime"
)

// serverProcessors is how many goroutines a server of the embedded database lets run at once. A write that waits for the
// disk occupies a processor, as Go counts them, until the scheduler notices. On a machine of two, 32 clients of a server
// of durable writes got 1.7 times as many done with GOMAXPROCS=4 as with 2 (`onefold bench engine --only HTTP`).
func serverProcessors() int {
	n := runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") != "" {
		return n // somebody has decided
	}
	return n + 2
}
