package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
)

// GetItem returns the item with a key. Item is nil if there is none.
func (db *DB) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	key, proj, err := request.Get(db.parser, in)
	if err != nil {
		return nil, err
	}
	s, err := db.schemaOf(in.TableName)
	if err != nil {
		return nil, err
	}
	if err := s.desc.CheckKey(key); err != nil {
		return nil, err
	}
	if proj != nil {
		if err := s.desc.CheckScalars(proj.NestedRoots()); err != nil {
			return nil, err
		}
	}
	var scratch [128]byte
	rowKey, err := s.AppendItemKey(scratch[:0], key)
	if err != nil {
		return nil, err
	}
	it, size, err := fetchRow(db.store, rowKey, proj)
	if err != nil {
		return nil, err
	}
	u := capacity.Usage{Table: capacity.ReadUnits(size, request.IsTrue(in.ConsistentRead))}
	s.meterRead(db.now().Unix(), nil, rowKey, u)
	return &dynamodb.GetItemOutput{Item: it, ConsumedCapacity: capacity.Consumed(s.desc, in.ReturnConsumedCapacity, u)}, nil
}

// fetch reads one item, projected, and the size of the whole item in bytes. The item is nil if
// there is none.
func (db *DB) fetch(from pebble.Reader, s *schema, key item.Item, proj *expr.Projection) (item.Item, int, error) {
	var scratch [128]byte
	rowKey, err := s.AppendItemKey(scratch[:0], key)
	if err != nil {
		return nil, 0, err
	}
	return fetchRow(from, rowKey, proj)
}

func fetchRow(from pebble.Reader, rowKey []byte, proj *expr.Projection) (it item.Item, size int, err error) {
	v, closer, err := from.Get(rowKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("engine: get: %w", damage.Of(err))
	}
	defer func() { err = joinClose(err, closer) }()
	return projected(v, proj)
}

// rows opens an iterator for reading many rows by key, which is cheaper than a Get for each. Many
// of these rows do not exist, since most puts of folds expect no item: filters of the last level
// show this without reading a block.
func (db *DB) rows() (*pebble.Iterator, error) {
	rows, err := db.store.NewIter(&pebble.IterOptions{KeyTypes: pebble.IterKeyTypePointsOnly, UseL6Filters: true})
	if err != nil {
		return nil, fmt.Errorf("engine: read rows: %w", err)
	}
	return rows, nil
}

// seekRow is fetchRow with an iterator.
func seekRow(rows *pebble.Iterator, rowKey []byte, proj *expr.Projection) (it item.Item, size int, err error) {
	if !rows.SeekPrefixGE(rowKey) {
		if err := damage.Of(rows.Error()); err != nil {
			return nil, 0, fmt.Errorf("engine: get: %w", err)
		}
		return nil, 0, nil
	}
	v, err := damage.Value(rows)
	if err != nil {
		return nil, 0, fmt.Errorf("engine: get: %w", err)
	}
	return projected(v, proj)
}

// projected decodes the projected part of a row's item, and returns the size of the whole item.
func projected(v []byte, proj *expr.Projection) (it item.Item, size int, err error) {
	size, b, err := row.Split(v)
	switch {
	case err != nil:
		return nil, 0, err
	case proj == nil:
		it, err = item.Decode(b)
		return it, size, err
	}
	if it, err = item.DecodeOnly(b, proj.Roots()); err != nil {
		return nil, 0, err
	}
	return proj.Apply(it), size, nil
}

// collection returns the ItemCollectionMetrics of a write. Only tables with local indexes have item
// collections.
func (ch *change) collection(how types.ReturnItemCollectionMetrics) *types.ItemCollectionMetrics {
	if how != types.ReturnItemCollectionMetricsSize || !ch.s.HasLocal() {
		return nil
	}
	return &types.ItemCollectionMetrics{
		ItemCollectionKey:   item.Item{ch.s.Hash.Name: ch.keyed[ch.s.Hash.Name]},
		SizeEstimateRangeGB: []float64{0, 1},
	}
}
