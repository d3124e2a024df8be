// Package workbench is shared by the benchmarks of servers: it runs a server in its own process,
// whose CPU time is therefore its own, and has low-overhead clients, traffic with a manual clock,
// and results with goals.
package workbench
