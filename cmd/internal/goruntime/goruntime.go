// Package goruntime adapts Go's runtime to a process with an embedded engine: its processors, its
// garbage collection and its memory limit.
package goruntime

import (
	"os"
	"runtime"
	"runtime/debug"
)

// Processors returns GOMAXPROCS for a server of the embedded database. A goroutine that waits for a
// disk sync occupies a processor, as Go counts them, until the scheduler notices. On a machine with
// two processors, 32 clients with durable writes got 1.7 times the throughput with GOMAXPROCS=4
// instead of 2 (`onefold-bench engine --only HTTP`).
func Processors() int {
	n := runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") != "" {
		return n // set by the user
	}
	return n + 2
}

// serverGarbage is how much a server's heap grows before the next garbage collection, in percent of
// the live heap (GOGC). The live heap is small, because Pebble's memory is outside of it. At 400,
// an event takes an eighth to a sixth less CPU time than at Go's default of 100 (`onefold-bench
// analytics --only 'single|batch'`).
const serverGarbage = 400

// CollectLessOften sets serverGarbage, and returns a function that restores the previous setting.
func CollectLessOften() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {} // set by the user
	}
	was := debug.SetGCPercent(serverGarbage)
	return func() { debug.SetGCPercent(was) }
}

// LimitMemory sets the soft memory limit of the process in bytes, including the engine's memory
// outside of Go's heap. It returns a function that restores the previous limit. Go collects garbage
// more often near the limit.
func LimitMemory(limit int64) (undo func()) {
	was := debug.SetMemoryLimit(limit - OutsideHeap)
	return func() { debug.SetMemoryLimit(was) }
}
