package eventstore

import (
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// TypeKey names a type of aggregates.
type TypeKey struct {
	Type string `dynamodbav:"type"`
}

// TypeCounts holds the counts of a type of aggregates, derived from heads.
type TypeCounts struct {
	TypeKey
	Aggregates int64     `dynamodbav:"aggregates"` // ever created, including closed and deleted ones
	Closed     int64     `dynamodbav:"closed"`
	Deleted    int64     `dynamodbav:"deleted"`
	Events     int64     `dynamodbav:"events"`
	LastAt     time.Time `dynamodbav:"lastAt,omitempty"` // last append
}

// Types holds the counts by type of aggregates.
var Types = table.Define[TypeCounts, TypeKey]("eventstore.type", table.Def[TypeCounts]{
	PK: "AGGREGATE_TYPES", SK: "TYPE#{type}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Example: exampleTypeCounts,
	Doc:     "The numbers of aggregates and events of an aggregate type.",
	Growth:  table.Growth{Writes: 1, Delayed: 0.1, Most: 3 * flushesPerSecond, Bytes: 250}, // of three types
})

// AllTypes queries the types of aggregates, by name.
var AllTypes = table.NewQuery(Types, table.QueryDef[struct{}]{
	ID: "E11", Question: "the aggregate types", Load: table.Load{PerSecond: 0.1, Items: 20, ItemBytes: 200},
})

// ListTypes returns the types of aggregates by name, as far as they are folded.
func (s *Store) ListTypes(ctx context.Context) ([]TypeCounts, error) {
	all, err := AllTypes.Collect(ctx, s.t, struct{}{})
	if err != nil {
		return nil, fmt.Errorf("eventstore: types of aggregates: %w", err)
	}
	return all, nil
}

// Folds returns all folds of the package, for a worker that runs alongside the store.
func Folds() []*fold.Fold { return []*fold.Fold{foldTypes(), FeedFold(), TypeIndexFold()} }

func foldTypes() *fold.Fold {
	return fold.New("eventstore.types", Types, (*TypeCounts).merge,
		fold.On(Heads, func(ch fold.Typed[Head], at func(TypeKey) *TypeCounts) error {
			countHead(ch.Old, -1, at)
			countHead(ch.New, +1, at)
			return nil
		}),
	)
}

// merge adds the counts of other changes.
func (c *TypeCounts) merge(o *TypeCounts) {
	c.Aggregates += o.Aggregates
	c.Closed += o.Closed
	c.Deleted += o.Deleted
	c.Events += o.Events
	if o.LastAt.After(c.LastAt) {
		c.LastAt = o.LastAt
	}
}

// countHead counts a head with a sign.
func countHead(h *Head, sign int64, at func(TypeKey) *TypeCounts) {
	if h == nil {
		return
	}
	c := at(TypeKey{h.Type})
	c.merge(&TypeCounts{Aggregates: sign, Events: sign * h.Version, LastAt: h.UpdatedAt})
	switch h.State {
	case Closed:
		c.Closed += sign
	case Deleted:
		c.Deleted += sign
	}
}
