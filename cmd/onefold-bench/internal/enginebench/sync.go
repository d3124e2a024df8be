package enginebench

import (
	"github.com/cockroachdb/pebble/v2"
)

// Synced writes rows to raw Pebble one after another, each durable before the next. This bounds the
// rate of a single writer.
type Synced struct {
	store *pebble.DB
	n     uint64
}

// OpenSynced opens a store in its own directory.
func OpenSynced(dir string) (*Synced, error) {
	store, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatTableFormatV6, Logger: quiet{}})
	return &Synced{store: store}, err
}

// Write writes a row and waits until it is durable.
func (s *Synced) Write(value []byte) error {
	s.n++
	key := []byte{byte(s.n >> 24), byte(s.n >> 16), byte(s.n >> 8), byte(s.n)}
	return s.store.Set(key, value, pebble.Sync)
}

// Close closes the store.
func (s *Synced) Close() error { return s.store.Close() }
