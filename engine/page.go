package engine

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/layout"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
)

// maxPageBytes is the total size of evaluated items that ends a page of a Query or Scan.
const maxPageBytes = 1 << 20

// pageRequest is the common part of Query and Scan: a range of rows of a table or index, in either
// order.
type pageRequest struct {
	s *schema
	x *layout.Index // nil: the table
	layout.Range
	reverse    bool
	limit      int // maximum number of evaluated items; 0: none
	consistent bool
	countOnly  bool
	whole      bool // fetch from the table what a local index does not project
	filter     *expr.Condition
	projection *expr.Projection
	columns    *item.Columns // receive the items; nil: they are collected in the page
}

// pageRequest checks a Query or Scan and determines its range of rows.
func (db *DB) pageRequest(q *request.Read) (r *pageRequest, err error) {
	if err := q.Check(db.parser); err != nil {
		return nil, err
	}
	r = &pageRequest{consistent: request.IsTrue(q.Consistent), countOnly: q.Select == types.SelectCount, filter: q.Filtered, projection: q.Projected}
	if r.s, err = db.schemaOf(q.Table); err != nil {
		return nil, err
	}
	if q.Limit != nil {
		r.limit = int(*q.Limit)
	}
	if r.x, r.whole, err = r.s.Target(q); err != nil {
		return nil, err
	}
	if db.o.IndexDelay > 0 && r.x != nil && !r.x.Desc.Local {
		return r, db.applyPostponed(db.now().UnixMilli())
	}
	return r, nil
}

// page is the result of a pageRequest.
type page struct {
	items   []item.Item
	count   int
	scanned int
	last    item.Item // where to continue; nil at the end
	decoder item.Decoder
	use     capacity.Usage
}

// readPage evaluates rows until the range, the limit or the page size is exhausted.
func (db *DB) readPage(r *pageRequest) (p *page, err error) {
	it, err := db.store.NewIter(&pebble.IterOptions{LowerBound: r.Lower, UpperBound: r.Upper})
	if err != nil {
		return nil, fmt.Errorf("engine: read: %w", err)
	}
	defer func() { err = joinClose(err, it) }()
	p = new(page)
	size := 0
	for ok := r.first(it); ok; ok = r.next(it) {
		v, err := damage.Value(it)
		if err != nil {
			return nil, fmt.Errorf("engine: read: %w", err)
		}
		n, err := db.evaluate(r, p, it.Key(), v)
		if err != nil {
			return nil, err
		}
		size += n
		if p.scanned == r.limit || size >= maxPageBytes {
			if p.last, err = r.position(v); err != nil {
				return nil, err
			}
			break
		}
	}
	if err := damage.Of(it.Error()); err != nil {
		return nil, fmt.Errorf("engine: read: %w", err)
	}
	db.charge(r, p, size)
	return p, nil
}

func (r *pageRequest) first(it *pebble.Iterator) bool {
	switch {
	case r.After == nil && r.reverse:
		return it.Last()
	case r.After == nil:
		return it.First()
	case r.reverse:
		return it.SeekLT(r.After)
	}
	return it.SeekGE(append(r.After, 0))
}

func (r *pageRequest) next(it *pebble.Iterator) bool {
	if r.reverse {
		return it.Prev()
	}
	return it.Next()
}

// evaluate adds one row to the page and returns the bytes that it counts.
func (db *DB) evaluate(r *pageRequest, p *page, key, value []byte) (int, error) {
	size, b, err := row.Split(value)
	if err != nil {
		return 0, err
	}
	p.scanned++
	if r.countOnly && r.filter == nil {
		p.count++
		return size, nil
	}
	if r.columns != nil && r.filter == nil && r.projection == nil && !r.whole {
		p.count++
		return size, r.columns.Row(&p.decoder, b)
	}
	it, err := db.rowItem(r, p, b)
	if err != nil {
		return 0, err
	}
	if r.filter != nil {
		ok, err := r.filter.Eval(it)
		if err != nil {
			return 0, err
		}
		if !ok {
			return size, nil
		}
	}
	p.count++
	if r.countOnly {
		return size, nil
	}
	if r.projection != nil {
		it = r.projection.Apply(it)
	}
	if r.columns != nil {
		return size, r.columns.Item(it)
	}
	p.items = append(p.items, it)
	return size, nil
}

// rowItem decodes a row, or fetches the item that an index row stands for.
func (db *DB) rowItem(r *pageRequest, p *page, b []byte) (item.Item, error) {
	it, err := p.decoder.Decode(b)
	if err != nil || !r.whole {
		return it, err
	}
	full, size, err := db.fetch(db.store, r.s, it, nil)
	if err != nil {
		return nil, err
	}
	p.use.Table += capacity.ReadUnits(size, r.consistent)
	if full == nil {
		return it, nil
	}
	return full, nil
}

// position returns the keys after which the next page starts.
func (r *pageRequest) position(value []byte) (item.Item, error) {
	_, b, err := row.Split(value)
	if err != nil {
		return nil, err
	}
	attrs := r.s.KeyAttrs(r.x)
	names := make([]string, len(attrs))
	for i, a := range attrs {
		names[i] = a.Name
	}
	return item.DecodeOnly(b, names)
}

// charge adds the page's capacity: the sum of the evaluated sizes, rounded up once.
func (db *DB) charge(r *pageRequest, p *page, size int) {
	h := capacity.ReadUnits(size, r.consistent)
	if r.x == nil {
		p.use.Table += h
	} else {
		p.use.AddIndex(r.x.Ordinal, h)
	}
	r.s.meterRead(db.now().Unix(), r.x, r.Lower, p.use)
}

// itemsOut returns the Items of a response, or nil if only the count is requested.
func (p *page) itemsOut(countOnly bool) []map[string]types.AttributeValue {
	if countOnly {
		return nil
	}
	if p.items == nil {
		return []map[string]types.AttributeValue{}
	}
	return p.items
}
