package eventstore

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

const (
	partReaders = 4   // concurrent requests for pages
	partBatch   = 50  // pages per request
	headBatch   = 100 // heads per request
)

// parts looks up events in pages that were read by key.
type parts struct {
	s     *Store
	kept  bool // omit events that were truncated
	mu    sync.Mutex
	pages map[PageKey]*records
	heads map[ID]*records
}

// records are those of a page, by the number of their first events.
type records struct {
	infos []RecordInfo
	all   []Record
}

// readParts reads the events of parts of the feed, in their order. A page is read once for all parts
// in it. Pages that are still open are in heads. Events that are in neither are read with Read,
// which knows archives and holes.
func (s *Store) readParts(ctx context.Context, of []FeedPart, kept bool) ([]Event, error) {
	p := &parts{s: s, kept: kept, pages: map[PageKey]*records{}, heads: map[ID]*records{}}
	if err := p.fetch(ctx, of); err != nil {
		return nil, err
	}
	n := 0
	for i := range of {
		n += of[i].N
	}
	events := make([]Event, 0, n)
	for i := range of {
		var err error
		if events, err = p.part(ctx, &of[i], events); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// fetch reads the pages, and then the heads of those that do not exist yet.
func (p *parts) fetch(ctx context.Context, of []FeedPart) error {
	var keys []PageKey
	for i := range of {
		k := PageKey{of[i].ID, of[i].Page}
		if _, known := p.pages[k]; !known && k.First > 0 {
			p.pages[k] = nil
			keys = append(keys, k)
		}
	}
	err := batches(ctx, keys, partBatch, func(ctx context.Context, some []PageKey) error {
		found, err := Pages.GetMany(ctx, p.s.t, some)
		p.mu.Lock()
		defer p.mu.Unlock()
		for i := range found {
			p.pages[found[i].PageKey] = indexed(found[i].Records)
		}
		return err
	})
	if err != nil {
		return err
	}
	var open []ID
	for _, k := range keys {
		if _, known := p.heads[k.ID]; !known && p.pages[k] == nil {
			p.heads[k.ID] = nil
			open = append(open, k.ID)
		}
	}
	return batches(ctx, open, partBatch, func(ctx context.Context, some []ID) error {
		found, err := Heads.GetMany(ctx, p.s.t, some)
		p.mu.Lock()
		defer p.mu.Unlock()
		for i := range found {
			p.heads[found[i].ID] = indexed(found[i].Records)
		}
		return err
	})
}

// batches passes all to do in batches, concurrently.
func batches[T any](ctx context.Context, all []T, size int, do func(context.Context, []T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(partReaders)
	for some := range slices.Chunk(all, size) {
		g.Go(func() error { return do(ctx, some) })
	}
	return g.Wait()
}

// indexed returns records that can be looked up, nil if one of them cannot be decoded: Read will
// find out which.
func indexed(all []Record) *records {
	r := &records{all: all, infos: make([]RecordInfo, len(all))}
	for i := range all {
		var err error
		if r.infos[i], err = all[i].Info(); err != nil {
			return nil
		}
	}
	return r
}

// part appends the events of a part to events.
func (p *parts) part(ctx context.Context, of *FeedPart, events []Event) ([]Event, error) {
	begin, next := len(events), of.First
	for _, r := range []*records{p.pages[PageKey{of.ID, of.Page}], p.heads[of.ID]} {
		if r == nil || next > of.Last() {
			continue
		}
		at, _ := slices.BinarySearchFunc(r.infos, next, func(i RecordInfo, seq int64) int { return cmp.Compare(i.Last(), seq) })
		for ; at < len(r.infos) && r.infos[at].First <= next && next <= of.Last(); at++ {
			before := len(events)
			var err error
			if events, err = r.all[at].decode(of.ID, events); err != nil {
				return nil, err
			}
			skip := int(next - r.infos[at].First)
			events = slices.Delete(events, before, before+skip)
			if over := int(events[len(events)-1].Seq - of.Last()); over > 0 {
				events = events[:len(events)-over]
			}
			next = events[len(events)-1].Seq + 1
		}
	}
	for i := begin; i < len(events); i++ {
		if err := p.s.Open(ctx, &events[i]); err != nil {
			return nil, err
		}
	}
	if next > of.Last() {
		return events, nil
	}
	for e, err := range p.s.Read(ctx, of.ID, From(next), To(of.Last()), func(r *reading) { r.keptOnly = p.kept }) {
		if err != nil {
			return nil, err
		}
		events, next = append(events, e), e.Seq+1
	}
	if next <= of.Last() && !p.kept {
		return nil, fmt.Errorf("%w: %d of %s", ErrHole, next, of.ID)
	}
	return events, nil
}

// Resolve reads events that EventsOfType found, in the same order. Truncated events are omitted if
// there is no Options.Archive.
func (s *Store) Resolve(ctx context.Context, entries []TypeEntry) ([]Event, error) {
	of := make([]FeedPart, len(entries))
	for i, e := range entries {
		of[i] = FeedPart{ID: e.ID, First: e.Seq, N: 1, Page: e.Page}
	}
	events, err := s.readParts(ctx, of, s.o.Archive == nil)
	if err != nil {
		return nil, fmt.Errorf("eventstore: events of a type: %w", err)
	}
	return events, nil
}

// HeadsOfType yields the heads of all aggregates of a type, by ID. Listed aggregates without events
// are skipped.
func (s *Store) HeadsOfType(ctx context.Context, aggregateType string) iter.Seq2[Head, error] {
	return func(yield func(Head, error) bool) {
		var ids []ID
		flush := func() bool {
			heads, err := s.HeadsOf(ctx, ids)
			if err != nil {
				return yield(Head{}, err) && false
			}
			ids = ids[:0]
			for _, h := range heads {
				if !yield(h, nil) {
					return false
				}
			}
			return true
		}
		for l, err := range AggregatesOfType.All(ctx, s.t, AggregatesIn{aggregateType}) {
			if err != nil {
				yield(Head{}, fmt.Errorf("eventstore: aggregates of type %s: %w", shorten(aggregateType), err))
				return
			}
			if ids = append(ids, l.ID); len(ids) == headBatch && !flush() {
				return
			}
		}
		flush()
	}
}

// HeadsOf returns the heads of aggregates in their order. Those without events are omitted.
func (s *Store) HeadsOf(ctx context.Context, ids []ID) ([]Head, error) {
	heads, err := Heads.GetMany(ctx, s.t, ids)
	if err != nil {
		return nil, fmt.Errorf("eventstore: heads of aggregates: %w", err)
	}
	return heads, nil
}
