package fsck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// fed has the events of an aggregate in the feed.
type fed struct {
	spans []span // in the order of the feed, joined where adjacent
	seen  bool   // the aggregate is in the table
}

// span is a range of events, both ends inclusive.
type span struct{ from, to int64 }

// unfed is the age at which an append can no longer get into the feed by itself, because the change
// stream no longer has it.
const unfed = 24 * time.Hour

// readFeed reads the events in the feed before the table, which must then have them. It needs about
// 100 bytes of memory per aggregate.
func (c *checker) readFeed(ctx context.Context) error {
	if c.s.PutMode() {
		return nil
	}
	_, err := eventstore.FeedHeadNow.Get(ctx, c.t, eventstore.FeedHeadKey{})
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the head of the feed: %w", err)
	}
	c.fed = map[eventstore.ID]*fed{}
	for told, err := range c.s.FeedCommits(ctx, 0) {
		switch {
		case errors.Is(err, eventstore.ErrHole) && c.o.After == "":
			c.fed = nil
			return c.report(Finding{Kind: FeedHole, Item: "FEED", Detail: err.Error()})
		case errors.Is(err, eventstore.ErrHole):
			c.fed = nil
			return nil
		case err != nil:
			return fmt.Errorf("read the feed: %w", err)
		}
		for _, p := range told.Parts {
			f := c.fed[p.ID]
			if f == nil {
				f = &fed{}
				c.fed[p.ID] = f
			}
			f.add(span{p.First, p.Last()})
		}
	}
	return nil
}

func (f *fed) add(s span) {
	if n := len(f.spans); n > 0 && f.spans[n-1].to+1 == s.from {
		f.spans[n-1].to = s.to
		return
	}
	f.spans = append(f.spans, s)
}

// inFeed checks that the feed has each event of the aggregate once, and no others.
func (a *aggregate) inFeed(context.Context) error {
	if a.fed == nil {
		return nil
	}
	f := a.fed[a.id]
	if f == nil {
		f = &fed{}
		a.fed[a.id] = f
	}
	f.seen = true
	slices.SortFunc(f.spans, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	last, missing := int64(0), int64(0)
	for _, s := range f.spans {
		if s.from <= last {
			return a.report(Finding{Kind: FeedTwice, ID: a.id, Item: headItem(a.id), Detail: fmt.Sprintf("the feed has event %d of %s twice", s.from, a.id)})
		}
		if s.from > last+1 && missing == 0 {
			missing = last + 1
		}
		last = s.to
	}
	if last > max(a.head.Version, a.prev.Seq) {
		return a.report(Finding{Kind: FeedAhead, ID: a.id, Item: headItem(a.id), Detail: fmt.Sprintf("the feed has event %d of %s, whose last event is %d", last, a.id, a.prev.Seq)})
	}
	if last < a.head.Version && missing == 0 {
		missing = last + 1
	}
	if missing == 0 || a.t.Now().Sub(a.head.UpdatedAt) < unfed {
		return nil
	}
	return a.report(Finding{
		Kind: FeedBehind, ID: a.id, Item: headItem(a.id),
		Detail: fmt.Sprintf("event %d of %s is missing from the feed and has expired from the change stream; RepairFeed appends it", missing, a.id),
	})
}

// unseen reports aggregates that are in the feed but not in the table. It applies only to checks of
// the whole table.
func (c *checker) unseen() error {
	if c.o.After != "" || len(c.o.Types) > 0 {
		return nil
	}
	for id, f := range c.fed {
		if f.seen {
			continue
		}
		if err := c.report(Finding{Kind: FeedAhead, ID: id, Item: headItem(id), Detail: fmt.Sprintf("the feed has events of %s, which does not exist", id)}); err != nil {
			return err
		}
	}
	return nil
}
