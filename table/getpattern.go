package table

import (
	"context"
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
type GetPattern[In, T, K any] struct {
	core   *pattern
	entity *Entity[T, K]
}

// NewGet declares a read of one item. In may be the key struct itself or any struct with the same
// `dynamodbav` names. Give only In; Go infers the other types: NewGet[UserKey](Users, GetDef{…}).
func NewGet[In, T, K any](e *Entity[T, K], d GetDef) *GetPattern[In, T, K] {
	p := &pattern{id: d.ID, question: d.Question, operation: "GetItem", entity: e.core, consistent: true, load: d.Load, source: caller()}
	sk := ""
	if e.core.sk != nil {
		sk = e.core.sk.src
	}
	p.describe(reflect.TypeFor[In](), "", rangeTemplates{prefix: sk})
	p.fail(p.unused()...)
	p.seal()
	g := &GetPattern[In, T, K]{core: p, entity: e}
	g.bindExample()
	return g
}

func (g *GetPattern[In, T, K]) addTo(s *Schema) { s.addPattern(g.core) }

// Get reads the item, consistently. Errors: ErrNotFound, also if the item has expired.
func (g *GetPattern[In, T, K]) Get(ctx context.Context, t *Table, in In) (T, error) {
	var v T
	key, err := g.key(in)
	if err != nil {
		return v, g.core.failed(err)
	}
	out, err := t.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: key, ConsistentRead: &consistent})
	if err == nil && (len(out.Item) == 0 || !t.live(out.Item)) {
		err = ErrNotFound
	}
	if err == nil {
		v, err = g.entity.Decode(out.Item)
	}
	if err != nil {
		return v, g.core.failed(err)
	}
	return v, nil
}

func (g *GetPattern[In, T, K]) key(in In) (Item, error) {
	p := g.core
	if p.err != nil {
		return nil, p.err
	}
	rv := reflect.ValueOf(&in).Elem()
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
func (g *GetPattern[In, T, K]) Explain(in In) ([]Request, error) {
	key, err := g.key(in)
	if err != nil {
		return nil, g.core.failed(err)
	}
	return []Request{{Get: &dynamodb.GetItemInput{Key: key, ConsistentRead: &consistent}}}, nil
}

// CreateDef declares an access pattern that writes an item unless its key exists.
type CreateDef struct {
	ID, Question string
	Load         Load
}

// A CreatePattern is a PutItem-if-absent as a value.
type CreatePattern[T, K any] struct {
	core   *pattern
	entity *Entity[T, K]
}

// NewCreate declares a write of one item, which is idempotent by its key.
func NewCreate[T, K any](e *Entity[T, K], d CreateDef) *CreatePattern[T, K] {
	p := &pattern{id: d.ID, question: d.Question, operation: "PutItem", entity: e.core, load: d.Load, fan: -1, source: caller()}
	p.pkAttr, p.skAttr, p.ownPK, p.ownSK = AttrPK, AttrSK, e.core.pk, e.core.sk
	p.seal()
	c := &CreatePattern[T, K]{core: p, entity: e}
	c.bindExample()
	return c
}

func (c *CreatePattern[T, K]) addTo(s *Schema) { s.addPattern(c.core) }

// Run writes the item. Errors: ErrExists if the key exists.
func (c *CreatePattern[T, K]) Run(ctx context.Context, t *Table, v *T) error {
	if c.core.err != nil {
		return c.core.failed(c.core.err)
	}
	return c.entity.Create(ctx, t, v)
}

// RunMany is Run for each item, with at most atOnce concurrent requests. Errors are in the order of
// the items.
func (c *CreatePattern[T, K]) RunMany(ctx context.Context, t *Table, vs []T, atOnce int) []error {
	if c.core.err == nil {
		return c.entity.CreateMany(ctx, t, vs, atOnce)
	}
	errs := make([]error, len(vs))
	for i := range errs {
		errs[i] = c.core.failed(c.core.err)
	}
	return errs
}

// Explain returns the request as it would be sent now, without the name of the table.
func (c *CreatePattern[T, K]) Explain(t *Table, v *T) ([]Request, error) {
	it, err := c.entity.Encode(v)
	if err != nil {
		return nil, c.core.failed(err)
	}
	in := c.entity.createInput(t, it, t.nowValue)
	in.TableName = nil
	return []Request{{Put: in}}, nil
}
