package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// serverProcessors returns GOMAXPROCS for a server of the embedded database. A goroutine that waits
// for a disk sync occupies a processor, as Go counts them, until the scheduler notices. On a
// machine with two processors, 32 clients with durable writes got 1.7 times the throughput with
// GOMAXPROCS=4 instead of 2 (`onefold bench engine --only HTTP`).
func serverProcessors() int {
	n := runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") != "" {
		return n // set by the user
	}
	return n + 2
}

// serverGarbage is how much a server's heap grows before the next garbage collection, in percent of
// the live heap (GOGC). The live heap is small, because Pebble's memory is outside of it. At 400,
// an event takes an eighth to a sixth less CPU time than at Go's default of 100 (`onefold bench
// analytics --only 'single|batch'`).
const serverGarbage = 400

// collectLessOften sets serverGarbage, and returns a function that restores the previous setting.
func collectLessOften() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {} // set by the user
	}
	was := debug.SetGCPercent(serverGarbage)
	return func() { debug.SetGCPercent(was) }
}
