//go:build cgo

package goruntime

// OutsideHeap is the memory of the engine outside of Go's heap, in bytes. With cgo, Pebble
// allocates its block cache and memtables in C.
const OutsideHeap = 140 << 20
