// Package devicesim makes up devices and what they send: readings with their days and nights, and all that goes wrong with
// real ones between measuring and arriving, each time said what it was and what a receiver has to make of it. It exists
// for demonstrations, benchmarks and tests. The same options give the same messages, each time.
package devicesim
