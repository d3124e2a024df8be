package table

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/onefold/onefold/dynamo"
)

// Load is the expected load of a pattern, for documentation and cost estimates.
type Load struct { // average number of calls a second
	PerSecond float64 // items read or written by a call
	Items     int     // size of one item
	ItemBytes int     // size of one of them
}

// QueryDef declares an access pattern that reads a range of one partition, or of several partitions
// that are shards of one. Template variables are the fields of In, by their `dynamodbav` names.
type QueryDef[In any] struct {
	ID, Question string // such as W7, "statistics of a site for a date range"

	Index string // secondary index; empty: the table itself
	PK    string // default: the entity's own template

	// The sort keys to read: those that begin with Prefix, or those in [From, To). Default: all of
	// the entity's. If the last variable of From or To is empty in the input, that end is open.
	Prefix   string
	From, To string
	Desc     bool // descending: latest or largest first

	// FanOut names an integer variable of PK, such as shard. Each number returned by Over is
	// queried, and the results are merged in the order of their sort keys.
	FanOut string
	Over   func(In) []int

	Filter   func(In) Cond // keeps only items that satisfy it; items it drops are still read and billed
	Eventual bool          // eventually consistent reads, at half the price; always so for an index
	Load     Load

	Example func(*In) // completes an input made up for documentation, so that it finds an example row; optional
}

// A Query is an access pattern as a value. It is safe for concurrent use.
type Query[In, T, K any] struct {
	core   *pattern
	entity *Entity[T, K]
	over   func(In) []int
	filter func(In) Cond

	columns *columns // nil for an invalid pattern
}

// NewQuery declares a pattern over an entity. It never fails: problems are reported by NewSchema
// and by every use of the pattern.
func NewQuery[In, T, K any](e *Entity[T, K], d QueryDef[In]) *Query[In, T, K] {
	p := &pattern{
		id: d.ID, question: d.Question, operation: "Query", entity: e.core, index: d.Index, desc: d.Desc,
		consistent: !d.Eventual && d.Index == "", load: d.Load, fanOut: d.FanOut, filtered: d.Filter != nil, source: caller(),
	}
	p.describe(reflect.TypeFor[In](), d.PK, rangeTemplates{d.Prefix, d.From, d.To})
	if (d.FanOut == "") != (d.Over == nil) {
		p.fail(errors.New("set FanOut and Over together: FanOut names the variable, and Over returns its numbers"))
	}
	if d.Over == nil && d.Filter == nil {
		p.fail(p.unused()...)
	}
	p.seal()
	q := &Query[In, T, K]{core: p, entity: e, over: d.Over, filter: d.Filter, columns: columnsOf(p)}
	q.bindExample(d.Example)
	return q
}

// All yields all live items in the order of their sort keys. It reads further pages as items are
// consumed, and ends after the first error.
func (q *Query[In, T, K]) All(ctx context.Context, t *Table, in In) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		s, err := q.open(ctx, t, in, 0)
		if r, one := s.(*reader); one && err == nil && q.filter == nil {
			if from := dynamo.ValuesOf(t.api); from != nil {
				if err = q.values(ctx, r, from, yield); err == nil {
					return
				}
			}
		}
		for err == nil {
			var it Item
			if it, err = s.next(ctx); it == nil {
				break
			}
			var v T
			if v, err = q.entity.Decode(it); err == nil && !yield(v, nil) {
				return
			}
		}
		if err != nil {
			var zero T
			yield(zero, q.core.failed(err))
		}
	}
}

// Collect returns all items yielded by All.
func (q *Query[In, T, K]) Collect(ctx context.Context, t *Table, in In) ([]T, error) {
	var vs []T
	for v, err := range q.All(ctx, t, in) {
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
	return vs, nil
}

// First returns the first live item. Errors: ErrNotFound.
func (q *Query[In, T, K]) First(ctx context.Context, t *Table, in In) (T, error) {
	var v T
	s, err := q.open(ctx, t, in, 1)
	if err != nil {
		return v, q.core.failed(err)
	}
	it, err := s.next(ctx)
	switch {
	case err != nil:
	case it == nil:
		err = ErrNotFound
	default:
		v, err = q.entity.Decode(it)
	}
	if err != nil {
		return v, q.core.failed(err)
	}
	return v, nil
}

// open opens a stream of the pattern's live items. limit is the page size to request; 0 leaves it
// to the store.
func (q *Query[In, T, K]) open(ctx context.Context, t *Table, in In, limit int32) (stream, error) {
	asks, err := q.asks(in)
	if err != nil {
		return nil, err
	}
	return q.core.stream(ctx, t, asks, limit)
}

// asks returns the ranges to read for an input, one for each shard.
func (q *Query[In, T, K]) asks(in In) ([]ask, error) {
	p := q.core
	if p.err != nil {
		return nil, p.err
	}
	rv := reflect.ValueOf(&in).Elem()
	span, err := p.span(rv)
	if err != nil {
		return nil, err
	}
	filter, err := q.filterOf(in)
	if err != nil {
		return nil, err
	}
	shards := []int{0}
	if q.over != nil {
		if shards = q.over(in); len(shards) == 0 {
			return nil, fmt.Errorf("Over returned no number for {%s}", p.fanOut)
		}
	}
	asks := make([]ask, len(shards))
	for i, n := range shards {
		pk, err := p.partition(rv, n)
		if err != nil {
			return nil, err
		}
		asks[i] = ask{pk: pk, span: span, filter: filter}
	}
	return asks, nil
}

func (q *Query[In, T, K]) filterOf(in In) (condition, error) {
	if q.filter == nil {
		return condition{}, nil
	}
	return q.core.entity.condition([]Cond{q.filter(in)})
}
