package eventstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/onefold/onefold/table"
)

// FeedRepair is the result of RepairFeed.
type FeedRepair struct {
	Aggregates int   // aggregates with missing appends
	Commits    int   // appends added to the feed
	Position   int64 // end of the feed afterwards
}

// ErrFeedBusy is returned when another RepairFeed is running. Wait for it.
var ErrFeedBusy = errors.New("eventstore: another process is repairing the feed")

// RepairFeed adds appends that are missing from the feed, for all aggregates of ListTypes and of
// the given types. Appends are missing if no worker ran while the change stream kept their records,
// or if the feed is younger than the store. They are added at the end, so the events of such an
// aggregate are out of order: a consumer notices that a number is too high, and reads the stream.
//
// caughtUp must return when everything in the change stream is in the feed, as fold.Worker.Drain
// does for a worker with FeedFold. Later appends are left to the stream. RepairFeed may be
// repeated, also after a crash. Errors: ErrFeedBusy, those of the store.
func (s *Store) RepairFeed(ctx context.Context, caughtUp func(context.Context) error, types ...string) (r FeedRepair, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("eventstore: repair the feed: %w", err)
		}
	}()
	if s.o.PutMode {
		return r, fmt.Errorf("%w: there is no feed in put mode", ErrInvalid)
	}
	h, err := readFeedHead(ctx, s.t)
	if err != nil {
		return r, err
	}
	known := map[string]bool{}
	listed, err := s.ListTypes(ctx)
	if err != nil {
		return r, err
	}
	for _, t := range listed {
		known[t.Type] = true
	}
	for _, t := range types {
		known[t] = true
	}
	versions := map[ID]int64{}
	for _, t := range slices.Sorted(maps.Keys(known)) {
		for a, err := range s.HeadsOfType(ctx, t) {
			if err != nil {
				return r, err
			}
			versions[a.ID] = a.Version
		}
	}
	if err := caughtUp(ctx); err != nil {
		return r, err
	}
	return s.repairFeed(ctx, h.Repaired, versions)
}

// span is a range of an aggregate's events, both ends inclusive.
type span struct{ from, to int64 }

// repairFeed adds what is missing from the feed for aggregates up to the given versions, which the
// stream no longer delivers.
func (s *Store) repairFeed(ctx context.Context, round int64, versions map[ID]int64) (r FeedRepair, err error) {
	fed := map[ID][]span{}
	for c, err := range s.FeedCommits(ctx, 0) {
		if err != nil {
			return r, err
		}
		for _, p := range c.Parts {
			fed[p.ID] = addSpan(fed[p.ID], span{p.First, p.Last()})
		}
	}
	var lost []lostPart
	for _, id := range slices.SortedFunc(maps.Keys(versions), func(a, b ID) int { return cmp.Compare(a.String(), b.String()) }) {
		holes := without(fed[id], versions[id])
		for _, hole := range holes {
			if lost, err = s.addLost(ctx, id, hole, lost); err != nil {
				return r, err
			}
		}
		if len(holes) > 0 {
			r.Aggregates++
		}
	}
	missing := joined(lost)
	for rest := missing; len(rest) > 0; {
		part := cut(rest)
		if r.Position, err = s.writeRepair(ctx, round, part); err != nil {
			return r, err
		}
		round++
		rest = rest[len(part):]
	}
	r.Commits = len(missing)
	return r, nil
}

// addSpan adds a span to sorted spans, and joins adjacent ones.
func addSpan(spans []span, add span) []span {
	if n := len(spans); n > 0 && spans[n-1].to+1 == add.from {
		spans[n-1].to = add.to
		return spans
	}
	at, _ := slices.BinarySearchFunc(spans, add, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return slices.Insert(spans, at, add)
}

// without returns the holes between spans, from 1 to last.
func without(spans []span, last int64) (holes []span) {
	next := int64(1)
	for _, s := range spans {
		if s.from > next {
			holes = append(holes, span{next, min(s.from-1, last)})
		}
		if next = max(next, s.to+1); next > last {
			return holes
		}
	}
	if next <= last {
		holes = append(holes, span{next, last})
	}
	return holes
}

// lostPart is a part of an append that is missing from the feed.
type lostPart struct {
	FeedPart
	commit lostCommit
	event  string // ID of its first event; these IDs are ordered by time
}

// lostCommit identifies an append. All its parts have the same commit ID and time; other appends
// may have the same ID.
type lostCommit struct {
	id string
	at int64
}

// addLost finds the appends of a range of events, and their types.
func (s *Store) addLost(ctx context.Context, id ID, of span, into []lostPart) ([]lostPart, error) {
	for e, err := range s.Read(ctx, id, From(of.from), To(of.to), AsStored()) {
		if err != nil {
			return into, err
		}
		if e.Nth == 0 || e.Seq == of.from {
			into = append(into, lostPart{FeedPart{ID: id, First: e.Seq}, lostCommit{e.CommitID, e.RecordedAt.UnixMilli()}, e.EventID})
		}
		p := &into[len(into)-1]
		if p.N++; !slices.Contains(p.Types, e.EventType) {
			p.Types = append(p.Types, e.EventType)
		}
	}
	return into, nil
}

// lostAppend is an append that is missing from the feed, at least in part.
type lostAppend struct {
	parts []lostPart
	event string // the smallest event ID of its parts
}

// joined assembles parts into appends, ordered by time and, even if clocks went back, by the order
// of each aggregate, in which lost is given.
func joined(lost []lostPart) (all []fresh) {
	by, line := map[lostCommit]*lostAppend{}, map[ID][]*lostAppend{}
	var open []*lostAppend
	for _, p := range lost {
		a := by[p.commit]
		if a == nil {
			a = &lostAppend{event: p.event}
			by[p.commit], open = a, append(open, a)
		}
		a.parts, a.event = append(a.parts, p), min(a.event, p.event)
		line[p.ID] = append(line[p.ID], a)
	}
	slices.SortStableFunc(open, func(a, b *lostAppend) int { return cmp.Compare(a.event, b.event) })
	for len(open) > 0 {
		var wait []*lostAppend
		for i, a := range open {
			late := slices.ContainsFunc(a.parts, func(p lostPart) bool { return line[p.ID][0] != a })
			if stuck := i == len(open)-1 && len(wait) == i && i > 0; late && !stuck {
				wait = append(wait, a)
				continue
			}
			c := fresh{}
			for _, p := range a.parts {
				c.Parts = append(c.Parts, p.FeedPart)
				at := slices.Index(line[p.ID], a)
				line[p.ID] = slices.Delete(line[p.ID], at, at+1)
			}
			all = append(all, c)
		}
		open = wait
	}
	return all
}

// writeRepair appends a chunk despite concurrent appends, but not during another repair.
func (s *Store) writeRepair(ctx context.Context, round int64, part []fresh) (position int64, err error) {
	commits := make([]FeedCommit, len(part))
	for i, c := range part {
		commits[i] = c.FeedCommit
	}
	for try := 0; ; try++ {
		h, err := readFeedHead(ctx, s.t)
		if err != nil {
			return 0, err
		}
		if h.Repaired != round {
			return 0, ErrFeedBusy
		}
		h.Repaired++
		switch err := h.write(ctx, s.t, commits); {
		case err == nil:
			return h.Position, nil
		case !errors.Is(err, table.ErrCondition) && !errors.Is(err, table.ErrExists) || try == maxTries:
			return 0, err
		}
		if err := s.sleep(ctx, retryDelay(try)); err != nil {
			return 0, err
		}
	}
}
