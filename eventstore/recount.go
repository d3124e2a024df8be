package eventstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Recounted is the result of RecountTypes.
type Recounted struct {
	Types []string // all types, by name
	Wrong int      // types whose counts were wrong, and have been repaired
	Busy  []string // types whose aggregates kept being written; retry when there is less traffic
}

// recountTries is the number of attempts on types that are being written.
const recountTries = 6

// RecountTypes compares the counts of types with their aggregates and repairs differences,
// including unlisted types. To find these, it scans the table once. Appends may continue: counts
// are replaced on condition that nothing was counted since the aggregates were read, and that all
// of these are counted. caughtUp is that of RepairFeed.
func (s *Store) RecountTypes(ctx context.Context, caughtUp func(context.Context) error) (r Recounted, err error) {
	names, err := s.typesOfHeads(ctx)
	if err == nil {
		r.Types = slices.Sorted(maps.Keys(names))
		err = s.recount(ctx, caughtUp, &r)
	}
	if err != nil {
		return r, fmt.Errorf("eventstore: recount types: %w", err)
	}
	return r, nil
}

// typesOfHeads returns the listed types, and those of all heads in the table.
func (s *Store) typesOfHeads(ctx context.Context) (map[string]bool, error) {
	names := make(map[string]bool)
	listed, err := s.ListTypes(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range listed {
		names[t.Type] = true
	}
	in := &dynamodb.ScanInput{
		TableName: aws.String(s.t.Name()), ConsistentRead: aws.Bool(true),
		FilterExpression: aws.String("#et = :head"), ProjectionExpression: aws.String("#pk"),
		ExpressionAttributeNames:  map[string]string{"#et": table.AttrEntity, "#pk": table.AttrPK},
		ExpressionAttributeValues: table.Item{":head": &types.AttributeValueMemberS{Value: Heads.Name()}},
	}
	for {
		out, err := s.t.API().Scan(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, it := range out.Items {
			if pk, ok := it[table.AttrPK].(*types.AttributeValueMemberS); ok {
				if name := strings.Split(pk.Value, "#"); len(name) > 1 {
					names[name[1]] = true
				}
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return names, nil
		}
	}
}

// recount compares until all types are settled or recountTries is reached.
func (s *Store) recount(ctx context.Context, caughtUp func(context.Context) error, r *Recounted) error {
	keys := make([]TypeKey, len(r.Types))
	for i, name := range r.Types {
		keys[i] = TypeKey{name}
	}
	for range recountTries {
		if len(keys) == 0 {
			return nil
		}
		var err error
		if keys, err = s.recountOnce(ctx, caughtUp, keys, r); err != nil {
			return err
		}
	}
	for _, k := range keys {
		r.Busy = append(r.Busy, k.Type)
	}
	return nil
}

// recountOnce compares the types once, and returns those that are not settled. Aggregates are read
// before and after the drain; only equal results are used.
func (s *Store) recountOnce(ctx context.Context, caughtUp func(context.Context) error, keys []TypeKey, r *Recounted) (left []TypeKey, err error) {
	before, err := fold.Load(ctx, s.t, Types, keys)
	if err != nil {
		return nil, err
	}
	want, err := s.countTypes(ctx, keys)
	if err != nil {
		return nil, err
	}
	if err := caughtUp(ctx); err != nil {
		return nil, err
	}
	again, err := s.countTypes(ctx, keys)
	if err != nil {
		return nil, err
	}
	after, err := fold.Load(ctx, s.t, Types, keys)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		settled := before[i].Version == after[i].Version && want[i].same(&again[i])
		if settled {
			settled, err = s.settleType(ctx, &after[i], want[i], r)
		}
		if err != nil {
			return nil, err
		}
		if !settled {
			left = append(left, k)
		}
	}
	return left, nil
}

// countTypes computes the counts of types from their aggregates.
func (s *Store) countTypes(ctx context.Context, keys []TypeKey) ([]TypeCounts, error) {
	all := make([]TypeCounts, len(keys))
	for i, k := range keys {
		all[i].TypeKey = k
		for h, err := range s.HeadsOfType(ctx, k.Type) {
			if err != nil {
				return nil, err
			}
			countHead(&h, +1, func(TypeKey) *TypeCounts { return &all[i] })
		}
	}
	return all, nil
}

// same reports whether the counts are equal. LastAt may be later in the stored counts, from an
// older state of a head, and is not compared.
func (c *TypeCounts) same(o *TypeCounts) bool {
	return c.Aggregates == o.Aggregates && c.Closed == o.Closed && c.Deleted == o.Deleted && c.Events == o.Events
}

// settleType repairs the counts of a type, unless they were just written.
func (s *Store) settleType(ctx context.Context, stored *fold.Stored[TypeCounts], want TypeCounts, r *Recounted) (settled bool, err error) {
	is := &stored.State
	if is.same(&want) && !is.LastAt.Before(want.LastAt) {
		return true, nil
	}
	if is.LastAt.After(want.LastAt) {
		want.LastAt = is.LastAt
	}
	err = fold.ReplaceState(ctx, s.t, Types, want.TypeKey, want, stored.Version)
	if errors.Is(err, table.ErrConflict) {
		return false, nil
	}
	r.Wrong++
	return true, err
}
