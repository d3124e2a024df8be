// Package foldsim runs folds in a simulated world and compares what they derived with what they should have. One seed
// decides everything: the changes of source items, how the stream is cut into shards, pages and batches, which worker
// takes the next step, where it is paused for so long that it becomes a zombie, where it crashes (before, during and
// after any request), which requests are throttled, lost or answered in part, and how the clock runs. Workers are
// coroutines, so a run is deterministic and can be repeated from its seed.
//
// Tests of packages that declare folds may use it; nothing else may.
package foldsim
