package logimport

import "hash/maphash"

// Occurrences counts how often a line came before in its file, because two visitors' requests, or two of one visitor,
// can be the same to the letter within a second. It remembers at least the last occurrencesKept distinct lines: the
// same request twice in a second stands close together.
type Occurrences struct {
	seed           maphash.Seed
	current, older map[uint64]int
}

const occurrencesKept = 100_000

// NewOccurrences has seen nothing yet.
func NewOccurrences() *Occurrences {
	return &Occurrences{seed: maphash.MakeSeed(), current: map[uint64]int{}}
}

// Next returns 0 for the first occurrence of the line, 1 for the second, and so on.
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
