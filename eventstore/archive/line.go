package archive

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
)

// line is an event in a file, as it was stored: sealed fields stay sealed, so that crypto-shredding
// covers archives.
type line struct {
	AggregateType string `json:"aggregateType"`
	AggregateID   string `json:"aggregateId"`
	eventjson.Event
	Exact []byte `json:"exact,omitempty"` // the exact payload, if data has the same JSON in other bytes
	Shard int    `json:"shard,omitempty"`
	Hash  []byte `json:"hash,omitempty"`
}

// appendLine appends the line of an event, with a newline.
func appendLine(b []byte, e *eventstore.Event) ([]byte, error) {
	l := line{AggregateType: e.Type, AggregateID: e.EventKey.ID.ID, Event: eventjson.Of(e), Shard: e.Shard, Hash: e.Hash}
	if l.Data != nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, l.Data); err != nil || !bytes.Equal(compact.Bytes(), e.Payload) {
			l.Exact = e.Payload
		}
	}
	out := bytes.NewBuffer(b)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&l); err != nil {
		return b, fmt.Errorf("archive: event %d of %s: %w", e.Seq, e.EventKey.ID, err)
	}
	return out.Bytes(), nil
}

func parseLine(b []byte) (e eventstore.Event, err error) {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return e, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	e = eventstore.Event{
		EventKey: eventstore.EventKey{ID: eventstore.ID{Type: l.AggregateType, ID: l.AggregateID}, Seq: l.Seq},
		EventID:  l.ID, EventType: l.Type, Schema: l.Schema, OccurredAt: l.OccurredAt, RecordedAt: l.RecordedAt, Envelope: l.Envelope,
		CommitID: l.Commit, Nth: l.Nth, Of: l.Of, Shard: l.Shard, Hash: l.Hash, Payload: eventstore.Payload(l.Binary),
	}
	switch {
	case len(l.Exact) > 0:
		e.Payload = l.Exact
	case len(l.Data) > 0:
		e.Payload = eventstore.Payload(l.Data)
	}
	return e, nil
}

// same reports whether two events have identical lines.
func same(a, b *eventstore.Event) (bool, error) {
	x, err := appendLine(nil, a)
	if err != nil {
		return false, err
	}
	y, err := appendLine(nil, b)
	return err == nil && bytes.Equal(x, y), err
}
