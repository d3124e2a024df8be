// Package window keeps which item had a fact first: in memory, and as the bytes that a fold stores of it. It imports nothing of the
// project but package varint; fold uses it.
package window

// ID names a fact, however often and in whatever items it is sent.
type ID = [16]byte

// An Entry is a fact and the sort key of the item that had it first.
type Entry struct {
	ID   ID
	Item string
}

// Set is what is known of the facts of a window. The zero value is ready. It is for one goroutine.
type Set struct {
	first map[ID]uint32 // index in items
	items []string
	last  map[string]uint32 // the same, for items of the last call
}

// Len is the number of facts.
func (s *Set) Len() int { return len(s.first) }

// Add says that an item has a fact. known is the item that had it before, "" if none did.
func (s *Set) Add(id ID, item string) (known string) {
	if at, ok := s.first[id]; ok {
		return s.items[at]
	}
	if s.first == nil {
		s.first = make(map[ID]uint32)
	}
	s.first[id] = s.index(item)
	return ""
}

// index is where an item stands in items. Facts come item by item.
func (s *Set) index(item string) uint32 {
	if at, ok := s.last[item]; ok {
		return at
	}
	at := uint32(len(s.items))
	s.items = append(s.items, item)
	s.last = map[string]uint32{item: at}
	return at
}

// First returns the item that had a fact first, "" if it is not known.
func (s *Set) First(id ID) string {
	if at, ok := s.first[id]; ok {
		return s.items[at]
	}
	return ""
}

// merge adds what was stored. Writers agree on which item was first; should two of them not, the lesser key holds, whatever the order.
func (s *Set) merge(e Entry) {
	if known := s.Add(e.ID, e.Item); known > e.Item {
		s.first[e.ID] = s.index(e.Item)
	}
}
