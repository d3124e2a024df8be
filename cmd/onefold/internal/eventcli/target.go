package eventcli

import (
	"context"
	"iter"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
)

// target is an event store: a local one, or that of a server.
type target interface {
	append(ctx context.Context, id eventstore.ID, a *appending) (committed, error)
	read(ctx context.Context, id eventstore.ID, r reading) iter.Seq2[eventjson.Event, error]
	head(ctx context.Context, id eventstore.ID) (head, error)
	state(ctx context.Context, id eventstore.ID, version int64) (state, error)
	types(ctx context.Context) ([]typeCounts, error)
	aggregates(ctx context.Context, kind string) iter.Seq2[head, error]
	end(ctx context.Context, id eventstore.ID) error
}

// The following types have the JSON form of the API.

// appending is a requested append.
type appending struct {
	Expected any             `json:"expected,omitempty"` // a version (int64), none, exists or any
	CommitID string          `json:"commitId,omitempty"`
	Events   []eventjson.New `json:"events"`
}

// committed is the result of an append.
type committed struct {
	Commit  string `json:"commit"`
	First   int64  `json:"first"`
	Version int64  `json:"version"`
	Again   bool   `json:"again"`
}

// reading selects events. A zero field does not restrict the selection.
type reading struct {
	from, to  int64
	asOf      time.Time
	backwards bool
}

// head is the head of a stream.
type head struct {
	Type    string                 `json:"type"`
	ID      string                 `json:"id"`
	Version int64                  `json:"version"`
	State   eventstore.StreamState `json:"state,omitempty"`
	Created time.Time              `json:"created"`
	Updated time.Time              `json:"updated"`
	Last    []string               `json:"lastTypes,omitempty"`
}

// typeCounts counts the aggregates and events of a type.
type typeCounts struct {
	Type       string    `json:"type"`
	Aggregates int64     `json:"aggregates"`
	Closed     int64     `json:"closed"`
	Deleted    int64     `json:"deleted"`
	Events     int64     `json:"events"`
	LastAt     time.Time `json:"lastAt,omitzero"`
}

// state is the state of an aggregate.
type state struct {
	Version int64          `json:"version"`
	At      time.Time      `json:"at,omitzero"`
	Silent  int64          `json:"silent"`
	Fields  map[string]any `json:"fields"`
}
