// Package workbench is what benchmarks of a server have in common: the server in a process of its own, so that its
// processor time is its own, clients that cost little beside it, traffic under a clock that is moved by hand, and results
// with their goals.
package workbench
