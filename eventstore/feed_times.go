package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
)

// FeedPositionsAt returns, for each time, the position of the last append that entered the feed
// before that time; 0 if there is none. The number of appends between two times is therefore the
// difference of their positions. The times must be in increasing order.
//
// The search reads one chunk per step, and at most twice the binary logarithm of the feed's length
// per time, however many appends there are in between. Errors: those of the store.
func (s *Store) FeedPositionsAt(ctx context.Context, times []time.Time) ([]int64, error) {
	head, err := s.FeedHead(ctx)
	if err != nil {
		return nil, err
	}
	f := feedSearch{s: s, end: head.Position}
	positions := make([]int64, len(times))
	for i, t := range slices.Backward(times) { // the latest first: its chunks bound the search for earlier ones
		if t.After(head.UpdatedAt) {
			positions[i] = head.Position
		} else if positions[i], err = f.before(ctx, t); err != nil {
			return nil, fmt.Errorf("eventstore: feed at %s: %w", t.Format(time.RFC3339), err)
		}
	}
	return positions, nil
}

// FeedEnteredAt returns when the append at a position entered the feed. Errors: ErrHole if there is
// none; those of the store.
func (s *Store) FeedEnteredAt(ctx context.Context, position int64) (time.Time, error) {
	f := feedSearch{s: s}
	span, err := f.read(ctx, position)
	if err != nil {
		return time.Time{}, fmt.Errorf("eventstore: feed: %w", err)
	}
	return span.at, nil
}

// feedSearch finds positions of the feed by time. Chunks are in order of time, as far as the clocks
// of the workers that wrote them agree.
type feedSearch struct {
	s     *Store
	end   int64
	known []feedSpan // chunks that were read, in order
}

// feedSpan is a chunk without its appends.
type feedSpan struct {
	first, last int64
	at          time.Time
}

// before returns the last position of the feed before t.
func (f *feedSearch) before(ctx context.Context, t time.Time) (int64, error) {
	i, _ := slices.BinarySearchFunc(f.known, t, func(c feedSpan, t time.Time) int { return c.at.Compare(t) })
	low, high := feedSpan{}, feedSpan{first: f.end + 1}
	if i > 0 {
		low = f.known[i-1]
	}
	if i < len(f.known) {
		high = f.known[i]
	}
	for step := 0; low.last < high.first-1; step++ {
		guess := (low.last + high.first) / 2
		if step%2 == 0 {
			guess = interpolate(low, high, t, guess)
		}
		c, err := f.read(ctx, guess)
		if err != nil {
			return 0, err
		}
		if c.at.Before(t) {
			c.last = max(c.last, guess)
			low = c
		} else {
			c.first = min(c.first, guess)
			high = c
		}
	}
	return low.last, nil
}

// interpolate guesses the position at t between two chunks, from their times; otherwise is the guess
// if one of the times is unknown.
func interpolate(low, high feedSpan, t time.Time, otherwise int64) int64 {
	if low.at.IsZero() || high.at.IsZero() || !high.at.After(low.at) {
		return otherwise
	}
	share := float64(t.Sub(low.at)) / float64(high.at.Sub(low.at))
	return min(max(low.last+int64(share*float64(high.first-low.last)), low.last+1), high.first-1)
}

// read reads the chunk that contains a position.
func (f *feedSearch) read(ctx context.Context, position int64) (feedSpan, error) {
	c, err := FeedFrom.First(ctx, f.s.t, FeedIn{After: position, To: EndOfStream})
	if errors.Is(err, table.ErrNotFound) {
		return feedSpan{}, fmt.Errorf("%w: position %d of the feed", ErrHole, position)
	}
	if err != nil {
		return feedSpan{}, err
	}
	span := feedSpan{c.Last - int64(len(c.Commits)) + 1, c.Last, c.At}
	if i, found := slices.BinarySearchFunc(f.known, span.last, func(c feedSpan, last int64) int { return int(c.last - last) }); !found {
		f.known = slices.Insert(f.known, i, span)
	}
	return span, nil
}
