package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
)

// GetItem returns an item by its key; no Item when there is none.
func (db *DB) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	key, proj, err := db.checkGet(in)
	if err != nil {
		return nil, err
	}
	s, err := db.schemaOf(in.TableName)
	if err != nil {
		return nil, err
	}
	if err := s.checkKey(key); err != nil {
		return nil, err
	}
	it, size, err := db.fetch(db.store, s, key, proj)
	if err != nil {
		return nil, err
	}
	u := usage{table: readUnits(size, isTrue(in.ConsistentRead))}
	s.meterUse(reading, u)
	return &dynamodb.GetItemOutput{Item: it, ConsumedCapacity: s.consumed(in.ReturnConsumedCapacity, u)}, nil
}

func (db *DB) checkGet(in *dynamodb.GetItemInput) (item.Item, *expr.Projection, error) {
	var c constraints
	if in.Key == nil {
		c.addNull("key")
	}
	c.checkReturns(in.ReturnConsumedCapacity, "", "")
	if err := checkTableName(in.TableName, &c); err != nil {
		return nil, nil, err
	}
	sel := selection{projection: in.ProjectionExpression, names: in.ExpressionAttributeNames, attributes: in.AttributesToGet}
	if err := sel.check(); err != nil {
		return nil, nil, err
	}
	key, err := normalize(in.Key)
	if err != nil {
		return nil, nil, err
	}
	proj, err := db.bindProjection(sel)
	return key, proj, err
}

// selection is what a read asks for of an item.
type selection struct {
	projection *string
	names      map[string]string
	attributes []string // the legacy AttributesToGet
}

func (sel *selection) check() error {
	err := checkMix([]exprParam{{"ProjectionExpression", sel.projection}}, []legacyParam{{"AttributesToGet", sel.attributes != nil}}, sel.names, nil)
	if err != nil || sel.attributes == nil {
		return err
	}
	w := newLegacyWriter()
	if sel.projection, err = w.project(sel.attributes); err != nil {
		return err
	}
	sel.names = nonEmpty(w.names)
	return nil
}

// bindProjection parses a projection; nil for none.
func (db *DB) bindProjection(sel selection) (*expr.Projection, error) {
	if sel.projection == nil {
		return nil, nil
	}
	b, err := expr.NewBindings(sel.names, nil)
	if err != nil {
		return nil, asValidation(err)
	}
	proj, err := db.parser.Projection(*sel.projection, b)
	if err != nil {
		return nil, asValidation(err)
	}
	return proj, asValidation(b.CheckUnused())
}

// fetch reads one item, projected, and its whole size in bytes; nil when there is none.
func (db *DB) fetch(from pebble.Reader, s *schema, key item.Item, proj *expr.Projection) (item.Item, int, error) {
	var scratch [128]byte
	rowKey, err := s.appendItemKey(scratch[:0], key)
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
		return nil, 0, fmt.Errorf("engine: get: %w", err)
	}
	defer func() { err = joinClose(err, closer) }()
	size, b, err := splitRow(v)
	if err != nil {
		return nil, 0, err
	}
	it, err = projected(b, proj)
	return it, size, err
}

// projected decodes as much of an item as the projection names.
func projected(b []byte, proj *expr.Projection) (item.Item, error) {
	if proj == nil {
		return item.Decode(b)
	}
	it, err := item.DecodeOnly(b, proj.Roots())
	if err != nil {
		return nil, err
	}
	return proj.Apply(it), nil
}

func isTrue(b *bool) bool { return b != nil && *b }

// collection is the ItemCollectionMetrics of a write: only tables with local indexes have item collections.
func (ch *change) collection(how types.ReturnItemCollectionMetrics) *types.ItemCollectionMetrics {
	if how != types.ReturnItemCollectionMetricsSize || !ch.s.hasLocal() {
		return nil
	}
	return &types.ItemCollectionMetrics{
		ItemCollectionKey:   item.Item{ch.s.hash.Name: ch.keyed[ch.s.hash.Name]},
		SizeEstimateRangeGB: []float64{0, 1},
	}
}

func (s *schema) hasLocal() bool {
	for _, x := range s.indexes {
		if x.desc.Local {
			return true
		}
	}
	return false
}
