package eventstore

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// ID names an aggregate, whose events are one stream. Type and id are compared to the letter.
type ID struct {
	Type string `dynamodbav:"type"` // such as order; 1 to 64 bytes
	ID   string `dynamodbav:"id"`   // 1 to 256 bytes
}

func (id ID) String() string { return id.Type + "/" + id.ID }

const (
	maxTypeBytes = 64
	maxIDBytes   = 256
)

// ErrInvalid is returned when an id, a type or an option cannot be used. The message says which, and what can.
var ErrInvalid = errors.New("eventstore: invalid")

func (id ID) check() error {
	if err := checkName("aggregate type", id.Type, maxTypeBytes); err != nil {
		return err
	}
	return checkName("aggregate id", id.ID, maxIDBytes)
}

// checkName refuses what cannot be part of a key.
func checkName(what, s string, most int) error {
	if s == "" || len(s) > most || !utf8.ValidString(s) || strings.ContainsRune(s, '#') {
		return fmt.Errorf("%w: %s %q: use 1 to %d bytes of UTF-8 without '#'", ErrInvalid, what, shorten(s), most)
	}
	return nil
}

// shorten keeps a text that came from outside readable in an error.
func shorten(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Head is what is known of a stream without reading it: its version is the number of its last event. It is written with
// every append, in the same transaction.
type Head struct {
	ID
	Version   int64       `dynamodbav:"currentSeqNum"`
	Shard     int         `dynamodbav:"shard"` // of the list of aggregates of a type; a function of the id
	State     StreamState `dynamodbav:"state,omitempty"`
	CreatedAt time.Time   `dynamodbav:"createdAt"`
	UpdatedAt time.Time   `dynamodbav:"updatedAt"`
	LastTypes []string    `dynamodbav:"lastTypes,omitempty"` // the different types of the events of the last append, sorted
	Hash      []byte      `dynamodbav:"hash,omitempty"`      // of the last event, if the stream is a chain
	FirstKept int64       `dynamodbav:"firstKept,omitempty"` // the first event in the table, where those before were truncated
	KeptAfter []byte      `dynamodbav:"keptAfter,omitempty"` // hash of the event before that one, if the stream is a chain
}

// StreamState says whether events may be appended.
type StreamState string

// The states.
const (
	Open    StreamState = ""
	Closed  StreamState = "closed"  // for good: read, never appended to
	Deleted StreamState = "deleted" // a tombstone: neither read nor appended to, and its id is not used again
)
