package table

import (
	"cmp"
	"context"
	"maps"

	"golang.org/x/sync/errgroup"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// fanOutAtOnce limits the number of shards queried concurrently for one pattern.
const fanOutAtOnce = 8

// An ask is a range of one partition to read.
type ask struct {
	pk     string
	span   span
	filter condition
	start  Item // start after this key
}

// A stream yields live items, then nil at its end.
type stream interface {
	next(context.Context) (Item, error)
}

// request returns the Query for an ask. The upper end of a range is excluded, which a key condition
// cannot express: the Query includes it, and wanted drops it.
func (p *pattern) request(a ask, limit int32) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{ExclusiveStartKey: a.start}
	condition, values := a.span.condition(p.skAttr)
	condition = p.pkAttr + " = :pk" + condition
	values[":pk"] = &types.AttributeValueMemberS{Value: a.pk}
	in.KeyConditionExpression, in.ExpressionAttributeValues = &condition, values
	if a.filter.text != nil {
		in.FilterExpression, in.ExpressionAttributeNames = a.filter.text, a.filter.names
		maps.Copy(values, a.filter.values)
	}
	if p.index != "" {
		in.IndexName = &p.index
	}
	if p.consistent {
		in.ConsistentRead = &consistent
	}
	if p.desc {
		forward := false
		in.ScanIndexForward = &forward
	}
	if limit > 0 {
		in.Limit = &limit
	}
	return in
}

// condition returns the span as the rest of a key condition. Key values are never empty, so an
// empty lower end is omitted.
func (s span) condition(sk string) (string, Item) {
	str := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	switch {
	case s.exact != "":
		return " AND " + sk + " = :sk", Item{":sk": str(s.exact)}
	case s.prefix != "":
		return " AND begins_with(" + sk + ", :sk)", Item{":sk": str(s.prefix)}
	case s.lo == "" && s.hi == successor(""):
		return "", Item{}
	case s.lo == "":
		return " AND " + sk + " <= :to", Item{":to": str(s.hi)}
	}
	return " AND " + sk + " BETWEEN :from AND :to", Item{":from": str(s.lo), ":to": str(s.hi)}
}

// stream opens the given ranges. Several ranges are read concurrently and merged.
func (p *pattern) stream(ctx context.Context, t *Table, asks []ask, limit int32) (stream, error) {
	m := &merger{p: p}
	for _, a := range asks {
		r := &reader{t: t, p: p, in: p.request(a, limit), span: a.span}
		r.in.TableName = &t.name
		r.done = a.span.exact == "" && (a.span.lo > a.span.hi || a.span.lo == a.span.hi && !a.span.inclusive)
		m.readers = append(m.readers, r)
	}
	if len(m.readers) == 1 {
		return m.readers[0], nil
	}
	return m, m.fill(ctx)
}

// A reader yields the live items of one range.
type reader struct {
	t    *Table
	p    *pattern
	in   *dynamodb.QueryInput
	span span
	page []Item
	done bool
}

func (r *reader) next(ctx context.Context) (Item, error) {
	for {
		for len(r.page) > 0 {
			it := r.page[0]
			r.page = r.page[1:]
			if r.wanted(it) {
				return it, nil
			}
		}
		if r.done {
			return nil, nil
		}
		out, err := r.t.api.Query(ctx, r.in)
		if err != nil {
			return nil, err
		}
		r.page, r.in.ExclusiveStartKey = out.Items, out.LastEvaluatedKey
		r.done = len(out.LastEvaluatedKey) == 0
	}
}

func (r *reader) wanted(it Item) bool {
	if s := r.span; s.exact == "" && !s.inclusive && text(it, r.p.skAttr) == s.hi {
		return false
	}
	return r.t.live(it)
}

// A merger yields the items of several readers in the order of the pattern.
type merger struct {
	p       *pattern
	readers []*reader
	heads   []Item // parallel to readers; nil at the end
}

// fill reads the first item of every reader, several at a time.
func (m *merger) fill(ctx context.Context) error {
	m.heads = make([]Item, len(m.readers))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(fanOutAtOnce)
	for i, r := range m.readers {
		g.Go(func() (err error) {
			m.heads[i], err = r.next(ctx)
			return err
		})
	}
	return g.Wait()
}

// next returns the first of the heads. There are only as many as shards, so a linear search is as
// good as a heap.
func (m *merger) next(ctx context.Context) (Item, error) {
	first := -1
	for i, head := range m.heads {
		if head != nil && (first < 0 || m.p.compare(m.p.position(head), m.p.position(m.heads[first])) < 0) {
			first = i
		}
	}
	if first < 0 {
		return nil, nil
	}
	it := m.heads[first]
	var err error
	if m.heads[first], err = m.readers[first].next(ctx); err != nil {
		return nil, err
	}
	return it, nil
}

// A position is the place of an item in a pattern: the sort key and partition key there and, on an
// index, the item's own key. Patterns are ordered by the first two. The store decides the order of
// items in an index that agree in both.
type position []string

func (p *pattern) position(it Item) position {
	if p.index == "" {
		return position{text(it, AttrSK), text(it, AttrPK)}
	}
	return position{text(it, p.skAttr), text(it, p.pkAttr), text(it, AttrPK), text(it, AttrSK)}
}

func (p *pattern) compare(a, b position) int {
	if p.desc {
		a, b = b, a
	}
	return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
}
