// Package store stores the engine's rows in Pebble, on a disk that may be full or fail. It
// configures Pebble and decides the consequences of write errors, so that the packages above need
// not know how Pebble behaves on such a disk.
package store
