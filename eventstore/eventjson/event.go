// Package eventjson is the JSON form of events, for HTTP, commands and files, both for reading and
// for appending.
package eventjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/onefold/onefold/eventstore"
)

// Event is an event of a stream.
type Event struct {
	Seq        int64     `json:"seq" doc:"Its number in the stream, from 1."`
	ID         string    `json:"id" doc:"A ULID, unique."`
	Type       string    `json:"type"`
	Schema     int       `json:"schema" doc:"Version of the form of its data."`
	OccurredAt time.Time `json:"occurredAt" doc:"As whoever appended it says."`
	RecordedAt time.Time `json:"recordedAt" doc:"When it was appended."`
	Content
	Commit string `json:"commit" doc:"Of the append that it came with."`
	Nth    int    `json:"nth" doc:"Its number in that append, from 0."`
	Of     int    `json:"of" doc:"How many events that append has."`
}

// Content is what an event says, with its envelope. At most one of Data and Binary is set.
type Content struct {
	Data   json.RawMessage `json:"data,omitempty" doc:"Content: any JSON."`
	Binary []byte          `json:"binary,omitempty" doc:"Content in base64, if it is not JSON."`
	eventstore.Envelope
}

// Of returns the JSON form of an event.
func Of(e *eventstore.Event) Event {
	out := Event{
		Seq: e.Seq, ID: e.EventID, Type: e.EventType, Schema: max(e.Schema, 1), OccurredAt: e.OccurredAt, RecordedAt: e.RecordedAt,
		Content: Content{Envelope: e.Envelope}, Commit: e.CommitID, Nth: e.Nth, Of: e.Of,
	}
	switch {
	case len(e.Payload) == 0:
	case json.Valid(e.Payload):
		out.Data = json.RawMessage(e.Payload)
	default:
		out.Binary = e.Payload
	}
	return out
}

// New is an event to append.
type New struct {
	Type       string    `json:"type" minLength:"1" maxLength:"128" doc:"Such as OrderPlaced; no '#'."`
	Schema     int       `json:"schema,omitempty" minimum:"0" maximum:"1000000" doc:"Version of the form of its data. Default: 1."`
	OccurredAt time.Time `json:"occurredAt,omitzero" doc:"Default: now."`
	Content
}

// Event returns the event for the store. Errors: eventstore.ErrInvalid.
func (n *New) Event() (eventstore.NewEvent, error) {
	e := eventstore.NewEvent{Type: n.Type, Schema: n.Schema, OccurredAt: n.OccurredAt, Payload: n.Binary, Envelope: n.Envelope}
	if len(n.Data) == 0 {
		return e, nil
	}
	if len(n.Binary) > 0 {
		return e, fmt.Errorf("%w: event %q: give data or binary, not both", eventstore.ErrInvalid, n.Type)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, n.Data); err != nil {
		return e, fmt.Errorf("%w: event %q: data: %w", eventstore.ErrInvalid, n.Type, err)
	}
	e.Payload = compact.Bytes()
	return e, nil
}

// NewEvents returns the events for the store. Errors: eventstore.ErrInvalid.
func NewEvents(all []New) ([]eventstore.NewEvent, error) {
	events := make([]eventstore.NewEvent, len(all))
	for i := range all {
		var err error
		if events[i], err = all[i].Event(); err != nil {
			return nil, err
		}
	}
	return events, nil
}
