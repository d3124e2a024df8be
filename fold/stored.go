package fold

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/table"
)

// Stored is a derived item with the version at which it was read.
type Stored[S any] struct {
	State   S
	Version int64 // 0 if there is no such item
	Removed bool  // there is a tombstone: State is zero except for its key
}

// Load reads derived items by key, consistently, for verify and rebuild. Results are in the order
// of keys; an absent item is the zero state with its key.
//
// The contents of an item at a given version can be recomputed from the source items if nothing is
// folded into it at the same time: Load it, recompute, make a Barrier and WaitFor it. If the version
// is still the same, the recomputed state contains exactly the changes that the item has counted,
// and ReplaceState with that version may replace it.
func Load[S any, K comparable](ctx context.Context, t *table.Table, into *table.Entity[S, K], keys []K) ([]Stored[S], error) {
	r := requests.New(t, requests.Options{})
	encoded := make([]table.Item, len(keys))
	var distinct []table.Item
	seen := make(map[string]bool)
	for i, k := range keys {
		it, err := into.Key(k)
		if err != nil {
			return nil, fmt.Errorf("fold: load %s: %w", into.Name(), err)
		}
		encoded[i] = it
		if id := requests.ID(it); !seen[id] {
			seen[id] = true
			distinct = append(distinct, it)
		}
	}
	found := make(map[string]table.Item)
	for from := 0; from < len(distinct); from += requests.MaxItems {
		items, err := r.Items(ctx, distinct[from:min(from+requests.MaxItems, len(distinct))])
		if err != nil {
			return nil, fmt.Errorf("fold: load %s: %w", into.Name(), err)
		}
		for id, it := range items {
			found[id] = it
		}
	}
	out := make([]Stored[S], len(keys))
	for i, key := range encoded {
		var err error
		if out[i], err = readStored(into, key, found[requests.ID(key)]); err != nil {
			return nil, fmt.Errorf("fold: load %s: %w", into.Name(), err)
		}
	}
	return out, nil
}

func readStored[S any, K comparable](into *table.Entity[S, K], key, it table.Item) (s Stored[S], err error) {
	s.Version, s.Removed = versionOf(it), table.IsRemoved(it)
	if it == nil || s.Removed {
		it = zeroItem(key, into.Name())
	}
	err = into.DecodeInto(it, &s.State)
	return s, err
}

// ReplaceState overwrites the state of a derived item if it still has the given version, 0 for an
// item that must not exist. The item keeps its marks. Errors: table.ErrConflict if the item has
// changed. See Load.
func ReplaceState[S any, K comparable](ctx context.Context, t *table.Table, into *table.Entity[S, K], key K, state S, version int64) error {
	k, err := into.Key(key)
	if err != nil {
		return fmt.Errorf("fold: replace %s: %w", into.Name(), err)
	}
	it, err := into.Encode(&state)
	switch {
	case err != nil:
	case requests.ID(it) != requests.ID(k):
		err = fmt.Errorf("the key of the state is not %v", key)
	default:
		err = replace(ctx, t, it, version)
	}
	if err != nil {
		return fmt.Errorf("fold: replace %s: %w", into.Name(), err)
	}
	return nil
}

// RemoveState is like ReplaceState, but leaves a tombstone. It is for items that should not exist.
func RemoveState[S any, K comparable](ctx context.Context, t *table.Table, into *table.Entity[S, K], key K, version int64) error {
	k, err := into.Key(key)
	if err == nil {
		it := zeroItem(k, table.Removed)
		it[table.AttrTTL] = number(t.Now().Add(keepTombstone).Unix())
		err = replace(ctx, t, it, version)
	}
	if err != nil {
		return fmt.Errorf("fold: remove %s: %w", into.Name(), err)
	}
	return nil
}

// replace puts an item with the marks of the present one.
func replace(ctx context.Context, t *table.Table, it table.Item, version int64) error {
	key := table.Item{table.AttrPK: it[table.AttrPK], table.AttrSK: it[table.AttrSK]}
	out, err := t.API().GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr(t.Name()), Key: key, ConsistentRead: ptr(true)})
	if err != nil {
		return err
	}
	s := &stored{exists: out.Item != nil, version: versionOf(out.Item)}
	if s.version != version {
		return fmt.Errorf("%w: it has version %d, not %d", table.ErrConflict, s.version, version)
	}
	next := s.version + 1
	if s.version == 0 {
		next = firstVersion(t.Now())
	}
	it[AttrVersion] = number(next)
	it[AttrMarks] = &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
	if m, ok := out.Item[AttrMarks]; ok {
		it[AttrMarks] = m
	}
	in := &dynamodb.PutItemInput{TableName: ptr(t.Name()), Item: it}
	onVersion(in, s)
	_, err = t.API().PutItem(ctx, in)
	if dynamo.IsConditionFailed(err) {
		return fmt.Errorf("%w: it was written concurrently", table.ErrConflict)
	}
	return err
}
