package eventstore

import (
	"cmp"
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

// A pass is a Read in progress. It reads the head first, and then the closed pages before the open
// one, which never change. If an event is missing, it checks in the head whether the stream was
// truncated up to there, and then continues in the archive.
type pass struct {
	reading
	s     *Store
	id    ID
	yield func(*Event, error) bool
	head  Head
	links *link
	next  int64 // next expected number
	buf   []Event
	done  bool // the caller has enough
}

func (p *pass) run(ctx context.Context) error {
	var err error
	if p.head, err = p.s.readHead(ctx, p.id); err != nil {
		return err
	}
	if err := p.chain(ctx); err != nil {
		return err
	}
	last := p.head.Version
	if p.ends {
		last = min(last, p.to)
	}
	if p.back {
		p.next = last
		for p.next >= p.from && p.next > 0 && !p.done && err == nil {
			err = p.backwards(ctx)
		}
		return err
	}
	p.next = p.from
	for p.next <= last && !p.done && err == nil {
		err = p.forwards(ctx, last)
	}
	if err != nil || p.done {
		return err
	}
	return p.links.end()
}

// forwards reads on: from the archive, the closed pages or the open one.
func (p *pass) forwards(ctx context.Context, last int64) error {
	switch {
	case p.next < p.head.FirstKept && p.keptOnly:
		p.next = p.head.FirstKept
		p.links.skip(p.head.KeptAfter)
		return nil
	case p.next < p.head.FirstKept:
		return p.archived(ctx, min(last, p.head.FirstKept-1))
	case p.next < p.head.First:
		return p.unlessTruncated(ctx, p.closed(ctx, min(last, p.head.First-1)))
	}
	if err := p.records(ctx, p.head.Records, last); err != nil || p.done || p.next > last {
		return err
	}
	return cmp.Or(p.links.end(), p.hole())
}

// backwards reads on backwards.
func (p *pass) backwards(ctx context.Context) error {
	switch {
	case p.next < p.head.FirstKept && p.keptOnly:
		p.done = true
		return nil
	case p.next < p.head.FirstKept:
		return p.archivedBack(ctx)
	case p.next >= p.head.First:
		if err := p.recordsBack(ctx, p.head.Records); err != nil || p.done || p.next < max(p.from, p.head.First, p.head.FirstKept) {
			return err
		}
		return p.hole()
	}
	return p.unlessTruncated(ctx, p.closedBack(ctx))
}

func (p *pass) hole() error { return fmt.Errorf("%w: %d", ErrHole, p.next) }

// closed reads closed pages up to a number.
func (p *pass) closed(ctx context.Context, to int64) error {
	in := PagesIn{p.id, 1, to + 1}
	if p.next > max(p.head.FirstKept, 1) { // the page with the event, if it is in the middle of one
		page, err := PagesBackwards.First(ctx, p.s.t, PagesIn{p.id, 1, p.next + 1})
		switch {
		case errors.Is(err, table.ErrNotFound):
			return p.hole()
		case err != nil:
			return err
		}
		if err := p.records(ctx, page.Records, to); err != nil || p.done {
			return err
		}
		in.From = page.First + 1
	}
	for page, err := range PagesFrom.All(ctx, p.s.t, in) {
		if err != nil {
			return err
		}
		if err := p.records(ctx, page.Records, to); err != nil || p.done || p.next > to {
			return err
		}
	}
	if p.next <= to {
		return p.hole()
	}
	return nil
}

// closedBack reads closed pages backwards.
func (p *pass) closedBack(ctx context.Context) error {
	for page, err := range PagesBackwards.All(ctx, p.s.t, PagesIn{p.id, 1, p.next + 1}) {
		if err != nil {
			return err
		}
		if err := p.recordsBack(ctx, page.Records); err != nil || p.done || p.next < max(p.from, p.head.FirstKept) {
			return err
		}
		if p.next >= page.First {
			return p.hole()
		}
	}
	if p.next >= max(p.from, 1) {
		return p.hole()
	}
	return nil
}

// records yields the events of records from the expected one on. Earlier ones are skipped, because
// pages may overlap while a stream is truncated.
func (p *pass) records(ctx context.Context, records []Record, to int64) error {
	for _, r := range records {
		events, err := p.decode(r)
		if err != nil {
			return err
		}
		for i := range events {
			e := &events[i]
			switch {
			case e.Seq < p.next:
				continue
			case e.Seq > to:
				return nil
			case e.Seq > p.next:
				return fmt.Errorf("%w: found event %d instead of %d", ErrHole, e.Seq, p.next)
			}
			if err := p.take(ctx, e); err != nil || p.done {
				return err
			}
		}
	}
	return nil
}

// recordsBack is records, last event first.
func (p *pass) recordsBack(ctx context.Context, records []Record) error {
	for _, r := range slices.Backward(records) {
		events, err := p.decode(r)
		if err != nil {
			return err
		}
		for i := range slices.Backward(events) {
			e := &events[i]
			switch {
			case e.Seq > p.next:
				continue
			case e.Seq < p.from || e.Seq < p.head.FirstKept:
				return nil
			case e.Seq < p.next:
				return fmt.Errorf("%w: found event %d instead of %d", ErrHole, e.Seq, p.next)
			}
			if err := p.take(ctx, e); err != nil || p.done {
				return err
			}
		}
	}
	return nil
}

// decode decodes the events of a record. They are valid until the next call.
func (p *pass) decode(r Record) (events []Event, err error) {
	p.buf, err = r.decode(p.id, p.buf[:0])
	return p.buf, err
}

// unlessTruncated returns the error of closed pages, unless it is a hole that is due to a truncation
// since the head was read.
func (p *pass) unlessTruncated(ctx context.Context, err error) error {
	if !errors.Is(err, ErrHole) {
		return err
	}
	h, headErr := p.s.readHead(ctx, p.id)
	if headErr != nil || p.next >= h.FirstKept {
		return cmp.Or(headErr, err)
	}
	p.head.FirstKept, p.head.KeptAfter = h.FirstKept, h.KeptAfter
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
	p.done = !p.yield(e, nil)
	return nil
}

// archived reads the archive up to a number.
func (p *pass) archived(ctx context.Context, to int64) error {
	if p.s.o.Archive == nil {
		return p.noArchive()
	}
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

func (p *pass) noArchive() error {
	return fmt.Errorf("%w: events before %d", ErrTruncated, p.head.FirstKept)
}

// archivedBack reads the archive backwards, in parts.
func (p *pass) archivedBack(ctx context.Context) error {
	if p.s.o.Archive == nil {
		return p.noArchive()
	}
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
