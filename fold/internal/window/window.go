// Package window records which item had a fact first: as a set in memory, and in the encoded form
// that folds store.
package window

// ID identifies a fact, no matter how often and in which items it is sent.
type ID = [16]byte

// An Entry is a fact and the sort key of the item that had it first.
type Entry struct {
	ID   ID
	Item string
}

// Set contains the known facts of a window. The zero value is an empty set. It is not safe for
// concurrent use.
type Set struct {
	first map[ID]uint32 // index in items
	items []string
	last  map[string]uint32 // index in items, for items of the last call
}

// Len returns the number of facts.
func (s *Set) Len() int { return len(s.first) }

// Add records that an item has a fact. It returns the item that had the fact first, or "" if this
// item is the first.
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

// index returns the index of an item in items. Facts come item by item, so remembering the last
// item is enough.
func (s *Set) index(item string) uint32 {
	if at, ok := s.last[item]; ok {
		return at
	}
	at := uint32(len(s.items))
	s.items = append(s.items, item)
	s.last = map[string]uint32{item: at}
	return at
}

// First returns the item that had a fact first, or "" if the fact is unknown.
func (s *Set) First(id ID) string {
	if at, ok := s.first[id]; ok {
		return s.items[at]
	}
	return ""
}

// merge adds a stored entry. All writers agree on the first item; if two should not, the smaller
// key wins, in any order.
func (s *Set) merge(e Entry) {
	if known := s.Add(e.ID, e.Item); known > e.Item {
		s.first[e.ID] = s.index(e.Item)
	}
}
