//go:build !cgo

package goruntime

// OutsideHeap is the memory of the engine outside of Go's heap, in bytes. Without cgo there is
// none.
const OutsideHeap = 0
