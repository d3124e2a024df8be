package table

import (
	"context"
	"errors"
)

// OperationDef documents an operation that is not a Query, GetItem or conditional PutItem, such as
// a transaction, a patch or a batch. The operation itself is implemented by an ordinary function.
type OperationDef struct {
	ID, Question string
	Operation    string // API operation, such as TransactWriteItems
	Condition    string // in words, such as `head: currentSeqNum = n`
	Load         Load   // Items is the number of items written

	// Example runs the operation once on made-up items, so that documentation can show its requests
	// and cost.
	Example func(ctx context.Context, t *Table) error
}

// An Operation is a documented operation in a schema.
type Operation struct {
	core *pattern
}

// NewOperation documents an operation on an entity, and possibly others. It never fails: NewSchema
// reports problems.
func NewOperation[T, K any](e *Entity[T, K], d OperationDef) *Operation {
	p := &pattern{
		id: d.ID, question: d.Question, operation: d.Operation, entity: e.core, load: d.Load, fan: -1, told: d.Condition, source: caller(),
	}
	p.pkAttr, p.skAttr, p.ownPK, p.ownSK = AttrPK, AttrSK, e.core.pk, e.core.sk
	if d.Operation == "" || d.Example == nil {
		p.fail(errors.New("set Operation and Example"))
	}
	p.seal()
	p.explainAny = func(*Table, any) ([]Request, error) { return nil, nil }
	p.runAny = func(ctx context.Context, t *Table, _ any, _ int) ([]Item, error) { return nil, d.Example(ctx, t) }
	return &Operation{core: p}
}

func (o *Operation) addTo(s *Schema) { s.addPattern(o.core) }

// documented reports whether the pattern is an Operation.
func (p *pattern) documented() bool {
	return p.operation != "Query" && p.operation != "GetItem" && p.operation != "PutItem" || p.told != ""
}
