//go:build !unix

package store

// openFiles returns how many row files Pebble keeps open.
func openFiles() int { return 1000 }
