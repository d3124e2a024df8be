//go:build !cgo

package main

// engineOutsideGo is the memory of the engine outside of Go's heap, in bytes. Without cgo there is
// none.
const engineOutsideGo = 0
