package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/table"
)

const (
	pageBytes       = 4 << 10   // size at which a page is closed on the embedded engine
	recordBytes     = 300 << 10 // size of a record above which an append is divided, if it has several events
	spareBytes      = 1 << 10   // of a head, for attributes that are added later
	cachedTips      = 10_000    // streams whose ends a store remembers
	billedPageBytes = 600       // the same on a service
	closeBytes      = 3 << 20   // closed pages of a transaction with more bytes are written before it
)

// A stream is stored in pages. The open page, with the last events, is in the head, so that an
// append is one conditional write of the head. Once it has pageBytes, the next append copies it to
// an item of its own, the closed page, and begins a new open page with its own events.
//
// A closed page is written before, or together with, the head that no longer has its events. Until
// then, readers ignore it. Its content is a function of its first and last event, and it is never
// replaced by a shorter one, so a late or repeated write is harmless, even without transactions.
// Readers read the head first: what it does not have is in closed pages.

// tip is the end of a stream, as needed to append to it.
type tip struct {
	version int64
	first   int64  // number of the first event in the open page
	bytes   int    // size of the open page
	hash    []byte // of the last event, if the stream is a chain
}

func tipOf(h *Head) tip { return tip{h.Version, h.First, h.Bytes, h.Hash} }

// full reports whether the open page must be closed before a record is appended.
func (s *Store) full(t *tip, record int) bool {
	return t.version > 0 && (t.bytes >= s.o.PageBytes || t.bytes+record > recordBytes)
}

// complete checks that the head has its last event, so that nothing is appended after a hole.
// Errors: ErrHole, ErrPage.
func (h *Head) complete() error {
	last := max(h.First, 1) - 1
	if n := len(h.Records); n > 0 {
		info, err := h.Records[n-1].Info()
		if err != nil {
			return err
		}
		last = info.Last()
	}
	if last != h.Version {
		return fmt.Errorf("%w: the head has events up to %d instead of %d", ErrHole, last, h.Version)
	}
	return nil
}

// readHead reads the head of a stream; one without events if there is none.
func (s *Store) readHead(ctx context.Context, id ID) (Head, error) {
	h, err := HeadByID.Get(ctx, s.t, id)
	if errors.Is(err, table.ErrNotFound) {
		return Head{ID: id}, nil
	}
	if err == nil {
		s.tips.Add(id, tipOf(&h))
	}
	return h, err
}

// A pack is what an append writes to pages.
type pack struct {
	closed  *Page    // the page that was open; nil: it stays open
	written bool     // it has been written already
	direct  []Page   // pages for events that do not fit in the head
	records []Record // for the head: one, or one for each command of a group
	first   int64    // first event in the head
}

// page returns the first event of the page into which the append's first event goes.
func (p *pack) page() int64 {
	if len(p.direct) > 0 {
		return p.direct[0].First
	}
	return p.first
}

// pack encodes the events.
func (a *appending) pack() (p pack, err error) {
	info, chunks := a.recordInfo(), a.chunks()
	if len(chunks) > 1 && a.at.version > 0 && !a.closes { // the events have grown since the version was read: encrypted again
		return p, errTaken
	}
	for _, events := range chunks[:len(chunks)-1] {
		p.direct = append(p.direct, Page{PageKey: PageKey{a.id, events[0].Seq}, Last: events[len(events)-1].Seq, Direct: true, Records: []Record{NewRecord(events, info)}})
	}
	last := chunks[len(chunks)-1]
	p.records, p.first = []Record{NewRecord(last, info)}, last[0].Seq
	a.turnPage(&p)
	return p, nil
}

// turnPage closes the open page if it is full; otherwise the records go into it.
func (a *appending) turnPage(p *pack) {
	if a.closes {
		p.closed = &Page{PageKey: PageKey{a.id, a.at.first}, Last: a.at.version, Records: a.open}
	} else if a.at.version > 0 {
		p.first = a.at.first
	}
}

// recordInfo returns what the append's records say of it.
func (a *appending) recordInfo() RecordInfo {
	info := RecordInfo{Named: a.named}
	if a.s.o.PutMode && a.named {
		info.Digest, info.Sealed = a.content.digest, a.content.sealed
	}
	return info
}

// bytes returns the size of the records.
func (p *pack) bytes() (n int) {
	for _, r := range p.records {
		n += len(r)
	}
	return n
}

// chunks divides the events into records. Only a single event may be larger than recordBytes. In put
// mode all must fit in one item.
func (a *appending) chunks() (all [][]Event) {
	if a.s.o.PutMode || recordBound(a.events) <= recordBytes {
		return [][]Event{a.events}
	}
	size, from := 0, 0
	for i := range a.events {
		n := eventBound(&a.events[i])
		if i > from && size+n > recordBytes {
			all, size, from = append(all, a.events[from:i]), 0, i
		}
		size += n
	}
	return append(all, a.events[from:])
}

// head returns the head after the append.
func (a *appending) head(p *pack) Head {
	now := a.events[0].RecordedAt
	h := Head{
		ID: a.id, Version: a.at.version + int64(len(a.events)), CreatedAt: now, UpdatedAt: now, LastTypes: a.types(),
		First: p.first, Bytes: p.bytes(), Records: p.records,
	}
	if a.chained {
		h.Hash = a.lastHash()
	}
	if !a.closes {
		h.Bytes += a.at.bytes
	}
	return h
}

// find returns the record of an append in the open page, nil if it is not there.
func (h *Head) find(commit string) (*RecordInfo, error) {
	for _, r := range slices.Backward(h.Records) {
		info, err := r.Info()
		if err != nil {
			return nil, err
		}
		if info.Named && info.CommitID == commit {
			return &info, nil
		}
	}
	return nil, nil
}

// marks returns the marks of the appends in a page that have commit IDs. Records of a page that was
// written in put mode have all that a mark needs.
func (p *Page) marks() (marks []Mark, err error) {
	for _, r := range p.Records {
		info, err := r.Info()
		if err != nil {
			return nil, err
		}
		if info.Named {
			marks = append(marks, info.mark(p.ID))
		}
	}
	return marks, nil
}

func (i *RecordInfo) mark(id ID) Mark {
	return Mark{MarkKey: MarkKey{id, i.CommitID}, First: i.First - int64(i.Nth), N: i.Of, Parts: 1, Digest: i.Digest, Sealed: i.Sealed}
}
