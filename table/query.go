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
type Load struct {
	PerSecond float64 // average number of calls a second
	Items     int     // read or written by a call
	ItemBytes int     // size of one item
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
type Query[In, T, K any] struct{ core *pattern }

// NewQuery declares a pattern over an entity. It never fails: problems are reported by NewSchema
// and by every use of the pattern.
func NewQuery[In, T, K any](e *Entity[T, K], d QueryDef[In]) *Query[In, T, K] {
	p := &pattern{
		id: d.ID, question: d.Question, operation: "Query", entity: e.core, index: d.Index, desc: d.Desc,
		consistent: !d.Eventual && d.Index == "", load: d.Load, fanOut: d.FanOut, source: caller(),
	}
	if d.Over != nil {
		p.over = func(in any) []int { return d.Over(*in.(*In)) }
	}
	if d.Filter != nil {
		p.filter = func(in any) Cond { return d.Filter(*in.(*In)) }
	}
	if d.Example != nil {
		p.example = func(in any) { d.Example(in.(*In)) }
	}
	p.define(reflect.TypeFor[In](), d.PK, rangeTemplates{d.Prefix, d.From, d.To})
	return &Query[In, T, K]{p}
}

// define completes a pattern that queries, with inputs of the type in.
func (p *pattern) define(in reflect.Type, pk string, r rangeTemplates) {
	p.describe(in, pk, r)
	if (p.fanOut == "") != (p.over == nil) {
		p.fail(errors.New("set FanOut and Over together: FanOut names the variable, and Over returns its numbers"))
	}
	if p.over == nil && p.filter == nil {
		p.fail(p.unused()...)
	}
	p.seal()
	p.columns = columnsOf(p)
	p.explainAny = func(_ *Table, in any) ([]Request, error) { return p.explain(in) }
	p.runAny = p.some
}

// All yields all live items in the order of their sort keys. It reads further pages as items are
// consumed, and ends after the first error.
func (q *Query[In, T, K]) All(ctx context.Context, t *Table, in In) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := q.read(ctx, t, &in, yield); err != nil {
			var zero T
			yield(zero, q.core.failed(err))
		}
	}
}

// read yields all live items until yield returns false.
func (q *Query[In, T, K]) read(ctx context.Context, t *Table, in *In, yield func(T, error) bool) error {
	s, err := q.core.open(ctx, t, in, 0)
	if err != nil {
		return err
	}
	if r, one := s.(*reader); one && q.core.filter == nil {
		if from := dynamo.ValuesOf(t.api); from != nil {
			return q.values(ctx, r, from, yield)
		}
	}
	for {
		var v T
		if ok, err := q.core.next(ctx, s, &v); !ok {
			return err
		}
		if !yield(v, nil) {
			return nil
		}
	}
}

// Collect returns all items yielded by All.
func (q *Query[In, T, K]) Collect(ctx context.Context, t *Table, in In) ([]T, error) {
	var vs []T
	err := q.read(ctx, t, &in, func(v T, _ error) bool {
		vs = append(vs, v)
		return true
	})
	if err != nil {
		return nil, q.core.failed(err)
	}
	return vs, nil
}

// First returns the first live item. Errors: ErrNotFound.
func (q *Query[In, T, K]) First(ctx context.Context, t *Table, in In) (T, error) {
	var v T
	err := q.core.first(ctx, t, &in, &v)
	return v, err
}

// first decodes the first live item into v.
func (p *pattern) first(ctx context.Context, t *Table, in, v any) error {
	s, err := p.open(ctx, t, in, 1)
	if err != nil {
		return p.failed(err)
	}
	ok, err := p.next(ctx, s, v)
	if err == nil && !ok {
		err = ErrNotFound
	}
	if err != nil {
		return p.failed(err)
	}
	return nil
}

// next decodes the next item of a stream into v. ok is false after the last one and after an error.
func (p *pattern) next(ctx context.Context, s stream, v any) (ok bool, err error) {
	it, err := s.next(ctx)
	if it == nil || err != nil {
		return false, err
	}
	if err := p.entity.decode(it, v); err != nil {
		return false, err
	}
	return true, nil
}

// some returns at most that many of the pattern's live items.
func (p *pattern) some(ctx context.Context, t *Table, in any, most int) (items []Item, err error) {
	s, err := p.open(ctx, t, in, 0)
	for err == nil && len(items) < most {
		var it Item
		if it, err = s.next(ctx); it == nil {
			break
		}
		items = append(items, it)
	}
	if err != nil {
		err = p.failed(err)
	}
	return items, err
}

// open opens a stream of the pattern's live items. limit is the page size to request; 0 leaves it
// to the store.
func (p *pattern) open(ctx context.Context, t *Table, in any, limit int32) (stream, error) {
	asks, err := p.asks(in)
	if err != nil {
		return nil, err
	}
	return p.stream(ctx, t, asks, limit)
}

// asks returns the ranges to read for an input, one for each shard.
func (p *pattern) asks(in any) ([]ask, error) {
	if p.err != nil {
		return nil, p.err
	}
	rv := reflect.ValueOf(in).Elem()
	span, err := p.span(rv)
	if err != nil {
		return nil, err
	}
	var filter condition
	if p.filter != nil {
		if filter, err = p.entity.condition([]Cond{p.filter(in)}); err != nil {
			return nil, err
		}
	}
	shards := []int{0}
	if p.over != nil {
		if shards = p.over(in); len(shards) == 0 {
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
