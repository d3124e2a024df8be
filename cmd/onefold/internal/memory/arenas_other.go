//go:build !cgo || !linux

package memory

// keepTogether does nothing: without cgo, all memory is managed by Go.
func keepTogether() (undo func()) { return func() {} }
