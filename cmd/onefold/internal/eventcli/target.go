package eventcli

import (
	"context"
	"iter"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
)

// target is an event store, here or behind a server.
type target interface {
	append(ctx context.Context, id eventstore.ID, a *appending) (committed, error)
	read(ctx context.Context, id eventstore.ID, r reading) iter.Seq2[eventjson.Event, error]
	head(ctx context.Context, id eventstore.ID) (head, error)
	state(ctx context.Context, id eventstore.ID, version int64) (state, error)
	types(ctx context.Context) ([]typeCounts, error)
	aggregates(ctx context.Context, kind string) iter.Seq2[head, error]
	end(ctx context.Context, id eventstore.ID) error
}

// The following are as the API tells them.

// appending is an append to be done.
type appending struct {
	Expected any             `json:"expected,omitempty"` // an int64, none, exists or any
	CommitID string          `json:"commitId,omitempty"`
	Events   []eventjson.New `json:"events"`
}

// committed is an append that happened.
type committed struct {
	Commit  string `json:"commit"`
	First   int64  `json:"first"`
	Version int64  `json:"version"`
	Again   bool   `json:"again"`
}

// reading says which events are wanted; the zero value of each part does not narrow.
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

// typeCounts are how much there is of a type of aggregates.
type typeCounts struct {
	Type       string    `json:"type"`
	Aggregates int64     `json:"aggregates"`
	Closed     int64     `json:"closed"`
	Deleted    int64     `json:"deleted"`
	Events     int64     `json:"events"`
	LastAt     time.Time `json:"lastAt,omitzero"`
}

// state is what events came to.
type state struct {
	Version int64          `json:"version"`
	At      time.Time      `json:"at,omitzero"`
	Silent  int64          `json:"silent"`
	Fields  map[string]any `json:"fields"`
}
