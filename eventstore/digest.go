package eventstore

import (
	"crypto/sha256"
	"maps"
	"slices"
)

// digest is a hash of what the events of an append say to an aggregate: their types, payloads and envelopes. Times, numbers and ids are not in it,
// so that an append that is repeated has the same. Nor is what is sealed, which would let whoever has the table try values.
func (s *Store) digest(id ID, events []Event) []byte {
	d := sum{sha256.New()}
	d.text("onefold append 1")
	d.text(id.Type)
	d.text(id.ID)
	d.number(int64(len(events)))
	for _, e := range events {
		if s.o.Secrets != nil && s.o.Secrets.Bare(&e) != nil {
			return nil // it cannot be told
		}
		d.text(e.EventType)
		d.number(int64(max(e.Schema, 1)))
		d.bytes(e.Payload)
		for _, text := range []string{e.Correlation, e.Causation, e.Actor, e.Tenant} {
			d.text(text)
		}
		d.number(int64(len(e.Metadata)))
		for _, name := range slices.Sorted(maps.Keys(e.Metadata)) {
			d.text(name)
			d.text(e.Metadata[name])
		}
	}
	return d.Sum(nil)
}
