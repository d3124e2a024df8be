package table

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table/internal/codec"
)

// columns are the attributes to read of an item, sorted by name, and their positions. Patterns use
// them to read from a dynamo.ValuesReader.
type columns struct {
	names                  []string
	pk, sk, et, ttl, order int
	stored                 []int // position of each stored field
}

func columnsOf(p *pattern) *columns {
	if p.err != nil {
		return nil
	}
	c := &columns{names: []string{AttrPK, AttrSK, AttrEntity, AttrTTL, p.skAttr}}
	for _, f := range p.entity.stored {
		c.names = append(c.names, f.Name)
	}
	slices.Sort(c.names)
	c.names = slices.Compact(c.names)
	at := func(name string) int { return slices.Index(c.names, name) }
	c.pk, c.sk, c.et, c.ttl, c.order = at(AttrPK), at(AttrSK), at(AttrEntity), at(AttrTTL), at(p.skAttr)
	for _, f := range p.entity.stored {
		c.stored = append(c.stored, at(f.Name))
	}
	return c
}

// wanted is like reader.wanted, for values.
func (c *columns) wanted(r *reader, values []types.AttributeValue) bool {
	if s := r.span; s.exact == "" && !s.inclusive && textOf(values[c.order]) == s.hi {
		return false
	}
	return textOf(values[c.et]) != Removed && (values[c.ttl] == nil || !expired(values[c.ttl], r.t.Now()))
}

// values yields the same items as All, but reads them without maps. It reads a whole page before it
// yields the first item, because the consumer may use the table.
func (q *Query[In, T, K]) values(ctx context.Context, r *reader, from dynamo.ValuesReader, yield func(T, error) bool) error {
	for !r.done {
		var page rows[T]
		var broken error
		out, err := from.QueryValues(ctx, r.in, q.core.columns.names, func(values []types.AttributeValue) error {
			if !q.core.columns.wanted(r, values) {
				return nil
			}
			if broken = q.core.entity.decodeValues(q.core.columns, values, page.grow()); broken != nil {
				page.shrink()
			}
			return broken
		})
		if err != nil && (broken == nil || !errors.Is(err, broken)) {
			return err
		}
		for _, some := range page {
			for i := range some {
				if !yield(some[i], nil) {
					return nil
				}
			}
		}
		if broken != nil {
			return broken
		}
		r.in.ExclusiveStartKey = out.LastEvaluatedKey
		r.done = len(out.LastEvaluatedKey) == 0
	}
	return nil
}

// rows are the items of a page, decoded in place. They are allocated in pieces, so that growing
// never copies items.
type rows[T any] [][]T

const fewRows, manyRows = 8, 256 // items in the first piece, and the maximum in a piece

// grow returns a pointer to a new item at the end.
func (r *rows[T]) grow() *T {
	last := len(*r) - 1
	if last < 0 || len((*r)[last]) == cap((*r)[last]) {
		*r = append(*r, make([]T, 0, min(fewRows<<min(len(*r), 8), manyRows)))
		last++
	}
	some := &(*r)[last]
	*some = (*some)[:len(*some)+1]
	return &(*some)[len(*some)-1]
}

// shrink removes the last item.
func (r *rows[T]) shrink() {
	some := &(*r)[len(*r)-1]
	*some = (*some)[:len(*some)-1]
}

// decodeValues is DecodeInto for values; v must be zero.
func (e *entity) decodeValues(c *columns, values []types.AttributeValue, v any) error {
	if err := e.isOne(textOf(values[c.et])); err != nil {
		return err
	}
	rv := reflect.ValueOf(v).Elem()
	if err := e.decodeKey(textOf(values[c.pk]), textOf(values[c.sk]), rv); err != nil {
		return err
	}
	stored := codec.Plan{Fields: e.stored}
	if err := stored.DecodeValues(values, c.stored, rv); err != nil {
		return fmt.Errorf("table: decode %s: %w", e.name, err)
	}
	return nil
}
