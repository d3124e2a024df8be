package table

import (
	"context"
	"errors"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// GetDef declares an access pattern that reads one item by its key.
type GetDef struct {
	ID, Question string
	Load         Load
}

// A GetPattern is a GetItem as a value. The fields of In are the variables of the entity's key.
type GetPattern[In, T, K any] struct{ core *pattern }

// NewGet declares a read of one item. In may be the key struct itself or any struct with the same
// `dynamodbav` names. Give only In; Go infers the other types: NewGet[UserKey](Users, GetDef{…}).
func NewGet[In, T, K any](e *Entity[T, K], d GetDef) *GetPattern[In, T, K] {
	p := &pattern{id: d.ID, question: d.Question, operation: "GetItem", entity: e.core, consistent: true, load: d.Load, source: caller()}
	p.defineGet(reflect.TypeFor[In]())
	return &GetPattern[In, T, K]{p}
}

// defineGet completes a pattern that reads one item, with inputs of the type in.
func (p *pattern) defineGet(in reflect.Type) {
	sk := ""
	if p.entity.sk != nil {
		sk = p.entity.sk.src
	}
	p.describe(in, "", rangeTemplates{prefix: sk})
	p.fail(p.unused()...)
	p.seal()
	p.explainAny = func(_ *Table, in any) ([]Request, error) { return p.explainGet(in) }
	p.runAny = p.getOne
}

func (g *GetPattern[In, T, K]) addTo(s *Schema) { s.addPattern(g.core) }

// Get reads the item, consistently. Errors: ErrNotFound, also if the item has expired.
func (g *GetPattern[In, T, K]) Get(ctx context.Context, t *Table, in In) (T, error) {
	var v T
	err := g.core.get(ctx, t, &in, &v)
	return v, err
}

// get reads the item into v.
func (p *pattern) get(ctx context.Context, t *Table, in, v any) error {
	key, err := p.key(in)
	if err != nil {
		return p.failed(err)
	}
	it, err := t.getLive(ctx, key)
	if err == nil {
		err = p.entity.decode(it, v)
	}
	if err != nil {
		return p.failed(err)
	}
	return nil
}

// getOne returns the item as stored, or none.
func (p *pattern) getOne(ctx context.Context, t *Table, in any, _ int) ([]Item, error) {
	key, err := p.key(in)
	if err != nil {
		return nil, p.failed(err)
	}
	out, err := t.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: key, ConsistentRead: &consistent})
	if err != nil || len(out.Item) == 0 {
		return nil, err
	}
	return []Item{out.Item}, nil
}

// key returns the key of the item for an input.
func (p *pattern) key(in any) (Item, error) {
	if p.err != nil {
		return nil, p.err
	}
	rv := reflect.ValueOf(in).Elem()
	pk, err := p.partition(rv, 0)
	if err != nil {
		return nil, err
	}
	span, err := p.span(rv)
	if err != nil {
		return nil, err
	}
	return Item{
		AttrPK: &types.AttributeValueMemberS{Value: pk},
		AttrSK: &types.AttributeValueMemberS{Value: span.exact},
	}, nil
}

// Explain returns the request, without the name of the table.
func (g *GetPattern[In, T, K]) Explain(in In) ([]Request, error) { return g.core.explainGet(&in) }

func (p *pattern) explainGet(in any) ([]Request, error) {
	key, err := p.key(in)
	if err != nil {
		return nil, p.failed(err)
	}
	return []Request{{Get: &dynamodb.GetItemInput{Key: key, ConsistentRead: &consistent}}}, nil
}

// CreateDef declares an access pattern that writes an item unless its key exists.
type CreateDef struct {
	ID, Question string
	Load         Load
}

// A CreatePattern is a PutItem-if-absent as a value.
type CreatePattern[T, K any] struct{ core *pattern }

// NewCreate declares a write of one item, which is idempotent by its key.
func NewCreate[T, K any](e *Entity[T, K], d CreateDef) *CreatePattern[T, K] {
	p := &pattern{id: d.ID, question: d.Question, operation: "PutItem", entity: e.core, load: d.Load, source: caller()}
	p.defineCreate()
	return &CreatePattern[T, K]{p}
}

func (p *pattern) defineCreate() {
	p.fan, p.pkAttr, p.skAttr, p.ownPK, p.ownSK = -1, AttrPK, AttrSK, p.entity.pk, p.entity.sk
	p.seal()
	p.explainAny = p.explainCreate
	p.runAny = func(ctx context.Context, t *Table, v any, _ int) ([]Item, error) {
		err := p.create(ctx, t, v)
		if errors.Is(err, ErrExists) {
			err = nil // it exists, which is what the pattern ensures
		}
		return nil, err
	}
}

func (c *CreatePattern[T, K]) addTo(s *Schema) { s.addPattern(c.core) }

// Run writes the item. Errors: ErrExists if the key exists.
func (c *CreatePattern[T, K]) Run(ctx context.Context, t *Table, v *T) error {
	return c.core.create(ctx, t, v)
}

func (p *pattern) create(ctx context.Context, t *Table, v any) error {
	if p.err != nil {
		return p.failed(p.err)
	}
	return p.entity.create(ctx, t, v)
}

// RunMany is Run for each item, with at most atOnce concurrent requests. Errors are in the order of
// the items.
func (c *CreatePattern[T, K]) RunMany(ctx context.Context, t *Table, vs []T, atOnce int) []error {
	if c.core.err == nil {
		return c.core.entity.createMany(ctx, t, len(vs), func(i int) any { return &vs[i] }, atOnce)
	}
	errs := make([]error, len(vs))
	for i := range errs {
		errs[i] = c.core.failed(c.core.err)
	}
	return errs
}

// Explain returns the request as it would be sent now, without the name of the table.
func (c *CreatePattern[T, K]) Explain(t *Table, v *T) ([]Request, error) {
	return c.core.explainCreate(t, v)
}

func (p *pattern) explainCreate(t *Table, v any) ([]Request, error) {
	it, err := p.entity.encode(v, nil)
	if err != nil {
		return nil, p.failed(err)
	}
	in := p.entity.createInput(t, it, t.nowValue)
	in.TableName = nil
	return []Request{{Put: in}}, nil
}
