package eventstore

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// EventKey names an event by its stream and its number in it, from 1 and without gaps.
type EventKey struct {
	ID
	Seq int64 `dynamodbav:"seqNum"`
}

// Event is a fact: what happened to an aggregate. It is stored once and never changed.
type Event struct {
	EventKey
	EventID    string    `dynamodbav:"eventId"` // ULID of when it was appended; unique
	EventType  string    `dynamodbav:"eventType"`
	Schema     int       `dynamodbav:"schema,omitempty"` // version of the payload's form; 0 is 1
	OccurredAt time.Time `dynamodbav:"occurredAt"`       // as whoever appended it says
	RecordedAt time.Time `dynamodbav:"recordedAt"`       // when it was appended
	Payload    Payload   `dynamodbav:"payload,omitempty"`
	Envelope

	CommitID string `dynamodbav:"commitId"`       // of the append that it came with
	Nth      int    `dynamodbav:"nth"`            // its number in that append, from 0
	Of       int    `dynamodbav:"of"`             // how many events that append has
	Shard    int    `dynamodbav:"shard"`          // of its type's index; 0: the only one, or the first
	Hash     []byte `dynamodbav:"hash,omitempty"` // of it and the event before: see ChainHash; only with Options.Chain
}

// Envelope is what goes with an event beside its payload.
type Envelope struct {
	Correlation string            `dynamodbav:"correlationId,omitempty" json:"correlationId,omitempty"` // of the conversation that it is part of
	Causation   string            `dynamodbav:"causationId,omitempty" json:"causationId,omitempty"`     // the event or command that it follows from
	Actor       string            `dynamodbav:"actor,omitempty" json:"actor,omitempty"`                 // who did it
	Tenant      string            `dynamodbav:"tenant,omitempty" json:"tenant,omitempty"`
	Metadata    map[string]string `dynamodbav:"metadata,omitempty" json:"metadata,omitempty"`
}

// NewEvent is an event to be appended.
type NewEvent struct {
	Type       string
	Schema     int       // version of the payload's form, from 1; 0 is 1
	OccurredAt time.Time // zero: now
	Payload    []byte
	Envelope
}

const (
	maxEventType  = 128
	maxMetadata   = 64        // entries
	maxEventBytes = 400 << 10 // DynamoDB's limit of an item, with all that an event has
)

func (e *NewEvent) check() error {
	if err := checkName("event type", e.Type, maxEventType); err != nil {
		return err
	}
	if e.Schema < 0 || len(e.Metadata) > maxMetadata {
		return fmt.Errorf("%w: event %q: a schema version is 1 or more, and there are at most %d entries of metadata", ErrInvalid, shorten(e.Type), maxMetadata)
	}
	return nil
}

// Payload is what an event says, in the form of its codec. It is stored as a string if it is text, which JSON is, so that
// people can read it in the table, and else as binary.
type Payload []byte

// MarshalDynamoDBAttributeValue stores the payload.
func (p Payload) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	if utf8.Valid(p) {
		return &types.AttributeValueMemberS{Value: string(p)}, nil
	}
	return &types.AttributeValueMemberB{Value: p}, nil
}

// UnmarshalDynamoDBAttributeValue reads it.
func (p *Payload) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	switch av := av.(type) {
	case *types.AttributeValueMemberS:
		*p = Payload(av.Value)
	case *types.AttributeValueMemberB:
		*p = av.Value
	default:
		return fmt.Errorf("eventstore: a payload is a %T", av)
	}
	return nil
}
