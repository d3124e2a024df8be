package enginebench

import (
	"github.com/cockroachdb/pebble/v2"
)

// Synced is raw Pebble, which writes rows one after the other, each durable before the next: what bounds whoever writes alone.
type Synced struct {
	store *pebble.DB
	n     uint64
}

// OpenSynced opens one in a directory of its own.
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

// Close closes it.
func (s *Synced) Close() error { return s.store.Close() }
