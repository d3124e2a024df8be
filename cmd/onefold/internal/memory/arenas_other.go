//go:build !cgo || !linux

package memory

// fewArenas does nothing: without cgo all memory is Go's.
func fewArenas() {}
