//go:build !unix

package store

// openFiles is how many table files Pebble keeps open.
func openFiles() int { return 1000 }
