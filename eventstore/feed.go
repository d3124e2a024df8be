package eventstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/table"
)

// FeedEvent is an event with its place among the events of all aggregates.
type FeedEvent struct {
	Event
	Position int64 // of its append, from 1 and without gaps: all events of one append have the same, whatever aggregates they are of
	Last     bool  // of its append, as far as it was asked for: to resume behind it, give Position
}

// FeedOption narrows what a feed tells.
type FeedOption func(*feedFilter)

// OfType keeps the events of some types.
func OfType(types ...string) FeedOption {
	return func(f *feedFilter) { f.types = append(f.types, types...) }
}

// OfAggregateType keeps the events of the aggregates of some types.
func OfAggregateType(types ...string) FeedOption {
	return func(f *feedFilter) { f.aggregates = append(f.aggregates, types...) }
}

// feedFilter says what is kept: everything where nothing is named.
type feedFilter struct{ types, aggregates []string }

func filterOf(options []FeedOption) *feedFilter {
	f := &feedFilter{}
	for _, o := range options {
		o(f)
	}
	return f
}

// of is an append with those of its parts that have events that are kept.
func (f *feedFilter) of(c FeedCommit) FeedCommit {
	if len(f.types)+len(f.aggregates) > 0 {
		c.Parts = slices.DeleteFunc(c.Parts, func(p FeedPart) bool { return !f.keeps(&p) })
	}
	return c
}

func (f *feedFilter) keeps(p *FeedPart) bool {
	if len(f.aggregates) > 0 && !slices.Contains(f.aggregates, p.Type) {
		return false
	}
	return len(f.types) == 0 || slices.ContainsFunc(p.Types, f.keepsType)
}

func (f *feedFilter) keepsType(t string) bool {
	return len(f.types) == 0 || slices.Contains(f.types, t)
}

// Feed tells the events of all aggregates behind a position, 0 for all, to the end of what FeedFold has written, which is
// behind the appends by as much as its worker is. Every append has one position for ever, to however many aggregates it is; one that was begun after
// another was acknowledged comes behind it; and whoever resumes behind a position misses none and gets none twice. Errors: ErrInvalid for a store
// without transactions, which has no feed; ErrHole; those of the store. After an error there is nothing more.
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

const (
	feedPage    = 500 // appends, whose events are read together
	feedReaders = 4   // requests for events at once
	feedBatch   = 100 // events of one request
)

// FeedPage is a part of the feed.
type FeedPage struct {
	Events  []FeedEvent
	Through int64 // the page has all that is asked for up to this position: the next begins behind it
	Tip     bool  // there was nothing more
}

// FeedPage reads the events of the appends behind a position, of so many appends at most, whether they are asked for or not.
// It is Feed for those who keep their position where little is of interest to them.
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

// FeedCommits tells the appends behind a position without their events.
func (s *Store) FeedCommits(ctx context.Context, after int64) iter.Seq2[FeedCommit, error] {
	return func(yield func(FeedCommit, error) bool) {
		if err := s.eachCommit(ctx, max(after, 0), yield); err != nil {
			yield(FeedCommit{}, fmt.Errorf("eventstore: feed after %d: %w", after, err))
		}
	}
}

// eachCommit reads a few chunks, then more and more at once. Chunks are written one after the other, but a query that reads
// on while they are may see one and not the one before: then it is asked again.
func (s *Store) eachCommit(ctx context.Context, after int64, yield func(FeedCommit, error) bool) error {
	if s.o.OneByOne {
		return fmt.Errorf("%w: without transactions there is no feed", ErrInvalid)
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

// feedEvents reads the events of appends, many at a time, and keeps those that are asked for.
func (s *Store) feedEvents(ctx context.Context, commits []FeedCommit, f *feedFilter) ([]FeedEvent, error) {
	var keys []EventKey
	for _, c := range commits {
		for _, p := range c.Parts {
			for seq := p.First; seq <= p.Last(); seq++ {
				keys = append(keys, EventKey{p.ID, seq})
			}
		}
	}
	found := make([]Event, len(keys))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(feedReaders)
	for from := 0; from < len(keys); from += feedBatch {
		to := min(from+feedBatch, len(keys))
		g.Go(func() error { return s.readEvents(gctx, keys[from:to], found[from:to]) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	events := make([]FeedEvent, 0, len(found))
	for _, c := range commits {
		begin, n := len(events), 0
		for _, p := range c.Parts {
			n += p.N
		}
		for _, e := range found[:n] {
			if f.keepsType(e.EventType) {
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

// readEvents reads events by their keys. One that is not in the table is read as Read does, which knows where it went.
func (s *Store) readEvents(ctx context.Context, keys []EventKey, into []Event) error {
	found, err := Events.GetMany(ctx, s.t, keys)
	if err != nil {
		return err
	}
	for i, k := range keys {
		if len(found) > 0 && found[0].EventKey == k {
			into[i], found = found[0], found[1:]
			if err := s.Open(ctx, &into[i]); err != nil {
				return err
			}
			continue
		}
		for e, err := range s.Read(ctx, k.ID, From(k.Seq), To(k.Seq)) {
			if err != nil {
				return err
			}
			into[i] = e
		}
		if into[i].Seq == 0 {
			return fmt.Errorf("%w: %d of %s", ErrHole, k.Seq, k.ID)
		}
	}
	return nil
}

// FeedState is how far the feed is.
type FeedState struct {
	Position  int64     // of the last append in it; 0: none
	UpdatedAt time.Time // when it got there
}

// FeedHead returns how far the feed is.
func (s *Store) FeedHead(ctx context.Context) (FeedState, error) {
	h, err := FeedHeadNow.Get(ctx, s.t, FeedHeadKey{})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return FeedState{}, fmt.Errorf("eventstore: feed head: %w", err)
	}
	return FeedState{h.Position, h.UpdatedAt}, nil
}
