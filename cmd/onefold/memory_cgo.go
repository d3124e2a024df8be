//go:build cgo

package main

// engineOutsideGo is the memory of the engine that Go does not see, in bytes: with cgo, Pebble takes its block cache and
// memory tables from C.
const engineOutsideGo = 140 << 20
