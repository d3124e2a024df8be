//go:build !cgo || !linux

package memory

// keepTogether does nothing: without cgo all memory is Go's.
func keepTogether() (undo func()) { return func() {} }
