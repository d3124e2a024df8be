package eventstore

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// EventKey names an event by its stream and its number in the stream, from 1 without gaps.
type EventKey struct {
	ID
	Seq int64 `dynamodbav:"seqNum"`
}

// Event is a fact: something that happened to an aggregate. It is stored once and never changed.
type Event struct {
	EventKey
	EventID    string    `dynamodbav:"eventId"` // unique ULID of its append's time
	EventType  string    `dynamodbav:"eventType"`
	Schema     int       `dynamodbav:"schema,omitempty"` // version of the payload's form; 0 means 1
	OccurredAt time.Time `dynamodbav:"occurredAt"`       // as given by the caller
	RecordedAt time.Time `dynamodbav:"recordedAt"`       // time of the append
	Payload    Payload   `dynamodbav:"payload,omitempty"`
	Envelope

	CommitID string `dynamodbav:"commitId"`       // of its append
	Nth      int    `dynamodbav:"nth"`            // index in its append, from 0
	Of       int    `dynamodbav:"of"`             // number of events in its append
	Shard    int    `dynamodbav:"shard"`          // of its type's index; 0: the only or first one
	Hash     []byte `dynamodbav:"hash,omitempty"` // of this event and the previous one, see ChainHash; only with Options.Chain
}

// Envelope is the data of an event besides its payload.
type Envelope struct {
	Correlation string            `dynamodbav:"correlationId,omitempty" json:"correlationId,omitempty"` // ID of the conversation that it belongs to
	Causation   string            `dynamodbav:"causationId,omitempty" json:"causationId,omitempty"`     // event or command that caused it
	Actor       string            `dynamodbav:"actor,omitempty" json:"actor,omitempty"`                 // who did it
	Tenant      string            `dynamodbav:"tenant,omitempty" json:"tenant,omitempty"`
	Tags        []string          `dynamodbav:"tags,omitempty" json:"tags,omitempty"` // what Query finds it by, such as course:42; not encrypted
	Metadata    map[string]string `dynamodbav:"metadata,omitempty" json:"metadata,omitempty"`
}

// NewEvent is an event to append.
type NewEvent struct {
	Type       string
	Schema     int       // version of the payload's form, from 1; 0 means 1
	OccurredAt time.Time // zero: now
	Payload    []byte
	Envelope
}

const (
	maxEventType  = 128
	maxMetadata   = 64        // number of entries
	maxEventBytes = 400 << 10 // DynamoDB's limit of an item, for the whole event
)

func (e *NewEvent) check() error {
	if err := checkName("event type", e.Type, maxEventType); err != nil {
		return err
	}
	if e.Schema < 0 || len(e.Metadata) > maxMetadata {
		return fmt.Errorf("%w: event %q: use a schema version from 1 and at most %d metadata entries", ErrInvalid, shorten(e.Type), maxMetadata)
	}
	return checkTags(e.Tags)
}

// Payload is the content of an event, encoded by its codec. Text, such as JSON, is stored as a
// string, so that people can read it in the table; anything else as binary.
type Payload []byte

// MarshalDynamoDBAttributeValue encodes the payload.
func (p Payload) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	if utf8.Valid(p) {
		return &types.AttributeValueMemberS{Value: string(p)}, nil
	}
	return &types.AttributeValueMemberB{Value: p}, nil
}

// UnmarshalDynamoDBAttributeValue decodes the payload.
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
