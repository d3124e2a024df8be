package eventstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/onefold/onefold/table"
)

// ErrTruncated is returned when reading events that were truncated and are not in Options.Archive.
var ErrTruncated = errors.New("eventstore: the events were truncated, and no configured archive has them")

// Archived reads events outside the table: those of an aggregate in a range of numbers, inclusive,
// in order, as they were stored. The error for a missing event is ErrTruncated.
type Archived func(ctx context.Context, id ID, from, to int64) iter.Seq2[Event, error]

// A pass is a Read in progress. It reads the table. If an event is missing, it checks in the head
// whether the stream was truncated up to there, and then continues in the archive.
type pass struct {
	reading
	s     *Store
	id    ID
	yield func(Event, error) bool
	links *link
	next  int64 // next expected number, or anyNumber
	done  bool  // the caller has enough
}

func (p *pass) run(ctx context.Context) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	for !p.ends || p.from <= p.to && p.next <= p.to {
		err := p.table(ctx)
		hole := errors.Is(err, ErrHole)
		switch {
		case p.done || err != nil && !hole:
			return err
		case !hole && !p.short():
			return p.links.end()
		}
		went, headErr := p.truncated(ctx)
		switch {
		case headErr != nil:
			return headErr
		case p.done || went && p.back:
			return nil
		case !went && hole:
			return err
		case !went: // the stream ends there
			return p.links.end()
		}
	}
	return p.links.end()
}

// anyNumber is the expected number of a pass backwards from the end of the stream.
const anyNumber = -1

// begin determines the first expected number.
func (p *pass) begin(ctx context.Context) error {
	if p.next = p.from; !p.back {
		return nil
	}
	if p.next = anyNumber; !p.ends {
		return nil
	}
	h, err := p.s.Head(ctx, p.id)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return err
	}
	p.to = min(p.to, h.Version)
	p.next = p.to
	return nil
}

// short reports whether a pass without holes ended before its given end, which may be truncated.
func (p *pass) short() bool {
	return !p.back && p.ends && p.next <= p.to
}

// table reads the table from the expected number on.
func (p *pass) table(ctx context.Context) error {
	in, query := ReplayIn{p.id, p.from, EndOfStream}, Replay
	if p.ends {
		in.To = min(p.to, EndOfStream-1) + 1
	}
	if p.back {
		query = ReplayBackwards
	} else {
		in.From = p.next
	}
	for e, err := range query.All(ctx, p.s.t, in) {
		if err == nil && p.next != anyNumber && e.Seq != p.next {
			err = fmt.Errorf("%w: found event %d instead of %d", ErrHole, e.Seq, p.next)
		}
		if err == nil {
			err = p.take(ctx, &e)
		}
		if err != nil || p.done {
			return err
		}
	}
	if p.back && p.next >= p.from && p.next != anyNumber {
		return fmt.Errorf("%w: %d", ErrHole, p.next)
	}
	return nil
}

// take yields the expected event.
func (p *pass) take(ctx context.Context, e *Event) error {
	if p.done = !p.asOf.IsZero() && e.RecordedAt.After(p.asOf); p.done {
		return nil
	}
	if err := p.links.follow(e); err != nil {
		return err
	}
	if !p.asStored {
		if err := p.s.Open(ctx, e); err != nil {
			return err
		}
	}
	if p.next = e.Seq + 1; p.back {
		p.next = e.Seq - 1
	}
	p.done = !p.yield(*e, nil)
	return nil
}

// truncated continues in the archive if the missing event was truncated.
func (p *pass) truncated(ctx context.Context) (went bool, err error) {
	if p.s.o.PutMode {
		return false, nil
	}
	h, err := p.s.Head(ctx, p.id)
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	if err != nil || p.next >= h.FirstKept {
		return false, err
	}
	switch {
	case p.keptOnly && p.back:
		return true, nil
	case p.keptOnly:
		p.next = h.FirstKept
		return true, nil
	case p.s.o.Archive == nil:
		return false, fmt.Errorf("%w: events before %d", ErrTruncated, h.FirstKept)
	case p.back:
		return true, p.archivedBack(ctx)
	}
	to := h.FirstKept - 1
	if p.ends {
		to = min(to, p.to)
	}
	return true, p.archived(ctx, to)
}

// archived reads the archive up to a number.
func (p *pass) archived(ctx context.Context, to int64) error {
	for e, err := range p.s.o.Archive(ctx, p.id, p.next, to) {
		if err == nil && e.Seq != p.next {
			err = fmt.Errorf("%w: the archive has %d where %d should be", ErrHole, e.Seq, p.next)
		}
		if err == nil {
			err = p.take(ctx, &e)
		}
		if err != nil || p.done {
			return err
		}
	}
	if p.next <= to {
		return fmt.Errorf("%w: %d", ErrTruncated, p.next)
	}
	return nil
}

// archivedBack reads the archive backwards, in parts.
func (p *pass) archivedBack(ctx context.Context) error {
	const part = 1000
	for p.next >= p.from && !p.done {
		var events []Event
		for e, err := range p.s.o.Archive(ctx, p.id, max(p.from, p.next-part+1), p.next) {
			if err != nil {
				return err
			}
			events = append(events, e)
		}
		if len(events) == 0 {
			return fmt.Errorf("%w: %d", ErrTruncated, p.next)
		}
		for _, e := range slices.Backward(events) {
			if e.Seq != p.next {
				return fmt.Errorf("%w: the archive has %d where %d should be", ErrHole, e.Seq, p.next)
			}
			if err := p.take(ctx, &e); err != nil || p.done {
				return err
			}
		}
	}
	return nil
}
