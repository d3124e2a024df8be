package logimport

import "hash/maphash"

// Occurrences counts the earlier occurrences of a line in its file, because requests of one or two
// visitors within a second can be identical. It remembers at least the last occurrencesKept
// distinct lines, which is enough because identical requests are close together.
type Occurrences struct {
	seed           maphash.Seed
	current, older map[uint64]int
}

const occurrencesKept = 100_000

// NewOccurrences returns an empty count.
func NewOccurrences() *Occurrences {
	return &Occurrences{seed: maphash.MakeSeed(), current: map[uint64]int{}}
}

// Next returns 0 for the first occurrence of a line, 1 for the second, and so on.
func (o *Occurrences) Next(line []byte) int {
	key := maphash.Bytes(o.seed, line)
	n, ok := o.current[key]
	if !ok {
		n = o.older[key]
	}
	if len(o.current) >= occurrencesKept {
		o.older, o.current = o.current, make(map[uint64]int, occurrencesKept)
	}
	o.current[key] = n + 1
	return n
}
