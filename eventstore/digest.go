package eventstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// content has hashes of the events of an append to an aggregate, which distinguish a repeated
// append from another one with the same commit ID.
type content struct {
	digest []byte // of types, payloads, envelopes and given times; not of sealed fields, or a reader of the table could try values
	sealed []byte // of sealed fields, with their keys; nil: nothing is sealed, or a key is gone
}

// errIncomparable means that two appends cannot be compared.
var errIncomparable = errors.New("eventstore: the append cannot be compared")

// content hashes sealed events. dated marks the events whose times the caller gave. Numbers and IDs
// are excluded, so a repeated append has equal hashes.
func (s *Store) content(ctx context.Context, id ID, events []Event, dated []bool) (content, error) {
	d, sealed, tagged := sum{sha256.New()}, sum{sha256.New()}, 0
	d.text("onefold append 2")
	d.text(id.Type)
	d.text(id.ID)
	d.number(int64(len(events)))
	for i, e := range events {
		if s.o.Secrets != nil && s.o.Secrets.Tag != nil {
			tag, ok, err := s.o.Secrets.Tag(ctx, &e)
			if err == nil {
				err = s.o.Secrets.Bare(&e)
			}
			if err != nil {
				return content{}, fmt.Errorf("%w: %w", errIncomparable, err)
			}
			if sealed.bytes(tag); len(tag) > 0 && tagged >= 0 {
				tagged++
			}
			if !ok {
				tagged = -1
			}
		}
		d.event(&e, dated[i])
	}
	c := content{digest: d.Sum(nil)}
	if tagged > 0 {
		c.sealed = sealed.Sum(nil)
	}
	return c, nil
}

// event adds the content of an event.
func (s sum) event(e *Event, dated bool) {
	s.text(e.EventType)
	s.number(int64(max(e.Schema, 1)))
	s.bytes(e.Payload)
	for _, text := range []string{e.Correlation, e.Causation, e.Actor, e.Tenant} {
		s.text(text)
	}
	s.number(int64(len(e.Metadata)))
	for _, name := range slices.Sorted(maps.Keys(e.Metadata)) {
		s.text(name)
		s.text(e.Metadata[name])
	}
	s.tags(e.Tags)
	if !dated {
		s.number(0)
		return
	}
	s.number(1)
	s.time(e.OccurredAt)
}

// compare checks that the append equals that of the mark. Errors: ErrCommitReused; errIncomparable if its
// events could not be sealed.
func (a *appending) compare(m *Mark) error {
	switch {
	case m.N != len(a.events):
		return fmt.Errorf("%w: %q, an append of %d events", ErrCommitReused, a.commit, m.N)
	case m.Parts > 0 && m.Parts != a.parts:
		return fmt.Errorf("%w: %q, an append to %d aggregates", ErrCommitReused, a.commit, m.Parts)
	case len(m.Digest) > 0 && len(a.content.digest) == 0:
		return errIncomparable
	case len(m.Digest) > 0 && !bytes.Equal(m.Digest, a.content.digest),
		len(m.Sealed) > 0 && len(a.content.sealed) > 0 && !bytes.Equal(m.Sealed, a.content.sealed):
		return fmt.Errorf("%w: %q, an append of other events", ErrCommitReused, a.commit)
	}
	return nil
}
