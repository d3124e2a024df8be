package main

import (
	"os"
	"runtime"
	"runtime/debug"
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

// serverGarbage is how much a server's heap grows until garbage is collected, in percent of what is live, which is
// little: Pebble's memory is outside of Go. At 400, an event takes an eighth to a sixth less processor time than at
// Go's 100 (`onefold bench analytics --only 'single|batch'`).
const serverGarbage = 400

// collectLessOften sets how often a server collects garbage and returns what undoes it.
func collectLessOften() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {} // somebody has decided
	}
	was := debug.SetGCPercent(serverGarbage)
	return func() { debug.SetGCPercent(was) }
}
