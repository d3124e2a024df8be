// Package foldsim runs folds in a simulated world and compares the items they derive with the
// expected ones. A single seed decides everything: the changes of source items; how the stream is
// divided into shards, pages and batches; which worker takes the next step; which one is paused so
// long that it becomes a zombie; where workers crash (before, during and after any request); which
// requests are throttled, lost or answered in part; and how the clock runs. Workers are coroutines,
// so a run is deterministic and can be repeated from its seed.
//
// Only tests may use this package.
package foldsim
