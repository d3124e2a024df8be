// Package enginebench measures the embedded engine alongside its limits: raw Pebble with the same rows
// for work in process, and a server with empty responses for the wire. Both sides of a figure
// alternate within one run, so that their ratio is meaningful even on a busy machine. `onefold-bench
// engine` prints the results. Besides the engine, this is the only package that may import Pebble.
package enginebench
