package analytics

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
)

// countedColumns are those of what reports on visits are made of: not how an event arrived, whose user it is, nor how its page loaded.
var countedColumns = []byte{
	eventIDs, 2, 3, 5, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 36, 37,
}

// Counted yields the events that All yields, in the same order, with those of their fields that reports on visits are made of. The memory
// of an event is used again after the next has been asked for; its texts are not. Errors: as of All.
func (in EventsIn) Counted(ctx context.Context, t *table.Table) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		s := spanMerge{in: in}
		for b, err := range in.blocks(ctx, t) {
			if err != nil {
				yield(nil, err)
				return
			}
			if start := spanOf(timeIn(b.BlockID)); start != s.start {
				if !s.yield(yield) {
					return
				}
				s.start = start
			}
			if err := s.add(&b); err != nil && !in.skips(err) {
				yield(nil, err)
				return
			}
		}
		s.yield(yield)
	}
}

// spanMerge brings the events of all blocks of one span in order. An event is in one span, as all that share its ID.
type spanMerge struct {
	in      EventsIn
	start   int64
	blocks  []spanBlock
	n       int // of blocks, that are those of the span; the others are memory
	a, b    []*Event
	runs    []int // where each sorted part of a ends
	halfway []int // of b, while parts are merged
}

type spanBlock struct {
	events  []Event
	arrival string // orders blocks by arrival
}

// add decodes a block of the span.
func (s *spanMerge) add(b *Block) error {
	if s.n == len(s.blocks) {
		s.blocks = append(s.blocks, spanBlock{})
	}
	to := &s.blocks[s.n]
	events, err := b.appendEvents(to.events[:0], countedColumns...)
	if err != nil {
		return err
	}
	to.events, to.arrival = events, b.BlockID[10:]
	s.n++
	return nil
}

// yield hands over the span's events, and empties it. It reports whether to go on.
func (s *spanMerge) yield(yield func(*Event, error) bool) bool {
	s.sort()
	last := ""
	for _, e := range s.a {
		if e.EventID == last {
			continue
		}
		last = e.EventID
		if s.in.wants(e) && !yield(e, nil) {
			return false
		}
	}
	s.n = 0
	return true
}

// sort brings pointers to the events in the order of their IDs into a, those that share an ID in the order in which they arrived.
func (s *spanMerge) sort() {
	blocks := s.blocks[:s.n]
	slices.SortFunc(blocks, func(a, b spanBlock) int { return cmp.Compare(a.arrival, b.arrival) })
	s.a, s.runs = s.a[:0], s.runs[:0]
	for i := range blocks {
		for j := range blocks[i].events {
			s.a = append(s.a, &blocks[i].events[j])
		}
		s.runs = append(s.runs, len(s.a))
	}
	for len(s.runs) > 1 {
		s.mergePairs()
	}
}

// mergePairs merges each sorted part with the next one.
func (s *spanMerge) mergePairs() {
	s.b, s.halfway = s.b[:0], s.halfway[:0]
	from := 0
	for i := 0; i < len(s.runs); i += 2 {
		middle, end := s.runs[i], s.runs[i]
		if i+1 < len(s.runs) {
			end = s.runs[i+1]
		}
		s.b = mergeEvents(s.b, s.a[from:middle], s.a[middle:end])
		s.halfway = append(s.halfway, end)
		from = end
	}
	s.a, s.b, s.runs, s.halfway = s.b, s.a, s.halfway, s.runs
}

// mergeEvents appends the events of two sorted parts in order, of the same ID the first's before the second's.
func mergeEvents(to, a, b []*Event) []*Event {
	for len(a) > 0 && len(b) > 0 {
		if strings.Compare(a[0].EventID, b[0].EventID) <= 0 {
			to, a = append(to, a[0]), a[1:]
		} else {
			to, b = append(to, b[0]), b[1:]
		}
	}
	return append(append(to, a...), b...)
}
