//go:build cgo

package main

// engineOutsideGo is the memory of the engine outside of Go's heap, in bytes. With cgo, Pebble
// allocates its block cache and memtables in C.
const engineOutsideGo = 140 << 20
