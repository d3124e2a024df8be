package eventstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
)

// FeedEvent is an event with its position in the order of all appends.
type FeedEvent struct {
	Event
	Position int64 // of its append, from 1 without gaps; shared by all events of an append, whatever their aggregates
	Last     bool  // last selected event of its append: to resume after it, pass Position
}

// FeedOption filters a feed.
type FeedOption func(*feedFilter)

// OfType selects events by type.
func OfType(types ...string) FeedOption {
	return func(f *feedFilter) { f.types = append(f.types, types...) }
}

// OfAggregateType selects events by type of their aggregate.
func OfAggregateType(types ...string) FeedOption {
	return func(f *feedFilter) { f.aggregates = append(f.aggregates, types...) }
}

// WithTags selects events that have all of the tags.
func WithTags(tags ...string) FeedOption {
	return func(f *feedFilter) { f.tags = append(f.tags, tags...) }
}

// OfPartition selects the events of part n, from 0, of a number of parts, 1 to 256, into which
// aggregates are divided. All events of an aggregate are in one part, which depends on its ID and
// the number of parts.
func OfPartition(n, of int) FeedOption {
	return func(f *feedFilter) { f.part, f.parts = n, of }
}

// feedFilter selects events; an empty list selects all.
type feedFilter struct {
	types, aggregates, tags []string
	part, parts             int // parts 0: all
}

func filterOf(options []FeedOption) *feedFilter {
	f := &feedFilter{}
	for _, o := range options {
		o(f)
	}
	return f
}

// of returns an append without the parts that have no selected events.
func (f *feedFilter) of(c FeedCommit) FeedCommit {
	if len(f.types)+len(f.aggregates)+f.parts > 0 {
		c.Parts = slices.DeleteFunc(c.Parts, func(p FeedPart) bool { return !f.keeps(&p) })
	}
	return c
}

func (f *feedFilter) keeps(p *FeedPart) bool {
	if len(f.aggregates) > 0 && !slices.Contains(f.aggregates, p.Type) || f.parts > 0 && table.Shard(p.ID.String(), f.parts) != f.part {
		return false
	}
	return len(f.types) == 0 || slices.ContainsFunc(p.Types, f.keepsType)
}

func (f *feedFilter) keepsEvent(e *Event) bool {
	return f.keepsType(e.EventType) && !slices.ContainsFunc(f.tags, func(tag string) bool { return !slices.Contains(e.Tags, tag) })
}

func (f *feedFilter) keepsType(t string) bool {
	return len(f.types) == 0 || slices.Contains(f.types, t)
}

// Feed yields the events of all aggregates after a position, 0 for all, up to the end of what
// FeedFold has written, which lags behind the appends. Every append has one permanent position,
// however many aggregates it has. An append that was begun after another was acknowledged has a
// later position. A reader that resumes after a position misses nothing and sees nothing twice.
// Errors: ErrInvalid for a store without transactions, which has no feed; ErrHole; those of the
// store. An error ends the feed.
func (s *Store) Feed(ctx context.Context, after int64, options ...FeedOption) iter.Seq2[FeedEvent, error] {
	f := filterOf(options)
	return func(yield func(FeedEvent, error) bool) {
		var commits []FeedCommit
		tell := func() bool {
			events, err := s.feedEvents(ctx, commits, f)
			if err != nil {
				yield(FeedEvent{}, fmt.Errorf("eventstore: feed: %w", err))
				return false
			}
			commits = commits[:0]
			for _, e := range events {
				if !yield(e, nil) {
					return false
				}
			}
			return true
		}
		for c, err := range s.FeedCommits(ctx, after) {
			if err != nil {
				yield(FeedEvent{}, err)
				return
			}
			if c = f.of(c); len(c.Parts) > 0 {
				commits = append(commits, c)
			}
			if len(commits) == feedPage && !tell() {
				return
			}
		}
		tell()
	}
}

const feedPage = 500 // appends whose events are read together

// FeedPage is a page of the feed.
type FeedPage struct {
	Events  []FeedEvent
	Through int64 // the page is complete up to this position: continue after it
	Tip     bool  // there was nothing more
}

