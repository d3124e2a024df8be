package analytics

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
)

// countedColumns are what reports on visits need: all but arrival and web vitals.
var countedColumns = func() []byte {
	columns := []byte{eventIDs, 2, 3, 5, 7, 8, 9, 10, 11, 28, 29, 30, 31, 36, 37}
	for _, d := range TraitDefs {
		columns = append(columns, d.Column)
	}
	return columns
}()

// Counted yields the same events as All, with only the fields that reports on visits need. The
// memory of an event is reused for the next one, except its strings. Errors: as All.
func (in EventsIn) Counted(ctx context.Context, t *table.Table) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		s := spanMerge{in: in}
		for b, err := range in.Blocks(ctx, t) {
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

// spanMerge sorts the events of all blocks of one span. Copies of an event share its ID, and so its
// span; they are adjacent once sorted.
type spanMerge struct {
	in      EventsIn
	start   int64
	blocks  []spanBlock
	n       int // blocks in use; the others are spare memory
	a, b    []*Event
	runs    []int // end of each sorted run in a
	halfway []int // end of each run in b, during a merge
}

type spanBlock struct {
	events  []Event
	arrival string // orders blocks by arrival
}

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

// yield yields the span's events and empties the span. It reports whether to continue.
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

// sort fills a with pointers to the events, ordered by ID and then by arrival.
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

// mergeEvents appends the merge of two sorted runs. It is stable: for equal IDs, a comes before b.
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
