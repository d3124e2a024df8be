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
	EventID    string // unique ULID of its append's time
	EventType  string
	Schema     int       // version of the payload's form; 0 means 1
	OccurredAt time.Time // as given by the caller
	RecordedAt time.Time // time of the append
	Payload    Payload
	Envelope

	CommitID string // of its append
	Nth      int    // index in its append, from 0
	Of       int    // number of events in its append
	Shard    int    // of its type's index; 0: the only or first one
	Hash     []byte // of this event and the previous one, see ChainHash; only with Options.Chain
}

// Envelope is the data of an event besides its payload.
type Envelope struct {
	Correlation string            `json:"correlationId,omitempty"` // ID of the conversation that it belongs to
	Causation   string            `json:"causationId,omitempty"`   // event or command that caused it
	Actor       string            `json:"actor,omitempty"`         // who did it
	Tenant      string            `json:"tenant,omitempty"`
	Tags        []string          `json:"tags,omitempty"` // what Query finds it by, such as course:42; not encrypted
	Metadata    map[string]string `json:"metadata,omitempty"`
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
	maxEventType = 128
	maxMetadata  = 64        // number of entries
	maxItemBytes = 400 << 10 // DynamoDB's limit of an item, for the whole event
)

// CheckEvent checks whether a stream accepts an event, as far as that depends on nothing stored.
// Errors: ErrInvalid, ErrTooLarge.
func CheckEvent(id ID, e *NewEvent) error {
	if err := id.check(); err != nil {
		return err
	}
	if err := e.check(); err != nil {
		return err
	}
	if n := len(e.Payload); n > maxItemBytes-spareBytes {
		return fmt.Errorf("%w: the payload of event %q has %d bytes", ErrTooLarge, shorten(e.Type), n)
	}
	return nil
}

func (e *NewEvent) check() error {
	if err := checkName("event type", e.Type, maxEventType); err != nil {
		return err
	}
	if e.Schema < 0 || e.Schema > maxNumber || len(e.Metadata) > maxMetadata {
		return fmt.Errorf("%w: event %q: use a schema version from 1 and at most %d metadata entries", ErrInvalid, shorten(e.Type), maxMetadata)
	}
	if at := e.OccurredAt.UnixMilli(); at < firstTime || at > lastTime {
		return fmt.Errorf("%w: event %q: use a time with a year of four digits", ErrInvalid, shorten(e.Type))
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