// FeedPage reads the selected events of at most the given number of appends after a position.
// Unlike Feed it also advances past appends without selected events.
func (s *Store) FeedPage(ctx context.Context, after int64, most int, options ...FeedOption) (FeedPage, error) {
	f := filterOf(options)
	p := FeedPage{Through: after, Tip: true}
	var commits []FeedCommit
	for c, err := range s.FeedCommits(ctx, after) {
		if err != nil {
			return p, err
		}
		if c.Position > after+int64(max(most, 1)) {
			p.Tip = false
			break
		}
		p.Through = c.Position
		if c = f.of(c); len(c.Parts) > 0 {
			commits = append(commits, c)
		}
	}
	var err error
	if p.Events, err = s.feedEvents(ctx, commits, f); err != nil {
		return p, fmt.Errorf("eventstore: feed after %d: %w", after, err)
	}
	return p, nil
}

// FeedCommits yields the appends after a position, without their events. Errors: as Feed.
func (s *Store) FeedCommits(ctx context.Context, after int64) iter.Seq2[FeedCommit, error] {
	return func(yield func(FeedCommit, error) bool) {
		if err := s.eachCommit(ctx, max(after, 0), yield); err != nil {
			yield(FeedCommit{}, fmt.Errorf("eventstore: feed after %d: %w", after, err))
		}
	}
}

// eachCommit reads a few chunks at first, then increasingly many. Chunks are written in order, but
// a query that runs at the same time may see a chunk and miss an earlier one: then it is repeated.
func (s *Store) eachCommit(ctx context.Context, after int64, yield func(FeedCommit, error) bool) error {
	if s.o.PutMode {
		return fmt.Errorf("%w: there is no feed in put mode", ErrInvalid)
	}
	for atOnce, tries := 2, 0; ; atOnce = min(2*atOnce, 64) {
		page, err := FeedFrom.Page(ctx, s.t, FeedIn{After: after + 1, To: EndOfStream}, "", atOnce)
		if err != nil || len(page.Items) == 0 {
			return err
		}
		for _, chunk := range page.Items {
			first := chunk.Last - int64(len(chunk.Commits)) + 1
			if first > after+1 {
				break
			}
			for i := after + 1 - first; i < int64(len(chunk.Commits)); i++ {
				c := chunk.Commits[i]
				c.Position = first + i
				if !yield(c, nil) {
					return nil
				}
			}
			after, tries = chunk.Last, 0
		}
		if last := page.Items[len(page.Items)-1].Last; after < last {
			if tries++; tries > maxTries {
				return fmt.Errorf("%w: position %d of the feed", ErrHole, after+1)
			}
			if err := s.sleep(ctx, retryDelay(tries)); err != nil {
				return err
			}
		}
	}
}

// feedEvents reads the events of appends, and filters them.
func (s *Store) feedEvents(ctx context.Context, commits []FeedCommit, f *feedFilter) ([]FeedEvent, error) {
	var parts []FeedPart
	for _, c := range commits {
		parts = append(parts, c.Parts...)
	}
	found, err := s.readParts(ctx, parts, false)
	if err != nil {
		return nil, err
	}
	events := make([]FeedEvent, 0, len(found))
	for _, c := range commits {
		begin, n := len(events), 0
		for _, p := range c.Parts {
			n += p.N
		}
		for _, e := range found[:n] {
			if f.keepsEvent(&e) {
				events = append(events, FeedEvent{Event: e, Position: c.Position})
			}
		}
		if len(events) > begin {
			events[len(events)-1].Last = true
		}
		found = found[n:]
	}
	return events, nil
}

// FeedState is the progress of the feed.
type FeedState struct {
	Position  int64     // of its last append; 0: none
	UpdatedAt time.Time // when it got there
}

// FeedHead returns the progress of the feed.
func (s *Store) FeedHead(ctx context.Context) (FeedState, error) {
	h, err := FeedHeadNow.Get(ctx, s.t, FeedHeadKey{})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return FeedState{}, fmt.Errorf("eventstore: feed head: %w", err)
	}
	return FeedState{h.Position, h.UpdatedAt}, nil
}
