package eventstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"time"
)

// A hash chain makes a stream tamper-evident: each event has a hash of its content and of the
// previous hash, and the head has the last one. Whoever recorded a head's hash elsewhere can later
// detect whether an event up to it was changed, removed, added or exchanged. Without such a record
// it detects only accidents: a writer to the table can compute a whole new chain.

// ErrChain is returned when the hashes of a stream do not match its events: it was changed, or is
// damaged.
var ErrChain = errors.New("eventstore: the hash chain is broken")

// Verified checks the hash chain while reading: that each event has the correct hash, and, unless
// To ends the read earlier, that the stream ends as its head says. Events before the start of the
// chain are not checked. The error is ErrChain. It cannot be combined with Backwards.
func Verified() ReadOption { return func(r *reading) { r.verified = true } }

// ChainHash returns the hash of an event whose predecessor has the hash prev, nil for the first of
// a chain. It is the SHA-256 of prev and of all fields of the event, each preceded by its length.
// The order of fields is in docs/format/eventstore.md.
func ChainHash(prev []byte, e *Event) []byte {
	s := sum{sha256.New()}
	s.text("onefold event 1")
	s.bytes(prev)
	for _, text := range []string{e.Type, e.ID.ID, e.EventID, e.EventType} {
		s.text(text)
	}
	s.number(e.Seq)
	s.number(int64(max(e.Schema, 1)))
	s.time(e.OccurredAt)
	s.time(e.RecordedAt)
	s.bytes(e.Payload)
	for _, text := range []string{e.Correlation, e.Causation, e.Actor, e.Tenant, e.CommitID} {
		s.text(text)
	}
	s.number(int64(e.Nth))
	s.number(int64(e.Of))
	s.number(int64(len(e.Metadata)))
	for _, name := range slices.Sorted(maps.Keys(e.Metadata)) {
		s.text(name)
		s.text(e.Metadata[name])
	}
	s.tags(e.Tags)
	return s.Sum(nil)
}

// tags adds the tags of an event, if there are any.
func (s sum) tags(tags []string) {
	if len(tags) == 0 {
		return
	}
	s.number(int64(len(tags)))
	for _, tag := range tags {
		s.text(tag)
	}
}

// sum is a hash of length-prefixed parts, so that adjacent parts cannot be confused.
type sum struct{ hash.Hash }

func (s sum) number(n int64)   { _ = binary.Write(s, binary.BigEndian, n) } // a hash.Hash never returns an error
func (s sum) time(t time.Time) { s.number(t.UnixMilli()) }                  // milliseconds, as stored
func (s sum) text(t string)    { s.bytes([]byte(t)) }
func (s sum) bytes(b []byte) {
	s.number(int64(len(b)))
	s.Write(b)
}

// chain sets the hashes of the events of an append.
func (a *appending) chain() {
	if !a.chained {
		return
	}
	prev := a.at.hash
	for i := range a.events {
		prev = ChainHash(prev, &a.events[i])
		a.events[i].Hash = prev
	}
}

func (a *appending) lastHash() []byte { return a.events[len(a.events)-1].Hash }

// link verifies a chain event by event. A nil link does nothing.
type link struct {
	prev  []byte // hash of the previous event
	known bool   // otherwise the next event is accepted as it is
	head  Head   // when reading began; version 0: none
	open  bool   // the last event according to head has not come yet
}

// chain starts to verify a stream's chain, if requested.
func (p *pass) chain(ctx context.Context) error {
	if !p.verified {
		return nil
	}
	h := &p.head
	l := &link{known: true, head: *h, open: h.Version >= p.from && (!p.ends || p.to >= h.Version)}
	p.links = l
	switch {
	case h.FirstKept > 1 && h.FirstKept == p.from:
		l.prev = h.KeptAfter
	case p.from > 1:
		l.known = false
		for e, err := range p.s.Read(ctx, p.id, From(p.from-1), To(p.from-1), AsStored()) {
			switch {
			case errors.Is(err, ErrHole) || errors.Is(err, ErrTruncated):
				return nil
			case err != nil:
				return err
			}
			l.prev, l.known = e.Hash, true
		}
	}
	return nil
}

func (l *link) follow(e *Event) error {
	if l == nil {
		return nil
	}
	began := len(l.prev) > 0 || len(e.Hash) > 0
	if began && l.known && !bytes.Equal(e.Hash, ChainHash(l.prev, e)) {
		return fmt.Errorf("%w at event %d", ErrChain, e.Seq)
	}
	if l.prev, l.known = e.Hash, true; e.Seq == l.head.Version {
		l.open = false
		if !bytes.Equal(e.Hash, l.head.Hash) {
			return fmt.Errorf("%w: the hash in the head differs from that of event %d", ErrChain, e.Seq)
		}
	}
	return nil
}

// skip continues after truncated events, the last of which has a hash.
func (l *link) skip(hash []byte) {
	if l != nil {
		l.prev, l.known = hash, true
	}
}

// end checks that nothing was cut off.
func (l *link) end() error {
	if l != nil && l.open {
		return fmt.Errorf("%w: it ends before event %d", ErrChain, l.head.Version)
	}
	return nil
}
