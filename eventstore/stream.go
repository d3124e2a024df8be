package eventstore

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// ID names an aggregate, whose events are one stream. Type and ID are case-sensitive.
type ID struct {
	Type string `dynamodbav:"type"` // such as order; 1 to 64 bytes
	ID   string `dynamodbav:"id"`   // 1 to 256 bytes
}

func (id ID) String() string { return id.Type + "/" + id.ID }

const (
	maxTypeBytes = 64
	maxIDBytes   = 256
)

// ErrInvalid is returned for an invalid ID, type or option. The message says which and what is
// allowed.
var ErrInvalid = errors.New("eventstore: invalid")

func (id ID) check() error {
	if err := checkName("aggregate type", id.Type, maxTypeBytes); err != nil {
		return err
	}
	return checkName("aggregate id", id.ID, maxIDBytes)
}

// checkName validates a part of a key.
func checkName(what, s string, most int) error {
	if s == "" || len(s) > most || !utf8.ValidString(s) || strings.ContainsRune(s, '#') {
		return fmt.Errorf("%w: %s %q: use 1 to %d bytes of UTF-8 without '#'", ErrInvalid, what, shorten(s), most)
	}
	return nil
}

// shorten shortens input for an error message.
func shorten(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Head describes a stream, and has its last events: the open page. Its version is the number of its
// last event. Every append writes it.
type Head struct {
	ID
	Version   int64       `dynamodbav:"currentSeqNum"`
	State     StreamState `dynamodbav:"state,omitempty"`
	CreatedAt time.Time   `dynamodbav:"createdAt"`
	UpdatedAt time.Time   `dynamodbav:"updatedAt"`
	LastTypes []string    `dynamodbav:"lastTypes,omitempty"` // distinct types of the last append's events, sorted
	Hash      []byte      `dynamodbav:"hash,omitempty"`      // of the last event, if the stream is a chain
	FirstKept int64       `dynamodbav:"firstKept,omitempty"` // first event in the table, if earlier ones were truncated
	KeptAfter []byte      `dynamodbav:"keptAfter,omitempty"` // hash of the event before FirstKept, if the stream is a chain
	First     int64       `dynamodbav:"first"`               // number of the first event in Records
	Bytes     int         `dynamodbav:"bytes"`               // size of Records when they were appended
	Records   []Record    `dynamodbav:"events"`              // events First to Version
}

// StreamState is whether events may be appended.
type StreamState string

// The states.
const (
	Open    StreamState = ""
	Closed  StreamState = "closed"  // permanently: can be read, never appended to
	Deleted StreamState = "deleted" // a tombstone: never appended to, and the ID is never reused
)
