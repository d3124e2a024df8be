// Package store holds the engine's rows: Pebble, set up for them, on a disk that may be full or fail. It decides what a
// write error means. It exists so that nothing above has to know how Pebble behaves on such a disk; only the engine uses it.
package store
