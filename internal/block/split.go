package block

import (
	"fmt"
	"iter"
)

// MaxBody is the maximum size of a body in bytes that Split produces.
const MaxBody = 350 << 10

// Part is one of the blocks that Split yields: facts, and their body.
type Part[T any] struct {
	Facts []T // a part of the slice that was split
	Body  []byte
}

// Split yields facts in blocks with bodies of at most target bytes, in order. A larger fact gets a
// block of its own, up to MaxBody. For a fact beyond that, Split yields the fact with ErrTooLarge
// and continues with the next.
func (s *Schema[T]) Split(facts []T, target int) iter.Seq2[Part[T], error] {
	target = min(target, MaxBody)
	return func(yield func(Part[T], error) bool) {
		for n := MaxFacts; len(facts) > 0; {
			n = min(n, len(facts), MaxFacts)
			body, err := s.Append(nil, facts[:n])
			if (err != nil || len(body) > target) && n > 1 {
				n = fewer(n, len(body), target)
				continue
			}
			part := Part[T]{facts[:n:n], body}
			if len(body) > MaxBody {
				part.Body, err = nil, fmt.Errorf("%w: a fact takes %d bytes, more than %d", ErrTooLarge, len(body), MaxBody)
			}
			if !yield(part, err) {
				return
			}
			facts = facts[n:]
			n += n / 8 // the next facts may be smaller
		}
	}
}

// fewer returns how many facts to try next if n took the given bytes, or could not be encoded at
// all (bytes is 0). Some content of a body is shared by all its facts, so fewer facts take more
// each; hence the margin.
func fewer(n, bytes, target int) int {
	if bytes == 0 {
		return n / 2
	}
	return max(1, min(n-1, int(float64(n)*0.9*float64(target)/float64(bytes))))
}
