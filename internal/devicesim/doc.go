// Package devicesim simulates devices and what they send: readings with daily cycles, and the
// faults of real devices between measuring and arrival. Each message says what its fault is and how
// a receiver should treat it. The package is for demonstrations, benchmarks and tests. Equal
// options give equal messages.
package devicesim
