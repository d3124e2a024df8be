package sqlprojection

import (
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/eventstore"
)

// WaitFor waits until the views include all events up to a feed position, such as that of
// eventstore.Store.FeedHead, except parked ones. Errors: ErrBehind after Options.Within, those of the
// database.
func (p *Projection) WaitFor(ctx context.Context, position int64) error {
	return p.waitFor(ctx, fmt.Sprintf("position %d", position), func(at int64) (bool, error) { return at >= position, nil })
}

// WaitForEvent waits until the views include an event, so that a writer can read its own writes, unless
// the event is parked. It searches the feed after a position that was reached before the event was
// appended: that of Projection.Position, or 0 for all of the feed. Errors: ErrBehind after
// Options.Within, also if the event does not exist; those of the database and of the store.
func (p *Projection) WaitForEvent(ctx context.Context, key eventstore.EventKey, after int64) error {
	found := false
	return p.waitFor(ctx, fmt.Sprintf("event %d of %s", key.Seq, key.ID), func(at int64) (bool, error) {
		if !found {
			var err error
			if after, found, err = p.search(ctx, key, after); err != nil {
				return false, err
			}
		}
		return found && at >= after, nil
	})
}

// search returns the position of an event, or the end of the feed.
func (p *Projection) search(ctx context.Context, key eventstore.EventKey, after int64) (position int64, found bool, err error) {
	for c, err := range p.s.FeedCommits(ctx, after) {
		if err != nil {
			return after, false, err
		}
		after = c.Position
		for _, part := range c.Parts {
			if part.ID == key.ID && part.First <= key.Seq && key.Seq <= part.Last() {
				return after, true, nil
			}
		}
	}
	return after, false, nil
}

// waitFor polls the position of the active version until it is enough.
func (p *Projection) waitFor(ctx context.Context, what string, enough func(at int64) (bool, error)) error {
	begun := p.o.Clock()
	for waited := time.Duration(0); ; waited += p.o.Poll {
		at, err := p.activePosition(ctx)
		if err != nil {
			return err
		}
		done, err := enough(at)
		if err != nil || done && at >= 0 {
			return p.wrap("wait for", err)
		}
		if max(waited, p.o.Clock().Sub(begun)) >= p.o.Within { // a slow database takes time, too
			return p.wrap("wait for", fmt.Errorf("%w: at position %d after %s, without %s; check that Run is running", ErrBehind, max(at, 0), p.o.Within, what))
		}
		if err := p.o.Sleep(ctx, p.o.Poll); err != nil {
			return err
		}
	}
}
